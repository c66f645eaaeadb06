"""Memory of held connections: its slope over several connection counts, and the share that is freed again. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from zoo.core.measurement import Measurement
from zoo.core.record import Record, newest_records
from zoo.core.scenario import holds_connections
from zoo.stats.interval import Interval, mean_interval
from zoo.stats.metrics import all_held

LEAST_COUNTS = 3


@dataclass(frozen=True)
class Point:
    """The memory of a server that holds this many connections; 0 is the server at rest."""

    connections: int
    kb: float


@dataclass(frozen=True)
class Slope:
    """kB per connection in one round, and the line's intercept.

    `fit` is the share of the variance of the `points` that the line explains (R²).
    """

    kb: float
    rest_kb: float
    fit: float
    points: Sequence[Point]


def slope(points: Sequence[Point]) -> Slope:
    """Fit the least-squares line through one round, including the server at rest.

    Its intercept is the idle memory, which is therefore not part of the cost of a connection. ValueError with fewer
    than 3 connection counts in addition to 0: one total divided by its count, or a line through two points, would not
    show that memory grows with connections at all.
    """
    counts = {point.connections for point in points}
    if 0 not in counts or len(counts) <= LEAST_COUNTS:
        raise ValueError(f"a slope needs the server at rest and at least {LEAST_COUNTS} connection counts")
    x, y = [float(point.connections) for point in points], [point.kb for point in points]
    line, flat = statistics.linear_regression(x, y), min(y) == max(y)
    return Slope(line.slope, line.intercept, 1.0 if flat else statistics.correlation(x, y) ** 2, points)


def freed_share(idle_kb: float, held_kb: float, rested_kb: float) -> float | None:
    """Return the share of the memory added by connections that is free again after a rest; None if none was added."""
    return (held_kb - rested_kb) / (held_kb - idle_kb) if held_kb > idle_kb else None


BeforeAndHeld = Callable[[Measurement], tuple[float | None, float | None]]

RSS = "rss"
QUANTITIES: dict[str, BeforeAndHeld] = {
    RSS: lambda m: (m.memory.rss_before_kb, m.memory.peak_kb) if m.memory else (None, None),
    "anon": lambda m: (m.held.anon_before_kb, m.held.anon_kb) if m.held else (None, None),
    "heap": lambda m: (m.held.heap_before_kb, m.held.heap_used_kb) if m.held else (None, None),
    "socket": lambda m: (m.memory.socket_before_kb, m.memory.socket_peak_kb) if m.memory else (None, None),
}
"""Readers of each kind of memory, at rest and with all connections held.

The kinds are resident memory, its anonymous part, the heap in use (including garbage) and the kernel's socket memory.
"""


def slopes(records: Iterable[Record], quantity: str = RSS) -> dict[tuple[str, str], dict[int, Slope]]:
    """Return the memory per waiting request by round, for each entry and scenario.

    At 0 connections the value is that of the server before its first count. Rounds count only if every connection count
    was held, and if there are at least three counts.
    """
    lives: dict[tuple[str, str, int], list[Record]] = {}
    for record in newest_records(records):
        if holds_connections(record.scenario):
            lives.setdefault((record.entry, record.workload, record.round), []).append(record)
    found: dict[tuple[str, str], dict[int, Slope]] = {}
    for (entry, scenario, number), life in lives.items():
        seen = sorted((r.measurement for r in life if r.measurement), key=lambda m: m.connections.actual)
        if len({m.connections.actual for m in seen}) < LEAST_COUNTS or not all_held(life):
            continue
        values = [QUANTITIES[quantity](m) for m in seen]
        each = [(0, values[0][0]), *((m.connections.actual, held) for m, (_, held) in zip(seen, values, strict=True))]
        known = [Point(count, kb) for count, kb in each if kb is not None]
        if len(known) == len(each):
            found.setdefault((entry, scenario), {})[number] = slope(known)
    return found


@dataclass(frozen=True)
class Cost:
    """kB per waiting request: the mean over rounds, and the `fit` of the round whose points fit worst."""

    interval: Interval
    fit: float


def cost(rounds: Mapping[int, Slope]) -> Cost:
    """Return the mean of the rounds' slopes with its t interval.

    A round is a fresh process and therefore the unit of replication. The points within one round share its heap and are
    not repetitions, so the regression's own standard error would be too small.
    """
    return Cost(mean_interval([each.kb for each in rounds.values()]), min(each.fit for each in rounds.values()))


def costs(records: Sequence[Record]) -> dict[tuple[str, str], Cost]:
    """Return the cost by entry and quantity, for records of one scenario."""
    return {
        (entry, quantity): cost(rounds)
        for quantity in QUANTITIES
        for (entry, _), rounds in slopes(records, quantity).items()
    }
