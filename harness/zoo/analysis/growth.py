"""Whether a server grew under load that went on and on: the last third of its marks against the first."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from zoo.model.run import Mark

LEAST_MARKS = 4
"""The first mark ends warm-up and is left out; each third of the others needs one."""


@dataclass(frozen=True)
class Allowance:
    """How far a figure may rise: by this share of it, and by so much more."""

    share: float
    more: float

    def allows(self, first: float) -> float:
        return first * (1 + self.share) + self.more


BOUNDS = {
    "heap_kb": Allowance(0.05, 4_096),
    "rss_kb": Allowance(0.10, 32_768),
    "threads": Allowance(0.0, 8),
    "descriptors": Allowance(0.0, 8),
}
"""By field of a mark. Memory: what caches and the JIT compiler still take; threads: those that a JVM starts late."""


@dataclass(frozen=True)
class Growth:
    """Medians of the first and the last third of the marks, and the most that the last may be."""

    first: float
    last: float
    allowed: float

    @property
    def bounded(self) -> bool:
        return self.last <= self.allowed


def growth(marks: Sequence[Mark]) -> dict[str, Growth]:
    """By field of a mark, of those that every mark knows; empty where there are fewer than `LEAST_MARKS`."""
    if len(marks) < LEAST_MARKS:
        return {}
    settled = marks[1:]
    third = len(settled) // 3
    found = {}
    for field, bound in BOUNDS.items():
        values = [getattr(mark, field) for mark in settled]
        if None not in values:
            first, last = statistics.median(values[:third]), statistics.median(values[-third:])
            found[field] = Growth(first, last, bound.allows(first))
    return found


def lasted(marks: Sequence[Mark]) -> bool:
    """True when nothing grew beyond its bound and no request failed."""
    found = growth(marks)
    return bool(found) and all(one.bounded for one in found.values()) and not sum(mark.errors for mark in marks)
