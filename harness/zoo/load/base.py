"""What a load generator is asked and what it answers, whichever tool it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from zoo.load.spec import LoadSpec
from zoo.model.histogram import Histogram
from zoo.model.measurement import GeneratorUse


@dataclass(frozen=True)
class Errors:
    connect: int
    read: int
    write: int
    status: int
    timeout: int

    @property
    def total(self) -> int:
        return self.connect + self.read + self.write + self.status + self.timeout


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
    runtime_s: float  # of the longest shard
    errors: Errors
    histogram: Histogram  # latencies as measured
    corrected: Histogram  # latencies as the tool would have printed them
    connections: int
    threads: int  # of all shards together
    shards: int
    cpu_s: float  # user and system time of the generator
    busiest_thread: float  # share of a core that the busiest sending thread took during the run
    version: str
    command: list[list[str]]
    generators: tuple[GeneratorUse, ...] = ()  # where several hosts sent
    census: Census | None = None  # where the load was asked for one


class Generator(Protocol):
    name: str

    def version(self) -> str: ...

    def run(self, spec: LoadSpec, on_tick: Callable[[float], None] | None = None) -> LoadOutcome:
        """Blocks until the load is over; about 10 times a second calls on_tick(seconds elapsed) in this thread.
        Whatever is raised meanwhile, no generator process outlives the call."""
        ...

    def pids(self) -> list[int]:
        """The generator processes now running."""
        ...
