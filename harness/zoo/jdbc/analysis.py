"""Records → medians over rounds, and what bounded them. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from zoo.jdbc.records import Cell, CellRecord, FloodRecord, Measurement

NEAR_BOUND = 0.85
"""A figure above this share of its bound was limited by it."""


@dataclass(frozen=True)
class Row:
    """A cell over its rounds; failures by round too."""

    cell: Cell
    rounds: dict[int, Measurement]
    failures: dict[int, str]

    def values(self, field: str) -> list[float]:
        """One figure of every round that knows it."""
        found = (getattr(m, field) for m in self.rounds.values())
        return [float(value) for value in found if value is not None]

    def median(self, field: str) -> float | None:
        values = self.values(field)
        return statistics.median(values) if values else None

    @property
    def at_bound(self) -> bool:
        """True when pool or threads ÷ latency was what limited it, in most rounds."""
        near = [m.ops_per_s >= NEAR_BOUND * m.bound_ops_per_s for m in self.rounds.values() if m.bound_ops_per_s]
        return bool(near) and sum(near) * 2 > len(near)


def rows(records: Iterable[CellRecord | FloodRecord]) -> dict[Cell, Row]:
    """Every cell's row, in the order first measured; a later record of the same round replaces the earlier one."""
    found: dict[Cell, dict[int, CellRecord]] = {}
    for record in records:
        if isinstance(record, CellRecord):
            found.setdefault(record.cell, {})[record.round] = record
    return {
        cell: Row(
            cell,
            {n: r.measurement for n, r in sorted(by_round.items()) if r.measurement},
            {n: r.failure.text for n, r in sorted(by_round.items()) if r.failure},
        )
        for cell, by_round in found.items()
    }


def last_floods(records: Iterable[CellRecord | FloodRecord]) -> Sequence[FloodRecord]:
    """The last record of every flood, from the fewest tasks."""
    latest = {r.flood: r for r in records if isinstance(r, FloodRecord)}
    return sorted(latest.values(), key=lambda r: (r.flood.tasks, r.flood.executor))
