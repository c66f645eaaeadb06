"""Memory of held connections: its slope over several connection counts, and whether it is given back. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from zoo.interval import Interval, of_mean

LEAST_COUNTS = 4


@dataclass(frozen=True)
class Point:
    """What a server's memory was while it held so many connections; 0 is the server at rest."""

    connections: int
    kb: float


@dataclass(frozen=True)
class Slope:
    """kB a connection in one round; `fit` is the share of the variance that the line explains (R²)."""

    kb: float
    fit: float


def slope(points: Sequence[Point]) -> Slope:
    """The least-squares line through one round, at rest included: its intercept is the idle memory, which is thereby
    no part of what a connection costs. ValueError with fewer than 4 connection counts besides 0: one total divided by
    its count, or a line through two points, would not show that memory grows with connections at all."""
    counts = {point.connections for point in points}
    if 0 not in counts or len(counts) <= LEAST_COUNTS:
        raise ValueError(f"a slope needs the server at rest and at least {LEAST_COUNTS} connection counts")
    x, y = [float(point.connections) for point in points], [point.kb for point in points]
    flat = min(y) == max(y)
    return Slope(statistics.linear_regression(x, y).slope, 1.0 if flat else statistics.correlation(x, y) ** 2)


def kb_per_connection(rounds: Sequence[Sequence[Point]], confidence: float = 0.95) -> Interval:
    """The mean of the rounds' slopes with its t interval.

    A round is a fresh process and so the unit of replication; the points within one share its heap and are no
    repetitions, so the regression's own standard error would promise too much.
    """
    return of_mean([slope(points).kb for points in rounds], confidence)


def given_back(idle_kb: float, held_kb: float, rested_kb: float) -> float | None:
    """The share of what held connections added that is free again after a rest; None when they added nothing."""
    return (held_kb - rested_kb) / (held_kb - idle_kb) if held_kb > idle_kb else None
