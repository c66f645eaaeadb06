"""The cells of a run, with the names and titles that a page shows for them. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from zoo.core.entry_id import is_aa, server_name
from zoo.core.measurement import Measurement
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report.wording import format_tier
from zoo.stats.memory_per_request import Slope
from zoo.stats.summary import Cell, Key, Row, cells, rows

BARE = "bare reference"
"""The label that replaces the thread model for the entry that implements nothing but the protocol."""


@dataclass(frozen=True)
class Level:
    """One load of the run: a scenario at a connection count."""

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
    def load_model(self) -> str:
        return f"closed, c = {self.actual:,}{', emulated host' if self.emulated else ''}"

    @property
    def caption(self) -> str:
        """Return the caption, without the reason why connections were reduced, which a page gives once."""
        return f"{self.short_name} · {self.load_model}"

    @property
    def short_name(self) -> str:
        """Return the name with the actual connections if they were reduced: `hello 25k → 19,500`."""
        return self.name if self.actual == self.requested else f"{self.name} → {self.actual:,}"

    @property
    def title(self) -> str:
        return f"{self.scenario} {self.label} · {self.load_model}"


@dataclass(frozen=True)
class Cells:
    """The cells of a run with their rows; entries are in plan order, so that those of a server are next to each other.

    `twins` are second measurements of an entry (A/A). They are not subjects themselves, so they are kept separate.
    """

    by_key: Mapping[Key, Cell]
    rows: Mapping[Key, Row]
    entries: list[str]
    twins: list[str]
    kinds: dict[str, str]
    levels: list[Level]

    @classmethod
    def of(cls, run: Run, records: Sequence[Record], reference: str | None) -> Cells:
        by_key = cells(records, reference)
        rows_of = {(r.entry, r.scenario, r.tier): r for r in rows(by_key)}
        models = {record.entry: record.model for record in records}
        return cls(
            by_key=by_key,
            rows=rows_of,
            entries=[e for e in dict.fromkeys([*run.plan.entries, *models]) if e in models and not is_aa(e)],
            twins=[e for e in models if is_aa(e)],
            kinds={entry: BARE if entry == reference else model for entry, model in models.items()},
            levels=_list_levels(list(rows_of.values()), run.plan.scenarios),
        )

    def without_scenarios(self, scenarios: Container[str]) -> Cells:
        """Return the cells of the other scenarios."""
        by_key = {key: cell for key, cell in self.by_key.items() if cell.records[0].scenario not in scenarios}
        entries, loads = {key[0] for key in by_key}, {key[1:] for key in by_key}
        return replace(
            self,
            by_key=by_key,
            rows={key: row for key, row in self.rows.items() if key in by_key},
            entries=[e for e in self.entries if e in entries],
            twins=[e for e in self.twins if e in entries],
            levels=[level for level in self.levels if (level.scenario, level.tier) in loads],
        )

    @property
    def servers(self) -> list[str]:
        return list(dict.fromkeys(server_name(entry) for entry in self.entries))

    @property
    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(level.scenario for level in self.levels))

    @property
    def tiers(self) -> list[str]:
        """Return the names of the connection counts, lowest first."""
        return list(dict.fromkeys(level.tier for level in sorted(self.levels, key=lambda level: level.requested)))

    def describe_wait(self, scenario: str) -> str:
        """Return how long the requests of a scenario wait, in words."""
        delays = {row.delay_s for row in self.rows_of_scenario(scenario) if row.delay_s}
        if not delays:
            return "no wait"
        return f"every request waits {'up to ' if len(delays) > 1 else ''}{max(delays):g} s"

    def dash_pattern(self, level: Level) -> str:
        """Return the name of the dash pattern for the level's connection count."""
        return str(self.tiers.index(level.tier) % 4)

    def rows_at(self, level: Level, *, with_twins: bool = False) -> list[Row]:
        """Return the rows of a load in the order of the entries; `with_twins` includes second measurements (A/A)."""
        names = [*self.entries, *self.twins] if with_twins else self.entries
        keys = [(entry, level.scenario, level.tier) for entry in names]
        return [self.rows[key] for key in keys if key in self.rows]

    def rows_of_scenario(self, scenario: str) -> list[Row]:
        """Return the rows of a scenario, lowest connection count first."""
        return [row for row in self.rows.values() if row.scenario == scenario]

    def levels_of(self, scenario: str) -> list[Level]:
        """Return the loads of a scenario."""
        return [level for level in self.levels if level.scenario == scenario]

    def entries_of(self, server: str) -> list[str]:
        return [entry for entry in self.entries if server_name(entry) == server]

    def slopes_of(self, scenario: str, entry: str) -> Mapping[int, Slope]:
        """Return the slope of memory over the connection counts of a scenario, by round."""
        return next((cell.lines for key, cell in self.by_key.items() if key[:2] == (entry, scenario)), {})

    def measurements(self, level: Level, entry: str) -> list[tuple[int, Measurement]]:
        """Return the rounds and measurements of an entry at a load, ordered by round."""
        cell = self.by_key.get((entry, level.scenario, level.tier), Cell())
        return sorted(cell.measurements.items(), key=lambda seen: seen[0])


def variant_of(entry: str) -> str:
    return entry.partition(":")[2]


def _list_levels(measured: Sequence[Row], scenarios: Sequence[str]) -> list[Level]:
    """Return the loads in the order of the plan's scenarios, lowest connection count first."""
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for row in measured:
        groups.setdefault((row.scenario, row.requested, row.tier), []).append(row)
    order = {name: place for place, name in enumerate(scenarios)}
    levels = []
    for scenario, requested, tier in sorted(groups, key=lambda k: (order.get(k[0].partition(" ")[0], len(order)), k)):
        level_rows = groups[scenario, requested, tier]
        labels = list(dict.fromkeys(format_tier(r) for r in level_rows if r.measured)) or [tier]
        actual = next((r.actual for r in level_rows if r.actual is not None), requested)
        emulated = all(r.emulated for r in level_rows)
        levels.append(Level(scenario, tier, requested, actual, " / ".join(labels), emulated))
    return levels
