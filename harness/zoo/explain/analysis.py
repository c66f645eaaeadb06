"""The difference between two profiled entries: CPU time per request by group, with intervals. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from math import log
from statistics import fmean

from zoo.explain.data import ExplainedSide, Explanation, ProfiledWindow
from zoo.explain.stacks import Stack
from zoo.stats import Ratio, student_ratio
from zoo.stats.interval import Interval, mean_interval

CONFIDENCE = 0.95
HEAVY_INSTRUMENTS = 0.10
"""Share of CPU time per request, or of throughput, above which the cost of observing is pointed out."""


LEAST_COUNT = 0.01
"""Number per request below which a system call or a class of lock is left out of the table."""


@dataclass(frozen=True)
class Difference:
    """A figure of both sides, in one unit, and b minus a with its interval over the windows.

    `clear` is True if the interval excludes 0 even after allowing for the number of groups.
    """

    name: str
    a: float
    b: float
    interval: Interval
    clear: bool


def differences(found: Explanation, groups: Sequence[str]) -> list[Difference]:
    """Return the CPU time per request of each group in µs, the largest difference first; empty groups are left out.

    The k-th windows of both sides ran next to each other, so their difference is taken. Each interval is Student's for
    95%. A difference is clear if it excludes 0 at 1 - 5% / number of groups (Bonferroni): without any real difference,
    a group is named in at most 5% of explanations.
    """
    made = [_difference(name, found, partial(_group_us, name), len(groups)) for name in groups]
    return sorted((d for d in made if d.a or d.b), key=lambda d: -abs(d.interval.value))


def _group_us(name: str, window: ProfiledWindow) -> float:
    return window.groups_us.get(name, 0.0)


def total(found: Explanation) -> Difference:
    """Return the CPU time per request in µs, which is the sum of all groups."""
    return _difference("all", found, lambda window: window.profile_us, 1)


def _difference(name: str, found: Explanation, figure: Callable[[ProfiledWindow], float], family: int) -> Difference:
    a, b = ([figure(window) for window in side.profiled] for side in (found.a, found.b))
    apart = [after - before for before, after in zip(a, b, strict=True)]
    corrected = mean_interval(apart, 1 - (1 - CONFIDENCE) / family)
    return Difference(name, fmean(a), fmean(b), mean_interval(apart, CONFIDENCE), excludes_zero(corrected))


def excludes_zero(interval: Interval) -> bool:
    """Return True if an interval exists and does not contain 0."""
    if interval.low is None or interval.high is None:
        return False
    return interval.low > 0 or interval.high < 0


def cpu_ratio(found: Explanation) -> Ratio:
    """Return the CPU time per request of b over a, from the windows without a profiler."""
    return student_ratio(_log_ratios([w.cpu_us for w in found.a.plain], [w.cpu_us for w in found.b.plain]))


def _log_ratios(a: Iterable[float], b: Iterable[float]) -> list[float]:
    return [log(after / before) for before, after in zip(a, b, strict=True)]


def by_name(
    a: Sequence[Mapping[str, float]], b: Sequence[Mapping[str, float]]
) -> Iterator[tuple[str, tuple[list[float], list[float]]]]:
    """Yield each name with its counts in the windows of both sides, the most frequent first.

    A name without a count in a window has 0 there. Rare names are left out.
    """

    def values(name: str) -> tuple[list[float], list[float]]:
        return [window.get(name, 0.0) for window in a], [window.get(name, 0.0) for window in b]

    def most(name: str) -> float:
        return max(fmean(side) for side in values(name) if side)

    for name in sorted({name for window in (*a, *b) for name in window}, key=lambda name: (-most(name), name)):
        if most(name) >= LEAST_COUNT:
            yield name, values(name)


class Counted(StrEnum):
    """Kinds of counts per request that are compared."""

    CALLS = "calls"
    ALLOCATED = "allocated"
    CONTENDED = "contended"


@dataclass(frozen=True)
class CountChange:
    """A count per request that differs clearly, b minus a; `name` is the system call or the class of lock."""

    kind: Counted
    name: str
    change: float


def clear_counts(found: Explanation) -> list[CountChange]:
    """Return the counts whose difference is clear even with this many of its kind (Bonferroni)."""
    a, b = found.a, found.b
    kinds = {
        Counted.CALLS: list(by_name(a.calls, b.calls)),
        Counted.ALLOCATED: [("bytes", (a.allocated_bytes, b.allocated_bytes))],
        Counted.CONTENDED: list(by_name(a.contended, b.contended)),
    }
    clear = []
    for kind, counts in kinds.items():
        for name, (before, after) in counts:
            if before and len(before) == len(after):
                apart = [two - one for one, two in zip(before, after, strict=True)]
                if excludes_zero(mean_interval(apart, 1 - (1 - CONFIDENCE) / len(counts))):
                    clear.append(CountChange(kind, name, fmean(apart)))
    return clear


ONLY_SHARE = 0.05
"""Share of the CPU time per request above which a frame that only one side has is named."""

ABSENT = 0.02
"""Share of one side's time in a frame below which the other side counts as not having it."""


