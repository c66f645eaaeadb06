"""Cells of a run ready to be compared: an entry in a scenario and tier, by round. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from zoo.analysis.held import slopes
from zoo.analysis.lower_bound import flags_of, limits, near_reference
from zoo.analysis.metrics import PER_CONNECTION, Class, Metric, of_turns
from zoo.analysis.samples import Side
from zoo.analysis.verdict import spoiled
from zoo.model.flag import Flag
from zoo.model.measurement import Measurement
from zoo.model.record import Record, newest_records
from zoo.plan.tier import count
from zoo.plan.windows import HOLDING_S
from zoo.scenarios import holds, is_trial

Key = tuple[str, str, str]
"""Entry, scenario, tier."""


@dataclass
class Cell:
    """What each round gave; `slopes` are kB per held connection, at the highest tier of a scenario that waits.

    `limits`: what makes its throughput a lower bound.
    """

    seen: dict[int, Measurement] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    limits: frozenset[Flag] = frozenset()
    slopes: Mapping[int, float] | None = None

    def figures(self, metric: Metric) -> Mapping[int, float]:
        """A metric by round, where it was seen and is above 0."""
        if metric.read is None:
            known = dict(self.slopes or {})
        else:
            read = metric.read
            known = {number: value for number, m in self.seen.items() if (value := read(m)) is not None}
        return {number: value for number, value in known.items() if value > 0}

    def side(self, metric: Metric, group: Hashable) -> Side:
        """Return the cell as one side of a pair."""
        return Side(self.figures(metric), group, {number: of_turns(metric, m) for number, m in self.seen.items()})


def cells(records: Iterable[Record], reference: str | None = None) -> dict[Key, Cell]:
    """All cells of a run; of records of one cell and round the last counts."""
    latest = newest_records(record for record in records if not is_trial(record.scenario))
    near = near_reference(latest, reference)
    found: dict[Key, Cell] = {}
    flags: dict[Key, list[list[Flag]]] = {}
    for record in latest:
        key = (record.entry, record.asked, record.tier)
        cell = found.setdefault(key, Cell())
        if record.measurement is not None:
            cell.seen[record.round] = record.measurement
            flags.setdefault(key, []).append(flags_of(record, record.measurement, near))
        if record.failure is not None:
            cell.failures[record.round] = record.failure.text
    for key, rounds in flags.items():
        found[key].limits = limits(rounds)
    lines = slopes(latest)
    highest = {scenario: tier for _, scenario, tier in sorted(found, key=lambda key: count(key[2]))}
    for (entry, scenario, tier), cell in found.items():
        if tier == highest[scenario] and holds(scenario.partition(" ")[0]) and cell.seen:
            cell.slopes = {number: line.kb for number, line in lines.get((entry, scenario), {}).items()}
    return found


def asked(metric: Metric, sides: tuple[Cell, Cell]) -> bool:
    """Whether it is a question for these cells: slopes need the highest tier, speed a host that is not emulated."""
    if metric is PER_CONNECTION:
        return any(cell.slopes is not None for cell in sides)
    seen = [m for cell in sides for m in cell.seen.values()]
    return metric.kind is Class.MEMORY or not seen or any(m.timed for m in seen)


def unfit(metric: Metric, names: tuple[str, str], sides: tuple[Cell, Cell]) -> str | None:
    """Why two cells cannot be compared in a metric; None when they can."""
    for name, cell in zip(names, sides, strict=True):
        if not cell.seen:
            return f"{name}: {next(iter(cell.failures.values()), 'not run')}"
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
