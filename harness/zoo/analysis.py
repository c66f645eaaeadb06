"""Records of a run → rows of a summary: medians over rounds, lower bounds, memory per held connection. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from zoo.records import LOWER_BOUND, Flag, Measurement, Record

NEAR = 0.10
LEAST_CPU_S = 0.2


@dataclass(frozen=True)
class Spread:
    """Median over rounds with the lowest and the highest round; no interval is claimed."""

    median: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True)
class Row:
    """One cell over all rounds of a run."""

    entry: str
    model: str
    scenario: str
    tier: str
    requested: int
    actual: int | None
    limited_by: str | None
    delay_s: float
    measured: int
    failures: list[str]
    rps: Spread | None = None
    ceiling_rps: float | None = None
    p50_us: Spread | None = None
    p99_us: Spread | None = None
    errors: int = 0
    rss_peak_mb: Spread | None = None
    threads_peak: Spread | None = None
    cpu_s_per_million: Spread | None = None
    generator_cpu_s_per_million: Spread | None = None
    heap_used_mb: Spread | None = None
    socket_mb: Spread | None = None
    held: bool = False
    kb_per_connection: Spread | None = None
    flags: list[tuple[Flag, int]] = field(default_factory=list)

    @property
    def lower_bound(self) -> bool:
        """True when the throughput is at least this, but the server was not what limited it."""
        return any(flag in LOWER_BOUND for flag, _ in self.flags)


def rows(records: Iterable[Record], reference: str | None = None) -> list[Row]:
    """One row a cell, ordered by scenario, tier and entry; `reference` is the bare server's entry."""
    latest = {record.key: record for record in records}
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in latest.values():
        groups.setdefault((record.scenario, record.tier, record.entry), []).append(record)
    near = _near_reference(latest.values(), reference)
    slopes = held_slopes(latest.values())
    made = [_row(group, near, slopes.get((key[2], key[0]))) for key, group in groups.items()]
    return sorted(made, key=lambda r: (r.scenario, r.requested, r.entry))


def spread(values: Sequence[float | None]) -> Spread | None:
    """Median, lowest and highest of what is known."""
    known = [v for v in values if v is not None]
    if not known:
        return None
    return Spread(statistics.median(known), min(known), max(known), len(known))


def held_all(seen: Measurement) -> bool:
    """True when each connection's request was being held at once, and no pool made some of them wait."""
    bad = {Flag.STARVED, Flag.POOL_CEILING, Flag.NOT_ESTABLISHED, Flag.BAD_ANSWERS, Flag.LITTLE_HIGH}
    return seen.load.delay_s > 0 and not bad & set(seen.flags)


def cpu_per_million(seen: Measurement) -> float | None:
    """CPU-seconds per million good answers; None below 0.2 s, where the kernel's 10 ms ticks would be over 5 %."""
    return seen.work.cpu_s_per_million if seen.work.cpu_s >= LEAST_CPU_S else None


def held_slopes(records: Iterable[Record]) -> dict[tuple[str, str], list[float]]:
    """kB of peak RSS per held connection, one value a round, by entry and scenario.

    The least-squares slope over the round's connection counts, with the process at rest as the count of 0; only
    rounds in which every tier was held. At least three counts besides 0 are needed: one total divided by its count
    would charge idle memory to the connections.
    """
    lives: dict[tuple[str, str, int], list[Record]] = {}
    for record in records:
        lives.setdefault((record.entry, record.scenario, record.round), []).append(record)
    slopes: dict[tuple[str, str], list[float]] = {}
    for (entry, scenario, _), group in lives.items():
        seen = [r.measurement for r in group if r.measurement is not None]
        if len(seen) != len(group) or len(seen) < 3 or not all(held_all(m) for m in seen):
            continue
        points = [(0.0, float(min(m.memory.rss_before_kb for m in seen)))]
        points += [(float(m.connections.actual), float(m.memory.rss_peak_kb)) for m in seen]
        slopes.setdefault((entry, scenario), []).append(slope(points))
    return slopes


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Least-squares slope of y over x."""
    return statistics.linear_regression([x for x, _ in points], [y for _, y in points]).slope


def _near_reference(records: Iterable[Record], reference: str | None) -> set[tuple[str, str, str, int]]:
    """Cells whose throughput is within 10 % of the bare reference's in the same round, or above it."""
    if reference is None:
        return set()
    known = {r.key: r.measurement.load.goodput_rps for r in records if r.measurement and not r.measurement.load.delay_s}
    return {
        key
        for key, rps in known.items()
        if key[0] != reference and rps >= (1 - NEAR) * known.get((reference, *key[1:]), float("inf"))
    }


def _row(group: list[Record], near: set[tuple[str, str, str, int]], slopes: list[float] | None) -> Row:
    first = group[0]
    pairs = [(r, r.measurement) for r in group if r.measurement is not None]
    seen = [m for _, m in pairs]
    failures = [r.failure.message for r in group if r.failure is not None]
    if not seen:
        return Row(
            first.entry, first.model, first.scenario, first.tier, _requested(first), None, None, 0.0, 0, failures
        )

    def over(read: Callable[[Measurement], float | None]) -> Spread | None:
        return spread([read(m) for m in seen])

    held = not failures and all(held_all(m) for m in seen)
    last = seen[-1]
    return Row(
        entry=first.entry,
        model=first.model,
        scenario=first.scenario,
        tier=first.tier,
        requested=last.connections.requested,
        actual=last.connections.actual,
        limited_by=last.connections.limited_by,
        delay_s=last.load.delay_s,
        measured=len(seen),
        failures=failures,
        rps=over(lambda m: m.load.goodput_rps),
        ceiling_rps=last.load.ceiling_rps if Flag.POOL_CEILING in last.flags else None,
        p50_us=over(lambda m: m.load.latency.p50_us),
        p99_us=over(lambda m: m.load.latency.p99_us),
        errors=sum(_errors(m) for m in seen),
        rss_peak_mb=over(lambda m: m.memory.rss_peak_kb / 1024),
        threads_peak=over(lambda m: m.work.threads_peak),
        cpu_s_per_million=over(cpu_per_million),
        generator_cpu_s_per_million=over(lambda m: m.load.cpu_s / m.load.requests * 1e6),
        heap_used_mb=over(lambda m: None if m.memory.heap_used_kb is None else m.memory.heap_used_kb / 1024),
        socket_mb=over(lambda m: None if m.memory.socket_peak_kb is None else m.memory.socket_peak_kb / 1024),
        held=held,
        kb_per_connection=spread(slopes) if slopes and held else None,
        flags=_flags(pairs, near),
    )


def _requested(record: Record) -> int:
    """The tier's own number, for cells that never ran."""
    name = record.tier
    return int(name[:-1]) * 1000 if name.endswith("k") else int(name)


def _errors(seen: Measurement) -> int:
    errors = seen.load.errors
    return errors.connect + errors.read + errors.write + errors.status + errors.timeout


def _flags(pairs: list[tuple[Record, Measurement]], near: set[tuple[str, str, str, int]]) -> list[tuple[Flag, int]]:
    """Flags with the number of rounds that had them, in the order of the enum."""
    counts: dict[Flag, int] = {}
    for record, seen in pairs:
        for flag in [*seen.flags, *([Flag.NEAR_REFERENCE] if record.key in near else [])]:
            counts[flag] = counts.get(flag, 0) + 1
    return [(flag, counts[flag]) for flag in Flag if flag in counts]
