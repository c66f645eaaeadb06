"""The difference between two profiled entries: CPU time per request by group, with intervals. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from statistics import fmean

from zoo.explain.data import Explanation, ProfiledWindow, Side
from zoo.stats import Ratio, student_ratio
from zoo.stats.interval import Interval, mean_interval
from zoo.stats.verdict import MARGIN

CONFIDENCE = 0.95
HEAVY_INSTRUMENTS = 0.10
"""Share of CPU time per request, or of throughput, above which the cost of observing is pointed out."""


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
    """Return the CPU time per request in µs that all samples add up to."""
    return _difference("all", found, lambda window: window.profile_us, 1)


def _difference(name: str, found: Explanation, figure: Callable[[ProfiledWindow], float], family: int) -> Difference:
    a, b = ([figure(window) for window in side.profiled] for side in (found.a, found.b))
    apart = [after - before for before, after in zip(a, b, strict=True)]
    corrected = mean_interval(apart, 1 - (1 - CONFIDENCE) / family)
    return Difference(name, fmean(a), fmean(b), mean_interval(apart, CONFIDENCE), _excludes_zero(corrected))


def _excludes_zero(interval: Interval) -> bool:
    if interval.low is None or interval.high is None:
        return False
    return interval.low > 0 or interval.high < 0


def cpu_ratio(found: Explanation) -> Ratio:
    """Return the CPU time per request of b over a, from the windows without a profiler."""
    return student_ratio(_log_ratios([w.cpu_us for w in found.a.plain], [w.cpu_us for w in found.b.plain]))


def is_same(ratio: Ratio) -> bool:
    """Return True if the whole interval lies within the margin of no difference."""
    return (
        ratio.low is not None and ratio.high is not None and 1 / (1 + MARGIN) <= ratio.low <= ratio.high <= 1 + MARGIN
    )


def _log_ratios(a: Iterable[float], b: Iterable[float]) -> list[float]:
    return [log(after / before) for before, after in zip(a, b, strict=True)]


def named_share(found: Explanation, other: str) -> float:
    """Return the share of CPU time that the rules name: all but the group `other`."""
    windows = [*found.a.profiled, *found.b.profiled]
    return 1 - sum(w.groups_us.get(other, 0.0) for w in windows) / (sum(w.profile_us for w in windows) or 1.0)


@dataclass(frozen=True)
class ObservingCost:
    """Effect of the profiler on one side: CPU time and rate with it, divided by those without it."""

    entry: str
    cpu: float
    rps: float

    @property
    def heavy(self) -> bool:
        return self.cpu > 1 + HEAVY_INSTRUMENTS or self.rps < 1 - HEAVY_INSTRUMENTS


def observing_cost(side: Side) -> ObservingCost:
    """Return what the profiler changed on one side of the pair."""
    return ObservingCost(
        side.entry,
        cpu=fmean(w.cpu_us for w in side.profiled) / fmean(w.cpu_us for w in side.plain),
        rps=fmean(w.rps for w in side.profiled) / fmean(w.rps for w in side.plain),
    )
