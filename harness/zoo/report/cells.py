"""A run's cells with the names and titles that a page shows them under. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from zoo.analysis.held import Slope
from zoo.analysis.summary import Cell, Key, Row, cells, rows
from zoo.model.entry_id import is_twin, server_of
from zoo.model.measurement import Measurement
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.report.text.wording import tier_label

BARE = "bare reference"
"""Stands for the model of the entry that is nothing but the protocol."""


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
    """Cells, each with its row; entries in the order of the plan, so that those of a server stand together.

    `twins` are second measurements of an entry (A/A): no subject of their own, so they are kept apart.
    """

    found: Mapping[Key, Cell]
    rows: Mapping[Key, Row]
    entries: list[str]
    twins: list[str]
    kinds: dict[str, str]
    levels: list[Level]

    @classmethod
    def of(cls, run: Run, records: Sequence[Record], reference: str | None) -> Cells:
        found = cells(records, reference)
        rows_of = {(r.entry, r.scenario, r.tier): r for r in rows(found)}
        models = {record.entry: record.model for record in records}
        return cls(
            found=found,
            rows=rows_of,
            entries=[e for e in dict.fromkeys([*run.plan.entries, *models]) if e in models and not is_twin(e)],
            twins=[e for e in models if is_twin(e)],
            kinds={entry: BARE if entry == reference else model for entry, model in models.items()},
            levels=_levels(list(rows_of.values()), run.plan.scenarios),
        )

    def without(self, scenarios: Container[str]) -> Cells:
        """Return the cells of the other scenarios."""
        found = {key: cell for key, cell in self.found.items() if cell.records[0].scenario not in scenarios}
        entries, loads = {key[0] for key in found}, {key[1:] for key in found}
        return replace(
            self,
            found=found,
            rows={key: row for key, row in self.rows.items() if key in found},
            entries=[e for e in self.entries if e in entries],
            twins=[e for e in self.twins if e in entries],
            levels=[level for level in self.levels if (level.scenario, level.tier) in loads],
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
        delays = {row.delay_s for row in self.of_scenario(scenario) if row.delay_s}
        if not delays:
            return "no wait"
        return f"every request waits {'up to ' if len(delays) > 1 else ''}{max(delays):g} s"

    def dash(self, level: Level) -> str:
        """Names the pattern of its tier's lines."""
        return str(self.tiers.index(level.tier) % 4)

    def at(self, level: Level, *, again: bool = False) -> list[Row]:
        """The rows of a load, in the order of the entries; with those of A/A when asked for."""
        names = [*self.entries, *self.twins] if again else self.entries
        keys = [(entry, level.scenario, level.tier) for entry in names]
        return [self.rows[key] for key in keys if key in self.rows]

    def of_scenario(self, scenario: str) -> list[Row]:
        """Return the rows of a scenario, lowest tier first."""
        return [row for row in self.rows.values() if row.scenario == scenario]

    def levels_of(self, scenario: str) -> list[Level]:
        """Return the loads of a scenario."""
        return [level for level in self.levels if level.scenario == scenario]

    def entries_of(self, server: str) -> list[str]:
        return [entry for entry in self.entries if server_of(entry) == server]

    def lines(self, scenario: str, entry: str) -> Mapping[int, Slope]:
        """Return memory over the connection counts of a scenario, by round."""
        return next((cell.lines for key, cell in self.found.items() if key[:2] == (entry, scenario)), {})

    def measured(self, level: Level, entry: str) -> list[tuple[int, Measurement]]:
        """Return the measurements of an entry at a load with their rounds, in order."""
        cell = self.found.get((entry, level.scenario, level.tier), Cell())
        return sorted(cell.seen.items(), key=lambda seen: seen[0])


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
