"""Context switches of processes, counted while their threads start and end."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from zoo.core.samples import Switches
from zoo.host.files import read_text
from zoo.sample.proc import PROC, TICKS

STATUS = re.compile(r"^voluntary_ctxt_switches:\t([0-9]+)\nnonvoluntary_ctxt_switches:\t([0-9]+)", re.M | re.A)
SCHED = re.compile(
    r"^se\.nr_migrations +: +([0-9]+)\n.*?"
    r"^nr_voluntary_switches +: +([0-9]+)\n"
    r"^nr_involuntary_switches +: +([0-9]+)$",
    re.M | re.A | re.S,
)

# Minimum interval between two readings of all threads, and the maximum share of a core that the readings may take.
READ_EVERY_S = 1.0
READ_SHARE = 0.0025


class Counts(NamedTuple):
    """Counts of one thread since it started."""

    voluntary: int
    involuntary: int
    migrations: int | None

    @property
    def switches(self) -> int:
        return self.voluntary + self.involuntary


NOTHING = Counts(0, 0, 0)
Name = tuple[int, str]
"""The identity of a thread: its process's pid and its thread id."""


class Counter:
    """The sum of counts over successive readings of threads; `at` is a reading's time in seconds. Pure.

    The first reading includes the ages of the threads, in seconds, in addition to their counts.
    """

    def __init__(self, at: float, threads: Mapping[Name, Counts], ages: Mapping[Name, float]) -> None:
        self._at = at
        self._seen = threads
        self._rates = {name: counts.switches / ages[name] for name, counts in threads.items() if ages.get(name)}
        self._voluntary = self._involuntary = self._ended = 0
        self._migrations: int | None = 0
        self._missed = 0.0

    def add(self, at: float, threads: Mapping[Name, Counts]) -> None:
        """Add a reading of the threads at this time."""
        before, self._seen = self._seen, threads
        passed_s, self._at = at - self._at, at
        ended = before.keys() - threads.keys()
        rates: dict[Name, float] = {}
        for name, now in threads.items():
            earlier = before.get(name, NOTHING)
            if now.switches < earlier.switches:  # the thread id was reused for another thread
                ended.add(name)
                earlier = NOTHING
            self._voluntary += now.voluntary - earlier.voluntary
            self._involuntary += now.involuntary - earlier.involuntary
            self._migrate(earlier, now)
            rates[name] = (now.switches - earlier.switches) / passed_s if passed_s > 0 else 0.0
        busiest = max(rates.values(), default=0.0)
        self._ended += len(ended)
        self._missed += passed_s * sum(self._rates.get(name, busiest) for name in ended)
        self._rates = rates

    def total(self) -> Switches | None:
        """Return the sums; None if the last reading found no threads."""
        if not self._seen:
            return None
        return Switches(
            voluntary=self._voluntary,
            involuntary=self._involuntary,
            migrations=self._migrations,
            missed=round(self._missed),
            ended=self._ended,
        )

    def _migrate(self, earlier: Counts, now: Counts) -> None:
        if self._migrations is None or earlier.migrations is None or now.migrations is None:
            self._migrations = None
        else:
            self._migrations += now.migrations - earlier.migrations


class SwitchReader:
    """A counter that reads the threads of processes, rarely enough to cost little."""

    def __init__(self) -> None:
        self._counter: Counter | None = None
        self._due = 0.0

    def read(self, pids: Iterable[int]) -> None:
        """Read all threads now."""
        at, spent = time.monotonic(), time.thread_time()
        seen = threads(pids)
        if self._counter is None:
            self._counter = Counter(at, seen, {name: age for name in seen if (age := _age_s(name)) is not None})
        else:
            self._counter.add(at, seen)
        self._due = at + max(READ_EVERY_S, (time.thread_time() - spent) / READ_SHARE)

    def read_if_due(self, pids: Iterable[int]) -> None:
        """Read all threads if the interval has elapsed."""
        if time.monotonic() >= self._due:
            self.read(pids)

    def total(self) -> Switches | None:
        """Return all switches between the first reading and the last; None before the first."""
        return None if self._counter is None else self._counter.total()


def threads(pids: Iterable[int]) -> dict[Name, Counts]:
    """Return the counts of all live threads that can be read."""
    found = {}
    for pid in pids:
        for task in tasks(pid):
            counts = _counts(f"{PROC}/{pid}/task/{task}")
            if counts is not None:
                found[pid, task] = counts
    return found


def parse_sched(text: str) -> Counts | None:
    """Parse a thread's `sched` file, which not every kernel has."""
    found = SCHED.search(text)
    return Counts(int(found.group(2)), int(found.group(3)), int(found.group(1))) if found else None


def parse_status(text: str) -> Counts | None:
    """Parse the counts near the end of a thread's `status` file."""
    found = STATUS.search(text, max(0, len(text) - 500))
    return Counts(int(found.group(1)), int(found.group(2)), None) if found else None


def _counts(folder: str) -> Counts | None:
    return parse_sched(read_text(f"{folder}/sched")) or parse_status(read_text(f"{folder}/status"))


def _age_s(name: Name) -> float | None:
    """Return the age of a thread in seconds; None if it has ended."""
    fields = read_text(f"{PROC}/{name[0]}/task/{name[1]}/stat").rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / TICKS if len(fields) > 19 else None


def tasks(pid: int) -> list[str]:
    """Return the thread ids of a process; none if it has ended."""
    try:
        return os.listdir(f"{PROC}/{pid}/task")  # noqa: PTH208 (thousands of threads: names are cheaper than paths)
    except OSError:
        return []
