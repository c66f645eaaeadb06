"""The result of a load, and the interface that all load generators have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from zoo.core.histogram import Histogram
from zoo.core.measurement import ErrorCounts, GeneratorUse
from zoo.load.execute import Tick
from zoo.load.spec import LoadSpec


@dataclass(frozen=True)
class Census:
    """The number of responses that were not 2xx, and the last one of them."""

    bad: int
    sample: str  # status, Location and first bytes of the body


@dataclass(frozen=True)
class LoadOutcome:
    """The result of a load. The fields with defaults are those that are not in the generator's report."""

    requests: int
    bytes: int
    runtime_s: float  # run time of the generator that ran longest
    errors: ErrorCounts
    histogram: Histogram  # latencies as measured
    corrected: Histogram  # latencies as the tool would have printed them
    connections: int
    threads: int = 0  # sum over all generators
    cpu_s: float = 0.0  # user and system time of the generator
    busiest_thread: float = 0.0  # share of a core that the busiest sending thread used during the run
    version: str = ""
    began_s: float = 0.0  # on the monotonic clock of the generator's host
    generators: tuple[GeneratorUse, ...] = ()  # one for each generator host, if there were several
    census: Census | None = None  # only if the load's specification requests one
    seconds: tuple[int, ...] = ()  # responses in each whole second, only if the specification requests them

    @property
    def goodput(self) -> int:
        """Return the number of requests minus bad statuses and timeouts; a late bad response is subtracted twice."""
        return max(0, self.requests - self.errors.status - self.errors.timeout)

    @property
    def bad_responses(self) -> int:
        return self.errors.status + self.errors.timeout + self.errors.broken

    @property
    def total(self) -> int:
        """Return the number of responses plus the requests whose connection failed."""
        return self.requests + self.errors.broken

    @property
    def sent(self) -> int:
        """Return the number of requests sent: those of `total`, and the one on each connection that still waits."""
        return self.total + self.connections

    @property
    def mean_bytes(self) -> float:
        return self.bytes / self.requests if self.requests else 0.0


Spec_contra = TypeVar("Spec_contra", contravariant=True)
Outcome_co = TypeVar("Outcome_co", covariant=True)


class Tool(Protocol[Spec_contra, Outcome_co]):
    """A tool that makes loads of one kind."""

    def run(self, spec: Spec_contra, on_tick: Tick | None = None) -> Outcome_co:
        """Block until the load is over and call `on_tick` meanwhile; raise `LoadError` if the tool fails.

        No generator process outlives the call, whatever it raises.
        """
        ...

    def pids(self) -> list[int]:
        """Return the pids of the generator processes that now run on this host."""
        ...


class Generator(Tool[LoadSpec, LoadOutcome], Protocol):
    name: str

    def version(self) -> str: ...
