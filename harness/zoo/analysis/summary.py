"""Cells of a run and their rows: medians over rounds, lower bounds, memory per held connection. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from zoo.analysis import lower_bound
from zoo.analysis.held import Slope, cost, slopes
from zoo.analysis.metrics import (
    METRICS,
    PER_CONNECTION,
    Class,
    Metric,
    Side,
    cpu_per_million,
    held_all,
    of_turns,
    served_each_wait,
)
from zoo.analysis.stats import outlier
from zoo.analysis.stats.interval import Interval
from zoo.analysis.verdict import spoiled
from zoo.model.entry_id import is_twin
from zoo.model.flag import Flag
from zoo.model.measurement import Measurement
from zoo.model.record import Failure, Record, newest_records
from zoo.plan.capacity import count
from zoo.plan.scenario import holds, is_trial
from zoo.plan.windows import HOLDING_S

Key = tuple[str, str, str]
"""Entry, scenario, tier."""


@dataclass(frozen=True)
class Cell:
    """One cell of a run: the newest record of each round.

    `near` has the keys of records near the bare reference. `lines` are the memory over the connection counts of a
    scenario that waits, by round; `shows_slope` is true at its highest count.
    """

    records: Sequence[Record] = ()
    near: Collection[lower_bound.Key] = ()
    lines: Mapping[int, Slope] = field(default_factory=dict)
    shows_slope: bool = False

    @cached_property
    def seen(self) -> dict[int, Measurement]:
        return {r.round: r.measurement for r in self.records if r.measurement is not None}

    @cached_property
    def failures(self) -> dict[int, Failure]:
        return {r.round: r.failure for r in self.records if r.failure is not None}

    @cached_property
    def flags(self) -> list[list[Flag]]:
        """The flags of each measurement, and that it is near the bare reference."""
        return [
            r.measurement.flags + ([Flag.NEAR_REFERENCE] if r.key in self.near else [])
            for r in self.records
            if r.measurement is not None
        ]

    @cached_property
    def limits(self) -> frozenset[Flag]:
        return lower_bound.limits(self.flags)

    def in_round(self, number: int) -> Cell:
        return replace(
            self,
            records=[r for r in self.records if r.round == number],
            lines={n: line for n, line in self.lines.items() if n == number},
        )

    def figures(self, metric: Metric) -> Mapping[int, float]:
        """A metric by round, where it was seen and is above 0."""
        if metric.read is None:
            known = {number: line.kb for number, line in self.lines.items() if self.shows_slope}
        else:
            read = metric.read
            known = {number: value for number, m in self.seen.items() if (value := read(m)) is not None}
        return {number: value for number, value in known.items() if value > 0}

    def side(self, metric: Metric, group: Hashable) -> Side:
        return Side(self.figures(metric), group, {number: of_turns(metric, m) for number, m in self.seen.items()})


def cells(records: Iterable[Record], reference: str | None = None) -> dict[Key, Cell]:
    """Group the records of wrk's loads; `reference` is the bare server's entry."""
    latest = newest_records(record for record in records if not is_trial(record.scenario))
    near, lines = lower_bound.near_reference(latest, reference), slopes(latest)
    groups: dict[Key, list[Record]] = {}
    for record in latest:
        groups.setdefault(record.key[:3], []).append(record)
    highest = {scenario: tier for _, scenario, tier in sorted(groups, key=lambda key: count(key[2]))}
    return {
        key: Cell(group, near, lines.get(key[:2], {}), holds(group[0].scenario) and highest[key[1]] == key[2])
        for key, group in groups.items()
    }


def asked(metric: Metric, sides: tuple[Cell, Cell]) -> bool:
    """Whether it is a question for these cells: slopes need the highest tier, speed a host that is not emulated."""
    if metric is PER_CONNECTION:
        return any(cell.shows_slope and cell.seen for cell in sides)
    seen = [m for cell in sides for m in cell.seen.values()]
    return metric.kind is Class.MEMORY or not seen or any(m.timed for m in seen)


def unfit(metric: Metric, names: tuple[str, str], sides: tuple[Cell, Cell]) -> str | None:
    """Why two cells cannot be compared in a metric; None when they can."""
    for name, cell in zip(names, sides, strict=True):
        if not cell.seen:
            return f"{name}: {next((failure.text for failure in cell.failures.values()), 'not run')}"
    counts = {m.connections.actual for cell in sides for m in cell.seen.values()}
    if len(counts) > 1:
        return f"ran at different connection counts: {', '.join(f'{n:,}' for n in sorted(counts))}"
    for name, cell in zip(names, sides, strict=True):
        if metric.kind in (Class.CPU, Class.MEMORY) and any(m.work is None for m in cell.seen.values()):
            return f"{name}: its process is not known (PID= names it)"
        reason = spoiled(metric, name, cell.seen.values())
        if reason:
            return reason
        if metric.kind is Class.LOAD and any(m.load.delay_s >= HOLDING_S for m in cell.seen.values()):
            return "a window holds whole waits only, so its throughput counts waits"
    return None


@dataclass(frozen=True)
class Spread:
    """Median over rounds with the lowest and the highest round; no interval is claimed."""

    median: float
    low: float
    high: float
    rounds: int


@dataclass(frozen=True)
class Row:
    """One cell over all rounds of a run.

    `limits` make its throughput a lower bound; `outliers` are metrics with the round that stands apart. `served`: the
    share of the connections that was answered in each wait.
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
        """True when the throughput is at least this, but the server was not what limited it."""
        return bool(self.limits)

    @property
    def again(self) -> bool:
        """True for the second measurement of an entry, which is there for the noise band alone."""
        return is_twin(self.entry)


def rows(found: Mapping[Key, Cell]) -> list[Row]:
    """Return one row per cell, ordered by scenario, tier and entry."""
    return sorted(map(row_of, found.values()), key=lambda r: (r.scenario, r.requested, r.entry))


def spread(values: Iterable[float | None]) -> Spread | None:
    known = [v for v in values if v is not None]
    if not known:
        return None
    return Spread(statistics.median(known), min(known), max(known), len(known))


def outlying(cell: Cell) -> list[tuple[str, int]]:
    """The metrics in which one round stands apart from the others, and which round that is."""
    found = []
    for metric in METRICS:
        read = metric.read
        known = [(number, value) for number, m in cell.seen.items() if read and (value := read(m)) is not None]
        place = outlier([value for _, value in known])
        if place is not None:
            found.append((metric.name, known[place][0]))
    return found


def row_of(cell: Cell) -> Row:
    first, seen = cell.records[0], list(cell.seen.values())
    last = seen[-1] if seen else None

    def over(read: Callable[[Measurement], float | None]) -> Spread | None:
        return spread(read(m) for m in seen)

    held = last is not None and not cell.failures and all(map(held_all, seen))
    return Row(
        entry=first.entry,
        model=first.model,
        scenario=first.asked,
        tier=first.tier,
        requested=last.connections.requested if last else count(first.tier),
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
        flags=_flags(cell.flags),
        limits=cell.limits,
        outliers=outlying(cell),
    )


def _flags(rounds: Iterable[Iterable[Flag]]) -> list[tuple[Flag, int]]:
    """Flags with the number of rounds that had them, in the order of the enum."""
    counts = Counter(flag for flags in rounds for flag in flags)
    return [(flag, counts[flag]) for flag in Flag if flag in counts]
