"""What a load generator is asked and what it answers, whichever tool it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # numpy is not where the agent runs
    from zoo.histogram import Histogram


@dataclass(frozen=True)
class LoadSpec:
    url: str
    connections: int
    duration_s: float
    timeout_s: float  # at least the duration, or late answers go missing from the histogram
    threads: int = 2  # of all generator processes together
    nofile: int | None = None  # descriptor limit of one generator process; None: this process's hard limit
    addresses: tuple[
        str, ...
    ] = ()  # the threads send to these in turn; empty: to the URL's. The server must listen there

    @property
    def timeout_whole_s(self) -> int:
        """wrk knows whole seconds only."""
        return math.ceil(self.timeout_s)


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


class LoadError(Exception):
    """The generator gave no outcome that may be used.

    kind: `spec_invalid` · `generator_missing` · `generator_failed` (exit code, no report) · `generator_hung` ·
    `histogram_invalid` (the report contradicts itself).
    """

    def __init__(self, kind: str, message: str, output: str = "") -> None:
        super().__init__(f"{message}\n{output}" if output else message)
        self.kind = kind
        self.message = message
        self.output = output  # the last lines the tool printed


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