def only_frames(mine: Mapping[Stack, float], other: Mapping[Stack, float]) -> dict[str, float]:
    """Return the time below the outermost frames that `mine` has and `other` has not, the largest first.

    Both are stacks without the frames that start threads. Frames of the kernel are not named.
    """
    here, there = _inclusive(mine), _inclusive(other)
    least = ONLY_SHARE * sum(mine.values())
    mine_alone = {frame for frame, us in here.items() if us >= least and there.get(frame, 0.0) < ABSENT * us}
    own = {frame for frame in mine_alone if not frame.endswith("_[k]")}
    found: defaultdict[str, float] = defaultdict(float)
    for stack, us in mine.items():
        if (outermost := next((frame for frame in stack if frame in own), None)) is not None:
            found[outermost] += us
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def _inclusive(stacks: Mapping[Stack, float]) -> dict[str, float]:
    """Return the time below each frame; a recursive frame counts once per stack."""
    found: defaultdict[str, float] = defaultdict(float)
    for stack, us in stacks.items():
        for frame in set(stack):
            found[frame] += us
    return found


def named_share(found: Explanation, other: str) -> float:
    """Return the share of CPU time that the rules name: all but the group `other`."""
    windows = [*found.a.profiled, *found.b.profiled]
    return 1 - sum(w.groups_us.get(other, 0.0) for w in windows) / (sum(w.profile_us for w in windows) or 1.0)


UNNAMED = re.compile(r"^\[.*\]$")
"""A frame whose function has no name: the profiler shows its binary, or `[unknown]`."""


def unnamed_share(stacks: Mapping[Stack, float]) -> float:
    """Return the share of time in stacks whose innermost frame outside the kernel has no name."""
    unnamed = 0.0
    for stack, us in stacks.items():
        innermost = next((frame for frame in reversed(stack) if not frame.endswith("_[k]")), "")
        unnamed += us if UNNAMED.match(innermost) else 0.0
    return unnamed / (sum(stacks.values()) or 1.0)


@dataclass(frozen=True)
class ObservingCost:
    """Effect of the profiler on one side: CPU time and rate with it, divided by those without it."""

    entry: str
    cpu: float
    rps: float

    @property
    def heavy(self) -> bool:
        return self.cpu > 1 + HEAVY_INSTRUMENTS or self.rps < 1 - HEAVY_INSTRUMENTS


def observing_cost(side: ExplainedSide) -> ObservingCost:
    """Return what the profiler changed on one side of the pair."""
    return ObservingCost(
        side.entry,
        cpu=fmean(w.cpu_us for w in side.profiled) / fmean(w.cpu_us for w in side.plain),
        rps=fmean(w.rps for w in side.profiled) / fmean(w.rps for w in side.plain),
    )
