"""Recordings of the sampler, the noise probe and vegeta, and their summaries."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from zoo.core.data import Data


class Switches(Data):
    """Context switches of all threads between two samples.

    `migrations` counts moves from one CPU to another; None if the kernel hides them. A thread's counts disappear when
    it ends. `missed` estimates what the `ended` threads did after their last sample, from their rate in the interval
    before, or since they began if there was none. Threads that started and ended between two samples are not seen.
    """

    voluntary: int
    involuntary: int
    migrations: int | None
    missed: int
    ended: int


class Samples(Data):
    """Samples as columns of equal length, and one sum; None if this system does not provide a value.

    Samples read again from an emulated host lack the columns that depend on speed.

    `established` counts the TCP sockets in the server's network namespace. It therefore includes both ends of a
    connection that does not leave the namespace, and other programs' connections; `diag.count_sockets` counts one
    port. `runnable` excludes the sampler itself.
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
        """Return the sampler's own CPU time, as a share of a core."""
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


class ThreadTimes(Data):
    """Times of one thread since it started.

    The kernel keeps the first 15 bytes of its name.
    """

    id: int
    name: str
    cpu_s: float
    waited_s: float = Field(description="in the run queue, ready to run but without a processor")


def is_jit_compiler(name: str) -> bool:
    """Return True if a thread of this name is one of HotSpot's JIT compiler threads."""
    return name.startswith(("C1 Comp", "C2 Comp"))


class Noise(Data):
    """Activity on the machine, in shares of it from 0 to 1; None if this system does not provide a value.

    `busy_share` includes interrupts, but not waiting for I/O and stolen time. `foreign_share` is `busy_share` without
    the time of the server, the generator, the harness and the kernel's ksoftirqd threads. These threads handle packets
    that arrive too fast to be handled in the processes' own time. Some kernels (IRQ_TIME_ACCOUNTING) count the handling
    of network packets separately from the processes that caused it. There, `foreign_share` includes it, and it is at
    most `interrupt_share`.

    Pressure is the time in which some task waited, in microseconds per second. `throttled_share` is the share of a CPU
    quota's periods in which the quota stopped the server or the harness. It is the highest value among their control
    groups and all visible parents.
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


GENERATOR_FAULTS = frozenset({DESCRIPTORS, PORTS})
"""Failures of the generator, which say nothing about the server."""


@dataclass(frozen=True)
class Hits:
    """All requests of one vegeta process by sequence number, in whole microseconds."""

    sent_us: list[int]  # after the first request of all processes
    took_us: list[int]  # until the whole response arrived, or until the failure
    failed: dict[str, list[int]]  # indices into the lists, by kind: `timeout`, `refused`, `reset`, `status 503`, ...


def count_failures(hits: Iterable[Hits]) -> dict[str, int]:
    """Return the number of failed requests by kind, most frequent first."""
    counts: dict[str, int] = {}
    for one in hits:
        for kind, places in one.failed.items():
            counts[kind] = counts.get(kind, 0) + len(places)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
