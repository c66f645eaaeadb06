"""What a load generator gives, whichever tool it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

from zoo.load.execute import Tick
from zoo.load.spec import LoadSpec
from zoo.model.histogram import Histogram
from zoo.model.measurement import ErrorCounts, GeneratorUse


@dataclass(frozen=True)
class Census:
    """The number of responses that were not 2xx, and the last one of them."""

    bad: int
    sample: str  # status, Location and first bytes of the body


@dataclass(frozen=True)
class LoadOutcome:
    requests: int
    goodput: int  # requests without bad statuses and timeouts
    bytes: int
    runtime_s: float  # of the generator that ran longest
    errors: ErrorCounts
    histogram: Histogram  # latencies as measured
    corrected: Histogram  # latencies as the tool would have printed them
    connections: int
    threads: int  # of all generators together
    cpu_s: float  # user and system time of the generator
    busiest_thread: float  # share of a core that the busiest sending thread took during the run
    version: str
    began_s: float = 0.0  # by the monotonic clock of the generator's host
    generators: tuple[GeneratorUse, ...] = ()  # where several hosts sent
    census: Census | None = None  # where the load was asked for one

    @property
    def bad(self) -> int:
        return self.errors.status + self.errors.timeout + self.errors.broken

    @property
    def total(self) -> int:
        """Responses, and requests whose connection failed."""
        return self.requests + self.errors.broken

    @property
    def mean_bytes(self) -> float:
        return self.bytes / self.requests if self.requests else 0.0


Spec_contra = TypeVar("Spec_contra", contravariant=True)
Outcome_co = TypeVar("Outcome_co", covariant=True)


class Tool(Protocol[Spec_contra, Outcome_co]):
    """Makes loads of one kind."""

    def run(self, spec: Spec_contra, on_tick: Tick | None = None) -> Outcome_co:
        """Block until the load is over, and call `on_tick` meanwhile; `LoadError` when the tool fails.

        Whatever is raised, no generator process outlives the call.
        """
        ...

    def pids(self) -> list[int]:
        """Return the generator processes that run on this host now."""
        ...


class Generator(Tool[LoadSpec, LoadOutcome], Protocol):
    name: str

    def version(self) -> str: ...
