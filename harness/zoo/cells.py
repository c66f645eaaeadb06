"""Cells of a run ready to be compared: an entry in a scenario and tier, by round. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from zoo.metrics import PER_CONNECTION, READ, Class, Metric, held_slopes, near_reference, requested
from zoo.records import LOWER_BOUND, Flag, Measurement, Record
from zoo.scenario import holds, is_trial
from zoo.verdicts import spoiled

Key = tuple[str, str, str]
"""Entry, scenario, tier."""


@dataclass
class Cell:
    """What each round gave; `slopes` are kB per held connection, at the highest tier of a scenario that waits.

    `limits`: what made a throughput a lower bound in any round. Near the reference it must be in half of them: that
    depends on the luck of another cell, and a long run would meet it sooner or later.
    """

    seen: dict[int, Measurement] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)
    limits: set[Flag] = field(default_factory=set)
    slopes: Mapping[int, float] | None = None

    def figures(self, metric: Metric) -> Mapping[int, float]:
        """A metric by round, where it was seen and is above 0."""
        if metric is PER_CONNECTION:
            known = dict(self.slopes or {})
        else:
            read = READ[metric]
            known = {number: value for number, m in self.seen.items() if (value := read(m)) is not None}
        return {number: value for number, value in known.items() if value > 0}


def cells(records: Iterable[Record], reference: str | None = None) -> dict[Key, Cell]:
    """All cells of a run; of records of one cell and round the last counts."""
    latest = list({record.key: record for record in records if not is_trial(record.scenario)}.values())
    near = near_reference(latest, reference)
    found: dict[Key, Cell] = {}
    for record in latest:
        cell = found.setdefault((record.entry, record.asked, record.tier), Cell())
        if record.measurement is not None:
            cell.seen[record.round] = record.measurement
            cell.limits |= LOWER_BOUND & set(record.measurement.flags)
        if record.failure is not None:
            cell.failures[record.round] = record.failure.text
    for key, cell in found.items():
        if 2 * sum((*key, number) in near for number in cell.seen) >= len(cell.seen) > 0:
            cell.limits.add(Flag.NEAR_REFERENCE)
    slopes = held_slopes(latest)
    highest = {scenario: tier for _, scenario, tier in sorted(found, key=lambda key: requested(key[2]))}
    for (entry, scenario, tier), cell in found.items():
        if tier == highest[scenario] and holds(scenario.partition(" ")[0]) and cell.seen:
            cell.slopes = slopes.get((entry, scenario), {})
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
    return None
