"""What a held connection costs every entry: a slope a round. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.held import slopes
from zoo.analysis.summary import Row
from zoo.model.record import Record
from zoo.report.cells import Cells
from zoo.report.charts.dots import dotted, estimate, told
from zoo.report.charts.figure import Datum, Figure, Group, slug


def groups(cells: Cells, records: Sequence[Record]) -> list[Group]:
    """What a held connection costs every entry, a figure a scenario."""
    groups = []
    for scenario in cells.scenarios:
        data = _rows(cells, records, scenario)
        if data:
            title, caption = f"What a held connection costs, {scenario}", "RSS per held connection, kB"
            said = f"{caption}, {scenario}: " + "; ".join(map(told, data))
            figure = Figure(
                slug("cost", scenario), title, caption, said, dotted(data, log=True), {"scenario": scenario}
            )
            groups.append(Group(f"{scenario}: what a held connection costs", [figure]))
    return groups


def _rows(cells: Cells, records: Sequence[Record], scenario: str) -> list[Datum]:
    """An entry a row: kB of resident memory per held connection, a slope a round; or why there is none."""
    found = slopes(records)
    made: list[Datum] = []
    for entry in cells.entries:
        rows = [row for (s, _, e), row in cells.rows.items() if (s, e) == (scenario, entry)]
        if rows:
            held = any(row.kb_per_connection for row in rows)
            values = [s.kb for s in found.get((entry, scenario), {}).values() if held and s.kb > 0]
            made.append(
                {
                    "entry": entry,
                    "place": len(made),
                    "kind": cells.kinds[entry],
                    **estimate(values),
                    "bound": False,
                    "note": "" if values else "no rise" if held else unheld(rows),
                    "flags": "none",
                }
            )
    return made if any(d["value"] is not None for d in made) else []


def unheld(rows: Sequence[Row]) -> str:
    pool = any(row.ceiling_rps is not None for row in rows)
    return "not held (pool)" if pool else "no slope (not every tier held)"
