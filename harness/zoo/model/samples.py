"""What a sampler recorded, and its summaries."""

from __future__ import annotations

import statistics

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
