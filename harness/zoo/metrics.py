"""What is read off a cell and compared: the metrics, and what makes a reading unfit for comparison. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from zoo.records import Flag, Measurement, Record
from zoo.scenario import holds
from zoo.variations import plain

LEAST_CPU_S = 0.2
NEAR = 0.10


class Word(StrEnum):
    """What is said of a comparison."""

    FASTER = "faster"
    SLOWER = "slower"
    LESS = "less"
    MORE = "more"
    SAME = "no detectable difference"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not measured"


class Class(StrEnum):
    """What kind of quantity a metric is: it decides what can limit or spoil it."""

    LOAD = "load"
    LATENCY = "latency"
    CPU = "CPU"
    MEMORY = "memory"


@dataclass(frozen=True)
class Metric:
    """A figure of a cell; `above` and `below` are the words for a ratio over and under 1."""

    name: str
    kind: Class
    above: Word
    below: Word


REQUESTS = Metric("req/s", Class.LOAD, Word.FASTER, Word.SLOWER)
CPU = Metric("CPU per request", Class.CPU, Word.MORE, Word.LESS)
P99 = Metric("p99", Class.LATENCY, Word.SLOWER, Word.FASTER)
PEAK_RSS = Metric("peak RSS", Class.MEMORY, Word.MORE, Word.LESS)
PER_CONNECTION = Metric("RSS per connection", Class.MEMORY, Word.MORE, Word.LESS)


def cpu_per_million(seen: Measurement) -> float | None:
    """CPU-seconds per million good answers; None below 0.2 s, where the kernel's 10 ms ticks would be over 5 %."""
    return seen.work.cpu_s_per_million if seen.work and (seen.work.cpu_s or 0.0) >= LEAST_CPU_S else None


READ: dict[Metric, Callable[[Measurement], float | None]] = {
    REQUESTS: lambda m: m.load.goodput_rps,
    CPU: cpu_per_million,
    P99: lambda m: m.load.latency.p99_us,
    PEAK_RSS: lambda m: m.memory.rss_peak_kb if m.memory else None,
}
"""The metrics that one measurement gives; `PER_CONNECTION` takes a round's tiers together."""

METRICS = (*READ, PER_CONNECTION)


def held_all(seen: Measurement) -> bool:
    """True when each connection's request was being held at once, and no pool made some of them wait."""
    bad = {
        *(Flag.STARVED, Flag.POOL_CEILING, Flag.NOT_ESTABLISHED),
        *(Flag.BAD_ANSWERS, Flag.LITTLE_HIGH, Flag.NOT_AT_ONCE, Flag.LEFT_OPEN),
    }
    pool = seen.load.ceiling_rps is not None
    short = pool and seen.threads_peak is not None and seen.threads_peak < seen.connections.actual
    return seen.load.delay_s > 0 and not short and not bad & set(seen.flags)


def held_throughout(records: Iterable[Record]) -> bool:
    """True when every one of these cells was measured and held all its connections."""
    return all(r.measurement is not None and held_all(r.measurement) for r in records)


Points = list[tuple[float, float]]


def held_points(records: Iterable[Record]) -> dict[tuple[str, str], dict[int, Points]]:
    """Connections and peak RSS in kB by round, for each entry and scenario, fewest first; the count of 0 is the process
    before the load of the fewest, as in `zoo.held`.

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
        points += [(float(connections), float(memory.rss_peak_kb)) for connections, memory in seen]
        found.setdefault((entry, scenario), {})[number] = points
    return found


def held_slopes(records: Iterable[Record]) -> dict[tuple[str, str], dict[int, float]]:
    """kB of peak RSS per held connection by round, for each entry and scenario: the slope over the round's points."""
    return {
        key: {number: slope(points) for number, points in rounds.items()}
        for key, rounds in held_points(records).items()
    }


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Least-squares slope of y over x."""
    return statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope


def near_reference(records: Iterable[Record], reference: str | None) -> set[tuple[str, str, str, int]]:
    """Cells whose throughput is within 10 % of the bare reference's in the same round, or above it."""
    if reference is None:
        return set()
    seen = [(r.key, r.measurement.load) for r in records if r.measurement and not r.measurement.load.delay_s]
    known = {key: load.goodput_rps for key, load in seen if load.goodput_rps is not None}
    return {
        key
        for key, rps in known.items()
        if plain(key[0]) != reference and rps >= (1 - NEAR) * known.get((reference, *key[1:]), float("inf"))
    }


def requested(tier: str) -> int:
    """A tier's own number, for cells that never ran."""
    return int(tier[:-1]) * 1000 if tier.endswith("k") else int(tier)
