"""Recordings of the sampler, the noise probe and vegeta, and their summaries."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.model.data import Data


class Switches(Data):
    """Of all threads between two looks; `migrations`, from one CPU to another, are None where the kernel hides them.

    A thread that ended takes its counts along: `missed` is what the `ended` ones may have done after they were last
    looked at, at their rate in the interval before, or since they began where there was none. Threads that came and
    ended between two looks are not seen.
    """

    voluntary: int
    involuntary: int
    migrations: int | None
    missed: int
    ended: int


class Samples(Data):
    """One list a column, all equally long, and one sum; None where this system does not tell.

    What is read again of an emulated host lacks the columns that depend on speed.

    `established` counts TCP sockets of the server's network namespace, so both ends of a connection that does not
    leave it, and whatever else is connected there; `diag.established_on` counts one port. `runnable` leaves the
    sampler itself out.
    """

    hz: float
    elapsed_s: float
    own_cpu_s: float = 0.0
    vanished: bool
    t: list[float]
    rss_kb: list[int]
    cpu_s: list[float] = []
    threads: list[int]
    established: list[int | None]
    tcp_mem_kb: list[int | None]
    runnable: list[int | None] = []
    switches: Switches | None = None

    @property
    def cost(self) -> float:
        """The sampler's own CPU time, as a share of a core."""
        return self.own_cpu_s / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def peak_rss_kb(self) -> int | None:
        return max(self.rss_kb, default=None)

    @property
    def peak_threads(self) -> int | None:
        return max(self.threads, default=None)

    @property
    def mean_runnable(self) -> float | None:
        known = [value for value in self.runnable if value is not None]
        return statistics.fmean(known) if known else None


class Noise(Data):
    """Shares are of the whole machine, 0 to 1; None where this system does not tell.

    `busy_share` contains interrupts and leaves out waiting for I/O and stolen time. `foreign_share` is busy less what
    server, generator and harness used, and the kernel's ksoftirqd threads: they handle packets that come too fast to
    be handled in the processes' own time. Some kernels (IRQ_TIME_ACCOUNTING) keep the handling of network packets apart
    from the processes that caused it: there it is in `foreign_share`, at most `interrupt_share` of it.
    Pressure is the time in which some task waited, in microseconds a second. `throttled_share` is of the periods of a
    CPU quota, the share in which it stopped the server or the harness: the highest of their control groups and all
    visible parents.
    """

    elapsed_s: float
    busy_share: float | None = None
    interrupt_share: float | None = None
    steal_share: float | None = None
    foreign_share: float | None = None
    runnable_mean: float | None = None
    pressure_cpu: float | None = None
    pressure_memory: float | None = None
    pressure_io: float | None = None
    throttled_share: float | None = None


DESCRIPTORS, PORTS = "generator: descriptors", "generator: ports"


OWN_FAULTS = frozenset({DESCRIPTORS, PORTS})
"""Failures that are the generator's and say nothing of the server."""


@dataclass(frozen=True)
class Hits:
    """All requests of one vegeta process in the order of their sequence numbers, in whole microseconds."""

    sent_us: list[int]  # after the first request of all processes
    took_us: list[int]  # until the whole answer was there, or until the failure
    failed: dict[str, list[int]]  # places in the lists, by kind: `timeout`, `refused`, `reset`, `status 503`, ...


def failures(hits: Iterable[Hits]) -> dict[str, int]:
    """How many requests failed, by kind, most frequent first."""
    counts: dict[str, int] = {}
    for one in hits:
        for kind, places in one.failed.items():
            counts[kind] = counts.get(kind, 0) + len(places)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
