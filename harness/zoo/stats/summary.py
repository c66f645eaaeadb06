"""Cells of a run and their rows: medians over rounds, lower bounds, memory per waiting request. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from zoo.core.capacity import parse_count
from zoo.core.entry_id import is_aa
from zoo.core.flag import Flag
from zoo.core.measurement import Measurement
from zoo.core.record import Failure, Record, RecordKey, newest_records
from zoo.core.scenario import holds_connections, is_trial
from zoo.core.windows import HOLDING_S
from zoo.stats import find_outlier, lower_bound
from zoo.stats.interval import Interval
from zoo.stats.memory_per_request import Slope, cost, slopes
from zoo.stats.metrics import (
    METRICS,
    PER_CONNECTION,
    Metric,
    MetricKind,
    Side,
    cpu_per_million,
    held_all_connections,
    served_each_wait,
    window_values,
)
from zoo.stats.verdict import find_defect

Key = tuple[str, str, str]
"""Entry, scenario, connection count."""


@dataclass(frozen=True)
class Cell:
    """One cell of a run: the newest record of each round.

    `near` has the keys of records near the bare reference. `lines` has the memory over the connection counts of a
    scenario that waits, by round. `shows_slope` is True at the highest of these counts.
    """

    records: Sequence[Record] = ()
    near: Collection[RecordKey] = ()
    lines: Mapping[int, Slope] = field(default_factory=dict)
    shows_slope: bool = False

    @cached_property
    def measurements(self) -> dict[int, Measurement]:
        return {r.round: r.measurement for r in self.records if r.measurement is not None}

    @cached_property
    def failures(self) -> dict[int, Failure]:
        return {r.round: r.failure for r in self.records if r.failure is not None}

    @cached_property
    def flags(self) -> list[list[Flag]]:
        """Return the flags of each measurement, including whether it is near the bare reference."""
        return [
            r.measurement.flags + ([Flag.NEAR_REFERENCE] if r.key in self.near else [])
            for r in self.records
            if r.measurement is not None
        ]

    @cached_property
    def limits(self) -> frozenset[Flag]:
        return lower_bound.limiting_flags(self.flags)

    def in_round(self, number: int) -> Cell:
        return replace(
            self,
            records=[r for r in self.records if r.round == number],
            lines={n: line for n, line in self.lines.items() if n == number},
        )

    def figures(self, metric: Metric) -> Mapping[int, float]:
        """Return a metric by round, where it was measured and is above 0."""
        if metric.read is None:
            known = {number: line.kb for number, line in self.lines.items() if self.shows_slope}
        else:
            read = metric.read
            known = {number: value for number, m in self.measurements.items() if (value := read(m)) is not None}
        return {number: value for number, value in known.items() if value > 0}

    def side(self, metric: Metric, group: Hashable) -> Side:
        return Side(
            self.figures(metric), group, {number: window_values(metric, m) for number, m in self.measurements.items()}
        )


def cells(records: Iterable[Record], reference: str | None = None) -> dict[Key, Cell]:
    """Group the records of wrk's loads by cell; `reference` is the bare server's entry."""
    latest = newest_records(record for record in records if not is_trial(record.scenario))
    near, lines = lower_bound.near_reference(latest, reference), slopes(latest)
    groups: dict[Key, list[Record]] = {}
    for record in latest:
        groups.setdefault(record.key[:3], []).append(record)
    highest = {scenario: tier for _, scenario, tier in sorted(groups, key=lambda key: parse_count(key[2]))}
    return {
        key: Cell(
            group, near, lines.get(key[:2], {}), holds_connections(group[0].scenario) and highest[key[1]] == key[2]
        )
        for key, group in groups.items()
    }


def metric_applies(metric: Metric, sides: tuple[Cell, Cell]) -> bool:
    """Return True if the metric applies to these cells.

    A slope applies at the highest connection count, and speed on a host that is not emulated.
    """
    if metric is PER_CONNECTION:
        return any(cell.shows_slope and cell.measurements for cell in sides)
    seen = [m for cell in sides for m in cell.measurements.values()]
    return metric.kind is MetricKind.MEMORY or not seen or any(m.is_timed for m in seen)


def find_obstacle(metric: Metric, names: tuple[str, str], sides: tuple[Cell, Cell]) -> str | None:
    """Return why two cells cannot be compared in a metric; None if they can."""
    for name, cell in zip(names, sides, strict=True):
        if not cell.measurements:
            return f"{name}: {next((failure.text for failure in cell.failures.values()), 'not run')}"
    counts = {m.connections.actual for cell in sides for m in cell.measurements.values()}
    if len(counts) > 1:
        return f"ran at different connection counts: {', '.join(f'{n:,}' for n in sorted(counts))}"
    for name, cell in zip(names, sides, strict=True):
        if metric.kind in (MetricKind.CPU, MetricKind.MEMORY) and any(
            m.work is None for m in cell.measurements.values()
        ):
            return f"{name}: its process is unknown (PID= names it)"
        reason = find_defect(metric, name, cell.measurements.values())
        if reason:
            return reason
        if metric.kind is MetricKind.LOAD and any(m.load.delay_s >= HOLDING_S for m in cell.measurements.values()):
            return "a window holds whole waits only, so its throughput counts waits"
    return None


@dataclass(frozen=True)
class Spread:
    """The median over rounds, with the lowest and the highest round; it is not a confidence interval.

    `mean` is the geometric mean, whose ratio between two cells is the paired ratio; None if a round has no positive
    value.
    """

    median: float
    low: float
    high: float
    rounds: int
    mean: float | None = None


@dataclass(frozen=True)
class Row:
    """One cell over all rounds of a run.

    `limits` are the flags that make its throughput a lower bound. `outliers` are metrics with the round that stands
    apart. `served` is the share of the connections that got a response in each wait.
    """

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
    max_us: Spread | None = None
    errors: int = 0
    rss_peak_mb: Spread | None = None
    threads_peak: Spread | None = None
    cpu_s_per_million: Spread | None = None
    generator_cpu_s_per_million: Spread | None = None
    socket_mb: Spread | None = None
    answers: Spread | None = None
    served: Spread | None = None
    held: bool = False
    emulated: bool = False
    kb_per_connection: Interval | None = None
    flags: list[tuple[Flag, int]] = field(default_factory=list)
    limits: frozenset[Flag] = frozenset()
    outliers: list[tuple[str, int]] = field(default_factory=list)

    @property
    def lower_bound(self) -> bool:
        """Return True if something other than the server limited the throughput, so that it is at least this."""
        return bool(self.limits)

    @property
    def again(self) -> bool:
        """Return True for the second measurement of an entry, which serves only the noise band."""
        return is_aa(self.entry)


def rows(found: Mapping[Key, Cell]) -> list[Row]:
    """Return one row per cell, ordered by scenario, connection count and entry."""
    return sorted(map(make_row, found.values()), key=lambda r: (r.scenario, r.requested, r.entry))


def spread(values: Iterable[float | None]) -> Spread | None:
    known = [v for v in values if v is not None]
    if not known:
        return None
    # the last digits are errors of the logarithm
    mean = float(f"{statistics.geometric_mean(known):.12g}") if min(known) > 0 else None
    return Spread(statistics.median(known), min(known), max(known), len(known), mean)


def find_outliers(cell: Cell) -> list[tuple[str, int]]:
    """Return the metrics in which one round is an outlier, with the number of that round."""
    found = []
    for metric in METRICS:
        read = metric.read
        known = [(number, value) for number, m in cell.measurements.items() if read and (value := read(m)) is not None]
        place = find_outlier([value for _, value in known])
        if place is not None:
            found.append((metric.name, known[place][0]))
    return found


def make_row(cell: Cell) -> Row:
    first, seen = cell.records[0], list(cell.measurements.values())
    last = seen[-1] if seen else None

    def over(read: Callable[[Measurement], float | None]) -> Spread | None:
        return spread(read(m) for m in seen)

    held = last is not None and not cell.failures and all(map(held_all_connections, seen))
    return Row(
        entry=first.entry,
        model=first.model,
        scenario=first.workload,
        tier=first.tier,
        requested=last.connections.requested if last else parse_count(first.tier),
        actual=last.connections.actual if last else None,
        limited_by=last.connections.limited_by if last else None,
        delay_s=last.load.delay_s if last else 0.0,
        measured=len(seen),
        failures=[failure.message for failure in cell.failures.values()],
        rps=over(lambda m: m.load.goodput_rps),
        ceiling_rps=last.load.ceiling_rps if last and Flag.POOL_CEILING in last.flags else None,
        p50_us=over(lambda m: m.load.latency.p50_us),
        p99_us=over(lambda m: m.load.latency.p99_us),
        max_us=over(lambda m: m.load.latency.max_us),
        errors=sum(m.load.errors.total for m in seen),
        rss_peak_mb=over(lambda m: m.rss_peak_mb),
        threads_peak=over(lambda m: m.threads_peak),
        cpu_s_per_million=over(cpu_per_million),
        generator_cpu_s_per_million=over(
            lambda m: None if m.load.cpu_s is None else m.load.cpu_s / m.load.requests * 1e6
        ),
        socket_mb=over(
            lambda m: m.memory.socket_peak_kb / 1024 if m.memory and m.memory.socket_peak_kb is not None else None
        ),
        answers=over(lambda m: m.load.goodput) if first.condition.emulated else None,
        served=over(served_each_wait),
        held=held,
        emulated=first.condition.emulated,
        kb_per_connection=cost(cell.lines).interval if held and cell.lines else None,
        flags=_count_flags(cell.flags),
        limits=cell.limits,
        outliers=find_outliers(cell),
    )


def _count_flags(rounds: Iterable[Iterable[Flag]]) -> list[tuple[Flag, int]]:
    """Return the flags with the number of rounds that had them, in the order of the enum."""
    counts = Counter(flag for flags in rounds for flag in flags)
    return [(flag, counts[flag]) for flag in Flag if flag in counts]
