"""Peak memory over held connections, with the line fitted to each round. Pure."""

from __future__ import annotations

import altair as alt

from zoo.model.entry_id import server_of
from zoo.report.cells import Cells, variant
from zoo.report.charts.costs import unheld
from zoo.report.charts.encoding import Chart, coloured, named_points, plain_axis, shaped
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, short, slug
from zoo.report.charts.looks import KINDS
from zoo.report.formatting import format_interval


def groups(cells: Cells) -> list[Group]:
    """Memory against held connections, a figure a server."""
    groups = []
    for scenario in cells.scenarios:
        figures = []
        for name in cells.servers:
            data = _rows(cells, name, scenario)
            if not data:
                continue
            cost = ", ".join(f"{of} {text}" for of, text in _slopes(cells, name, scenario))
            title = f"Peak memory over held connections, {scenario}"
            said = f"{title}, {name}. Slope: {cost}."
            caption = f"{name} · {cost}"
            about = {"scenario": scenario, "server": name}
            figures.append(Figure(slug("held", scenario, name), title, caption, said, Drawing(HELD, data), about))
        if figures:
            groups.append(Group(f"{scenario}: the line of each round that this slope is taken from", figures))
    return groups


def _rows(cells: Cells, of_server: str, scenario: str) -> list[Datum]:
    """Peak resident memory against held connections, a point a tier and round, with the line fitted to each round."""
    made = []
    for entry in dict.fromkeys(key[0] for key in cells.found if server_of(key[0]) == of_server):
        for number, line in cells.lines(scenario, entry).items():
            made += [
                {
                    "entry": entry,
                    "kind": cells.kinds[entry],
                    "round": number,
                    "connections": point.connections,
                    "mb": short(point.kb / 1024),
                    "fit": short((line.rest_kb + line.kb * point.connections) / 1024),
                }
                for point in line.points
            ]
    return made


def _slopes(cells: Cells, of_server: str, scenario: str) -> list[tuple[str, str]]:
    """What a held connection costs, in words, for each entry of a server."""
    found = []
    for entry in cells.entries:
        if server_of(entry) != of_server:
            continue
        at = [row for row in cells.of_scenario(scenario) if row.entry == entry]
        if not at:
            continue
        known = next((row.kb_per_connection for row in at if row.kb_per_connection), None)
        if known is not None:
            found.append((variant(entry), f"{format_interval(known)} kB"))
        else:
            found.append((variant(entry), unheld(at)))
    return found


def points_and_lines() -> Chart:
    """Peak memory over held connections: a point a tier and round, and the line fitted to each round."""
    base = named_points().encode(
        x=alt.X("connections:Q", axis=plain_axis("held connections")),
        color=coloured("kind", KINDS),
        detail=["entry:N", "round:N"],
    )
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=alt.Y("fit:Q", axis=plain_axis("MB")))
    point = base.mark_point(size=40, filled=True).encode(
        y=alt.Y("mb:Q", axis=plain_axis("MB")),
        shape=shaped(),
        tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="peak RSS MB")],
    )
    return alt.layer(line, point)


HELD = Form("held", points_and_lines, 200)
