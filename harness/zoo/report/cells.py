"""A run's records by cell, with the names and titles that a page shows them under. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.analysis.summary import Row, rows
from zoo.model.entry_id import is_twin, server_of
from zoo.model.measurement import Measurement
from zoo.model.record import Record, newest_records
from zoo.model.run import Run
from zoo.report.text.wording import tier_label

BARE = "bare reference"
"""Stands for the model of the entry that is nothing but the protocol."""

Key = tuple[str, str, str]
"""Scenario, tier, entry."""


@dataclass(frozen=True)
class Level:
    """One load of the run: a scenario at a tier."""

    scenario: str
    tier: str
    requested: int
    actual: int
    label: str
    emulated: bool = False

    @property
    def name(self) -> str:
        return f"{self.scenario} {self.tier}"

    @property
    def model(self) -> str:
        return f"closed, c = {self.actual:,}{', emulated host' if self.emulated else ''}"

    @property
    def caption(self) -> str:
        """Without the reason why a tier was cut, which a page tells once."""
        return f"{self.short} · {self.model}"

    @property
    def short(self) -> str:
        """`hello 25k → 19,500`"""
        return self.name if self.actual == self.requested else f"{self.name} → {self.actual:,}"

    @property
    def title(self) -> str:
        return f"{self.scenario} {self.label} · {self.model}"


@dataclass(frozen=True)
class Cells:
    """Rows and measurements by cell; entries in the order of the plan, so that those of a server stand together.

    `twins` are second measurements of an entry (A/A): no subject of their own, so they are kept apart.
    """

    rows: dict[Key, Row]
    measured: dict[Key, list[tuple[int, Measurement]]]
    entries: list[str]
    twins: list[str]
    kinds: dict[str, str]
    levels: list[Level]

    @classmethod
    def of(cls, run: Run, records: Sequence[Record], reference: str | None) -> Cells:
        found = {(r.scenario, r.tier, r.entry): r for r in rows(records, reference)}
        measured: dict[Key, list[tuple[int, Measurement]]] = {}
        for record in sorted(newest_records(records), key=lambda r: r.round):
            if record.measurement is not None:
                key = (record.asked, record.tier, record.entry)
                measured.setdefault(key, []).append((record.round, record.measurement))
        models = {record.entry: record.model for record in records}
        return cls(
            rows=found,
            measured=measured,
            entries=[e for e in dict.fromkeys([*run.plan.entries, *models]) if e in models and not is_twin(e)],
            twins=[e for e in models if is_twin(e)],
            kinds={entry: BARE if entry == reference else model for entry, model in models.items()},
            levels=_levels(list(found.values()), run.plan.scenarios),
        )

    @property
    def servers(self) -> list[str]:
        return list(dict.fromkeys(server_of(entry) for entry in self.entries))

    @property
    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(level.scenario for level in self.levels))

    @property
    def tiers(self) -> list[str]:
        """Names, from the lowest."""
        return list(dict.fromkeys(level.tier for level in sorted(self.levels, key=lambda level: level.requested)))

    def wait(self, scenario: str) -> str:
        """What the scenario asks of a server beside an answer, in words."""
        delays = {row.delay_s for (of, _, _), row in self.rows.items() if of == scenario and row.delay_s}
        if not delays:
            return "no wait"
        return f"every request waits {'up to ' if len(delays) > 1 else ''}{max(delays):g} s"

    def dash(self, level: Level) -> str:
        """Names the pattern of its tier's lines."""
        return str(self.tiers.index(level.tier) % 4)

    def at(self, level: Level, *, again: bool = False) -> list[Row]:
        """The rows of a load, in the order of the entries; with those of A/A when asked for."""
        names = [*self.entries, *self.twins] if again else self.entries
        keys = [(level.scenario, level.tier, entry) for entry in names]
        return [self.rows[key] for key in keys if key in self.rows]


def variant(entry: str) -> str:
    return entry.partition(":")[2]


def _levels(found: Sequence[Row], scenarios: Sequence[str]) -> list[Level]:
    """In the order of the plan's scenarios, tiers rising."""
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for row in found:
        groups.setdefault((row.scenario, row.requested, row.tier), []).append(row)
    order = {name: place for place, name in enumerate(scenarios)}
    made = []
    for scenario, requested, tier in sorted(groups, key=lambda k: (order.get(k[0].partition(" ")[0], len(order)), k)):
        at = groups[scenario, requested, tier]
        labels = list(dict.fromkeys(tier_label(r) for r in at if r.measured)) or [tier]
        actual = next((r.actual for r in at if r.actual is not None), requested)
        emulated = all(r.emulated for r in at)
        made.append(Level(scenario, tier, requested, actual, " / ".join(labels), emulated))
    return made
