"""Context switches of processes, counted while threads come and end."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from zoo.model.samples import Switches
from zoo.sample.proc import PROC, TICKS, read

STATUS = re.compile(r"^voluntary_ctxt_switches:\t([0-9]+)\nnonvoluntary_ctxt_switches:\t([0-9]+)", re.M | re.A)
SCHED = re.compile(
    r"^se\.nr_migrations +: +([0-9]+)\n.*?"
    r"^nr_voluntary_switches +: +([0-9]+)\n"
    r"^nr_involuntary_switches +: +([0-9]+)$",
    re.M | re.A | re.S,
)

# Threads are looked at this often at most, and so seldom that looking takes no more than this share of a core.
LOOK_EVERY_S = 1.0
LOOK_SHARE = 0.0025


class Counts(NamedTuple):
    """Of one thread since it began."""

    voluntary: int
    involuntary: int
    migrations: int | None

    @property
    def switches(self) -> int:
        return self.voluntary + self.involuntary


NOTHING = Counts(0, 0, 0)
Name = tuple[int, str]
"""A process and the number of its thread."""


class Counter:
    """Adds up what is seen in looks at threads that are some time apart; `at` in seconds. Pure.

    The first look has the ages of threads beside their counts, in seconds.
    """

    def __init__(self, at: float, threads: Mapping[Name, Counts], ages: Mapping[Name, float]) -> None:
        self._at = at
        self._seen = threads
        self._rates = {name: counts.switches / ages[name] for name, counts in threads.items() if ages.get(name)}
        self._voluntary = self._involuntary = self._ended = 0
        self._migrations: int | None = 0
        self._missed = 0.0

    def look(self, at: float, threads: Mapping[Name, Counts]) -> None:
        """The threads as they are at this time."""
        before, self._seen = self._seen, threads
        passed_s, self._at = at - self._at, at
        gone = before.keys() - threads.keys()
        rates: dict[Name, float] = {}
        for name, now in threads.items():
            earlier = before.get(name, NOTHING)
            if now.switches < earlier.switches:  # the number was given to another thread
                gone.add(name)
                earlier = NOTHING
            self._voluntary += now.voluntary - earlier.voluntary
            self._involuntary += now.involuntary - earlier.involuntary
            self._migrate(earlier, now)
            rates[name] = (now.switches - earlier.switches) / passed_s if passed_s > 0 else 0.0
        busiest = max(rates.values(), default=0.0)
        self._ended += len(gone)
        self._missed += passed_s * sum(self._rates.get(name, busiest) for name in gone)
        self._rates = rates

    def total(self) -> Switches | None:
        """None where the last look found no threads."""
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


class Watcher:
    """Looks at the threads of processes, seldom enough to cost little."""

    def __init__(self) -> None:
        self._counter: Counter | None = None
        self._due = 0.0

    def look(self, pids: Iterable[int]) -> None:
        """Now."""
        at, spent = time.monotonic(), time.thread_time()
        seen = threads(pids)
        if self._counter is None:
            self._counter = Counter(at, seen, {name: age for name in seen if (age := _age_s(name)) is not None})
        else:
            self._counter.look(at, seen)
        self._due = at + max(LOOK_EVERY_S, (time.thread_time() - spent) / LOOK_SHARE)

    def look_if_due(self, pids: Iterable[int]) -> None:
        """Unless the last look is too near."""
        if time.monotonic() >= self._due:
            self.look(pids)

    def total(self) -> Switches | None:
        """All between the first look and the last."""
        return None if self._counter is None else self._counter.total()


def threads(pids: Iterable[int]) -> dict[Name, Counts]:
    """All that live and can be read."""
    found = {}
    for pid in pids:
        for task in _tasks(pid):
            counts = _counts(f"{PROC}/{pid}/task/{task}")
            if counts is not None:
                found[pid, task] = counts
    return found


def parse_sched(text: str) -> Counts | None:
    """Of a thread's `sched`, which not every kernel has."""
    found = SCHED.search(text)
    return Counts(int(found.group(2)), int(found.group(3)), int(found.group(1))) if found else None


def parse_status(text: str) -> Counts | None:
    """Of a thread's `status`, near its end."""
    found = STATUS.search(text, max(0, len(text) - 500))
    return Counts(int(found.group(1)), int(found.group(2)), None) if found else None


def _counts(folder: str) -> Counts | None:
    return parse_sched(read(f"{folder}/sched")) or parse_status(read(f"{folder}/status"))


def _age_s(name: Name) -> float | None:
    """None where the thread has ended."""
    fields = read(f"{PROC}/{name[0]}/task/{name[1]}/stat").rpartition(")")[2].split()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / TICKS if len(fields) > 19 else None


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"{PROC}/{pid}/task")  # noqa: PTH208 (thousands of threads: names are cheaper than paths)
    except OSError:
        return []
