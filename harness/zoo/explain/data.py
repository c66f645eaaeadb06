"""An explanation as stored: the windows of both entries, their CPU time by group, and their counts per request."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from zoo.core.data import Data
from zoo.core.run import RunFacts

PROTOCOL = 2
"""Version of this measurement's protocol. Since version 2, servers are in the session of the generator."""


class PlainWindow(Data):
    """A window without a profiler: what the published figures measure. Counts are per request."""

    requests: int
    rps: float
    cpu_us: float = Field(description="CPU time of the server per request in µs")
    voluntary: float | None = Field(description="voluntary context switches per request")
    involuntary: float | None = Field(description="involuntary context switches per request")
    migrations: float | None = Field(description="moves of a thread to another processor per request")
    queued_us: float | None = Field(
        default=None,
        description="wait of all threads but those of the JIT compiler and the garbage collector in the run queue, "
        "in µs per request",
    )
    jit_queued_us: float | None = Field(
        default=None, description="wait of the JIT compiler's threads in the run queue, in µs per request"
    )
    gc_percent: float | None = Field(default=None, description="share of CPU time in the collector's threads")
    jit_percent: float | None = Field(default=None, description="share of CPU time in the JIT compiler's threads")


class ProfiledWindow(Data):
    """A window under the profiler."""

    requests: int
    rps: float
    cpu_us: float = Field(description="CPU time of the server per request in µs, as the kernel counts it")
    groups_us: dict[str, float] = Field(
        description="CPU time per request in µs by group: that of the window before, without the profiler, divided "
        "in proportion to the samples"
    )

    @property
    def profile_us(self) -> float:
        """CPU time per request in µs of all groups."""
        return sum(self.groups_us.values())


class EventWindow(Data):
    """A window in which the events of a JVM were recorded. Counts are per request; None if they are not known."""

    contended: dict[str, float] = Field(description="acquisitions that waited for another thread, by class of lock")
    pinned: float | None = Field(description="times that a virtual thread waited without leaving its carrier")
    carriers: int | None = Field(description="carrier threads of virtual threads after the window")
    steals: float | None = Field(description="tasks that a carrier took from another carrier's queue")


class ExplainedSide(Data):
    """One entry of the pair: its windows in the order in which they ran, and its counts per request."""

    entry: str
    profiler: str = Field(description="name and version")
    plain: list[PlainWindow]
    profiled: list[ProfiledWindow]
    calls: list[dict[str, float]] = Field(description="system calls per request by name, one count per window")
    calls_connections: int = Field(default=0, description="connections of the load during which they were counted")
    allocated_bytes: list[float] = Field(default=[], description="per request, one figure per window; JVMs only")
    events: list[EventWindow] = Field(default=[], description="JVMs only")
    only_us: dict[str, float] = Field(
        default={}, description="CPU time in µs per request below frames that the other side does not have"
    )

    @property
    def contended(self) -> list[dict[str, float]]:
        """Contended acquisitions per request by class of lock, one count per window."""
        return [window.contended for window in self.events]


class Explanation(RunFacts):
    """A pair of entries, profiled in alternating windows."""

    kind: Literal["explain"] = "explain"
    protocol: int = PROTOCOL
    scenario: str
    path: str = Field(description="request target")
    connections: int
    window_s: float
    a: ExplainedSide
    b: ExplainedSide
    missing: list[str] = Field(default=[], description="what could not be recorded here, and the command that helps")


class MemoryRound(Data):
    """kB per waiting request in one fresh process: slopes over the server at rest and several counts of connections."""

    rss_kb: float = Field(description="resident memory; of a JVM after a collection")
    rest_mb: float = Field(description="resident memory in MB before the first connection")
    fit: float = Field(description="share of the variance of resident memory that the line explains (R²)")
    anon_kb: float | None = Field(description="anonymous part of the resident memory")
    socket_kb: float | None = Field(description="buffers of both ends of the connections, in the kernel")
    threads: float = Field(description="threads of the operating system per waiting request")
    parts_kb: dict[str, float] = Field(
        description="live objects by class and native memory by category, or jemalloc's memory by use; else empty"
    )

    @property
    def parts_sum_kb(self) -> float | None:
        """All parts in sum; None without parts."""
        return sum(self.parts_kb.values()) if self.parts_kb else None


class MemorySide(Data):
    """One entry of the pair and its rounds."""

    entry: str
    rounds: list[MemoryRound]


MEMORY_KIND: Literal["explain-memory"] = "explain-memory"


class MemoryExplanation(RunFacts):
    """The memory of waiting requests of two entries."""

    kind: Literal["explain-memory"] = MEMORY_KIND
    protocol: int = PROTOCOL
    scenario: str
    path: str = Field(description="request target")
    connections: list[int] = Field(description="counts at which memory was read, in addition to 0")
    a: MemorySide
    b: MemorySide
    missing: list[str] = Field(default=[], description="what could not be recorded here, and the command that helps")
