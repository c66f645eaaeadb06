"""What a held connection costs every entry: a slope a round. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.stats.interval import Interval
from zoo.analysis.summary import Row
from zoo.report.cells import Cells
from zoo.report.charts.dots import dot, dotted, told
from zoo.report.charts.figure import Datum, Figure, Group, slug
from zoo.report.columns import title_of


def groups(cells: Cells) -> list[Group]:
    """What a held connection costs every entry, a figure a scenario."""
    groups = []
    for scenario in cells.scenarios:
        data = _rows(cells, scenario)
        if data:
            title, caption = f"Memory per waiting request, {scenario}", title_of("kb_per_request")
            said = f"{caption}, {scenario}: " + "; ".join(map(told, data))
            figure = Figure(
                slug("cost", scenario), title, caption, said, dotted(data, log=True), {"scenario": scenario}
            )
            groups.append(Group(f"{scenario}: memory per waiting request", [figure]))
    return groups


def _rows(cells: Cells, scenario: str) -> list[Datum]:
    """An entry a row: kB of resident memory per held connection, a slope a round; or why there is none."""
    made: list[Datum] = []
    for entry in cells.entries:
        rows = [row for row in cells.of_scenario(scenario) if row.entry == entry]
        if rows:
            mean = next((row.kb_per_connection for row in rows if row.kb_per_connection), None)
            made.append(
                {
                    "entry": entry,
                    "place": len(made),
                    "kind": cells.kinds[entry],
                    **_dot(mean, [line.kb for line in cells.lines(scenario, entry).values()]),
                    "bound": False,
                    "note": unheld(rows) if mean is None else "" if mean.value > 0 else "no rise",
                    "flags": "none",
                }
            )
    return made if any(d["value"] is not None for d in made) else []


def _dot(mean: Interval | None, rounds: Sequence[float]) -> Datum:
    """Return the mean with its interval, or nothing where memory did not rise.

    The logarithmic axis has no 0.
    """
    if mean is None or mean.value <= 0:
        return dot(None, None, None, [])
    low = None if mean.low is None else max(mean.low, 1e-3)
    return dot(mean.value, low, mean.high, [kb for kb in rounds if kb > 0])


def unheld(rows: Sequence[Row]) -> str:
    pool = any(row.ceiling_rps is not None for row in rows)
    return "not held (pool)" if pool else "no slope (not every tier held)"
