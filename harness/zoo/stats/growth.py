"""A check for growth under long load: compares the last third of a server's marks with the first third."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from zoo.core.run import SoakSample

MIN_SAMPLES = 4
"""Lowest number of marks. The first one ends warm-up and is not used; each third of the others needs one."""


@dataclass(frozen=True)
class Allowance:
    """The permitted rise of a figure: a share of it, plus a fixed amount."""

    share: float
    offset: float

    def limit(self, first: float) -> float:
        return first * (1 + self.share) + self.offset


BOUNDS = {
    "heap_kb": Allowance(0.05, 4_096),
    "rss_kb": Allowance(0.10, 32_768),
    "threads": Allowance(0.0, 8),
    "descriptors": Allowance(0.0, 8),
}
"""Permitted rise by field of a mark.

Memory may rise because caches and the JIT compiler still grow, and threads because a JVM starts some of them late.
"""


@dataclass(frozen=True)
class Growth:
    """Medians of the first and the last third of the marks, and the highest permitted value of the last."""

    first: float
    last: float
    allowed: float

    @property
    def bounded(self) -> bool:
        return self.last <= self.allowed


def measure_growth(marks: Sequence[SoakSample]) -> dict[str, Growth]:
    """Return the growth by field, for fields that every mark has; empty with fewer than `LEAST_MARKS` marks."""
    if len(marks) < MIN_SAMPLES:
        return {}
    settled = marks[1:]
    third = len(settled) // 3
    found = {}
    for field, bound in BOUNDS.items():
        values = [getattr(mark, field) for mark in settled]
        if None not in values:
            first, last = statistics.median(values[:third]), statistics.median(values[-third:])
            found[field] = Growth(first, last, bound.limit(first))
    return found


def is_stable(marks: Sequence[SoakSample]) -> bool:
    """Return True if nothing grew beyond its bound and no request failed."""
    found = measure_growth(marks)
    return bool(found) and all(one.bounded for one in found.values()) and not sum(mark.errors for mark in marks)
