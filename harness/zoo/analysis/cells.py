"""Groups the records of a run into cells: an entry in a scenario and tier, by round. Pure."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from zoo.analysis import lower_bound
from zoo.analysis.held import Slope, slopes
from zoo.analysis.metrics import PER_CONNECTION, Class, Metric, of_turns
from zoo.analysis.samples import Side
from zoo.analysis.verdict import spoiled
from zoo.model.failure import Failure
from zoo.model.flag import Flag
from zoo.model.measurement import Measurement
from zoo.model.record import Record, newest_records
from zoo.plan.scenario import holds, is_trial
from zoo.plan.tier import count
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
        """The measurements by round."""
        return {r.round: r.measurement for r in self.records if r.measurement is not None}

    @cached_property
    def failures(self) -> dict[int, Failure]:
        """The failures by round."""
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
        """What makes its throughput a lower bound."""
        return lower_bound.limits(self.flags)

    def in_round(self, number: int) -> Cell:
        """Return the same cell with one of its rounds alone."""
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
        """Return the cell as one side of a pair."""
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
