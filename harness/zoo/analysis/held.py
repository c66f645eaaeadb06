"""Memory of held connections: its slope over several connection counts, and whether it is given back. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from zoo.analysis.metrics import held_all, held_throughout
from zoo.analysis.stats.interval import Interval, of_mean
from zoo.model.measurement import Measurement
from zoo.model.record import Record, newest_records
from zoo.scenarios import holds

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


@dataclass(frozen=True)
class Cost:
    """kB a held connection: the mean over rounds; `fit` is that of the round whose points fit worst."""

    interval: Interval
    fit: float


BeforeAndHeld = Callable[[Measurement], tuple[float | None, float | None]]

QUANTITIES: dict[str, BeforeAndHeld] = {
    "rss": lambda m: (m.memory.rss_before_kb, m.memory.peak_kb) if m.memory else (None, None),
    "anon": lambda m: (m.held.anon_before_kb, m.held.anon_kb) if m.held else (None, None),
    "heap": lambda m: (m.held.heap_before_kb, m.held.heap_used_kb) if m.held else (None, None),
    "socket": lambda m: (m.memory.socket_before_kb, m.memory.socket_peak_kb) if m.memory else (None, None),
}
"""Resident memory, its anonymous part, the heap in use (garbage included), the kernel's socket memory: each at rest
and with all connections held."""


def costs(records: Iterable[Record]) -> dict[tuple[str, str], Cost]:
    """By entry and quantity, from the rounds in which every connection count was held."""
    lives: dict[tuple[str, int], list[Record]] = {}
    for record in newest_records(records):
        lives.setdefault((record.entry, record.round), []).append(record)
    slopes: dict[tuple[str, str], list[Slope]] = {}
    for (entry, _), life in lives.items():
        seen = sorted((r.measurement for r in life if r.measurement), key=lambda m: m.connections.actual)
        counts = {m.connections.actual for m in seen}
        if len(counts) < LEAST_COUNTS or not held_throughout(life):
            continue
        for name, read in QUANTITIES.items():
            values = [read(m) for m in seen]
            points = [(0, values[0][0]), *((m.connections.actual, v) for m, (_, v) in zip(seen, values, strict=True))]
            known = [Point(count, kb) for count, kb in points if kb is not None]
            if len(known) == len(points):
                slopes.setdefault((entry, name), []).append(slope(known))
    return {
        key: Cost(of_mean([each.kb for each in rounds]), min(each.fit for each in rounds))
        for key, rounds in slopes.items()
    }


Points = list[tuple[float, float]]


def held_points(records: Iterable[Record]) -> dict[tuple[str, str], dict[int, Points]]:
    """Connections and peak RSS in kB by round, for each entry and scenario, fewest first; the count of 0 is the process
    before the load of the fewest.

    Only rounds in which every tier was held, and at least three of them: one total divided by its count would charge
    idle memory to the connections.
    """
    lives: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        if holds(record.scenario):
            lives.setdefault((record.entry, record.asked, record.round), []).append(record)
    found: dict[tuple[str, str], dict[int, Points]] = {}
    for (entry, scenario, number), group in lives.items():
        seen = [(m.connections.actual, m.memory) for r in group if (m := r.measurement) and m.memory and held_all(m)]
        if len(seen) != len(group) or len(seen) < 3:
            continue
        seen.sort(key=lambda one: one[0])
        points = [(0.0, float(seen[0][1].rss_before_kb))]
        points += [(float(connections), float(memory.peak_kb)) for connections, memory in seen]
        found.setdefault((entry, scenario), {})[number] = points
    return found


def held_slopes(records: Iterable[Record]) -> dict[tuple[str, str], dict[int, float]]:
    """kB of peak RSS per held connection by round, for each entry and scenario: the slope over the round's points."""
    return {
        key: {number: _slope(points) for number, points in rounds.items()}
        for key, rounds in held_points(records).items()
    }


def _slope(points: Points) -> float:
    return statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope
