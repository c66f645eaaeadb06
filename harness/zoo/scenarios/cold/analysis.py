"""Analysis of a cold start under load: when the steady rate is reached, and which threads had to wait. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.core.samples import ThreadTimes
from zoo.core.trial_results import ThreadUse

REACHED = 0.95
KEPT_S = 5
"""Number of seconds over which the rate must stay at that level on average, so that one fast second is not enough."""

NAME_BYTES = 15
"""Length to which the kernel cuts the name of a thread."""

CARRIERS = "ForkJoinPool-"
"""Beginning of the names of the platform threads that run virtual threads.

The JVM's common pool has a dot in place of the hyphen.
"""

DIGITS = "0123456789"


def t95(seconds: Sequence[int], steady_rps: float) -> int | None:
    """Return after how many seconds the server reached 95% of its steady rate; None if it did not.

    This is the start of the first second that reaches 95%, if the mean of that second and the following four does.
    `seconds` has the responses of each second.
    """
    least = REACHED * steady_rps
    for start in range(len(seconds) - KEPT_S + 1):
        if seconds[start] >= least and statistics.fmean(seconds[start : start + KEPT_S]) >= least:
            return start
    return None


def served(seconds: Sequence[int], first_s: int) -> int | None:
    """Return the number of responses in the first seconds; None if the load was shorter."""
    return sum(seconds[:first_s]) if len(seconds) >= first_s else None


def is_like(handler: str, *, virtual: bool) -> Callable[[str], bool]:
    """Return a function that recognizes the OS threads that run requests, by their names.

    `handler` is the name of one thread that ran a request. The threads of a pool differ in the number at the end of
    their names. Virtual threads run on carriers.
    """
    stem = handler.rstrip(DIGITS)

    def like(name: str) -> bool:
        if virtual:
            return name.startswith(CARRIERS)
        return name.rstrip(DIGITS) == stem or (len(stem) >= NAME_BYTES and name == stem[:NAME_BYTES])

    return like


@dataclass(frozen=True)
class Reading:
    """The times of all threads, so many seconds after the load began."""

    at_s: float
    threads: Sequence[ThreadTimes]


def thread_use(readings: Sequence[Reading], chosen: Callable[[str], bool]) -> ThreadUse | None:
    """Return what the chosen threads used since the first reading, summed at each reading; None if there is none.

    A thread that ends keeps what it had used until its last reading.
    """
    before: dict[int, ThreadTimes] = {}
    cpu_s, waited_s, found = 0.0, 0.0, False
    use = ThreadUse(t=[], cpu_s=[], waited_s=[])
    for place, reading in enumerate(readings):
        now = {one.id: one for one in reading.threads if chosen(one.name)}
        for one in now.values() if place else ():
            earlier = before.get(one.id)
            if earlier is None or earlier.cpu_s > one.cpu_s:  # a new thread, perhaps with the id of another
                cpu_s, waited_s = cpu_s + one.cpu_s, waited_s + one.waited_s
            else:
                cpu_s, waited_s = cpu_s + one.cpu_s - earlier.cpu_s, waited_s + one.waited_s - earlier.waited_s
        before, found = now, found or bool(now)
        use.t.append(round(reading.at_s, 2))
        use.cpu_s.append(round(cpu_s, 4))
        use.waited_s.append(round(waited_s, 4))
    return use if found else None


@dataclass(frozen=True)
class Times:
    """Times of several threads together, in seconds."""

    cpu_s: float
    waited_s: float


def until(use: ThreadUse | None, at_s: float) -> Times | None:
    """Return what the threads had used by the last reading up to this time; None if they are not known."""
    known = [place for place, t in enumerate(use.t) if t <= at_s] if use else []
    return Times(use.cpu_s[known[-1]], use.waited_s[known[-1]]) if use and known else None
