"""Requests a second in each window of warm-up, a line a round. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt

from zoo.analysis.metrics import first_share
from zoo.analysis.summary import spread
from zoo.model.entry_id import server_of
from zoo.model.record import Record
from zoo.report.cells import Cells, variant
from zoo.report.charts.figure import ChartPart, Datum, Drawing, Figure, Form, Group, short, slug
from zoo.report.charts.looks import KINDS, Chart, named_points, plain_axis
from zoo.report.formatting import format_spread
from zoo.report.section import Table


def _groups(cells: Cells, records: Sequence[Record]) -> list[Group]:
    """Requests a second over the windows of warm-up, a figure an entry."""
    figures = []
    for entry in cells.entries:
        data = _rows(records, entry)
        if data:
            settled = {d["round"]: d["settled"] for d in data}
            caption = f"{entry} · settled in {sum(settled.values())} of {len(settled)} rounds"
            title = "Requests a second in each window of warm-up"
            drawn = Drawing(WARMUP, data, {"hue": KINDS[cells.kinds[entry]][0]})
            about = {"server": server_of(entry), "variant": variant(entry)}
            figures.append(Figure(slug("warmup", entry), title, caption, f"{title}, {caption}.", drawn, about))
    return [Group("", figures)] if figures else []


def _rows(records: Iterable[Record], entry: str) -> list[Datum]:
    """The windows of load before the first measured cell of each round, where warm-up waits until it is steady."""
    made: dict[tuple[int, int], Datum] = {}
    for record in records:
        seen = record.measurement
        if record.entry != entry or seen is None or seen.warmup.reached is None or record.case:
            continue
        for window, rps in enumerate(seen.warmup.window_rps, start=1):
            made.setdefault(
                (record.round, window),
                {"round": record.round, "window": window, "rps": short(rps), "settled": seen.warmup.reached},
            )
    return list(made.values())


def _windows() -> Chart:
    """Requests a second of each warm-up window, a line a round; hollow marks where it did not settle."""
    hue = alt.ExprRef("hue")
    base = named_points().encode(
        x=alt.X("window:O", title=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("rps:Q", scale=alt.Scale(zero=False), axis=plain_axis("req/s")),
        detail="round:N",
        tooltip=["round:N", "window:O", alt.Tooltip("rps:Q", title="req/s"), "settled:N"],
    )
    line = base.mark_line(strokeWidth=1.5, opacity=0.6, color=hue)
    point = base.mark_point(size=35, fill=hue, stroke=hue).encode(
        fillOpacity=alt.when("datum.settled").then(alt.value(1)).otherwise(alt.value(0))
    )
    return alt.layer(line, point)


def _first_turns(cells: Cells) -> list[Table]:
    """A row a server variant, a column a load: whether the first turn was as fast as the others."""
    found = {key: spread(map(first_share, cell.seen.values())) for key, cell in cells.found.items()}
    levels = [
        level for level in cells.levels if any(s and k[1:] == (level.scenario, level.tier) for k, s in found.items())
    ]
    body = [
        [entry, *(format_spread(found.get((entry, level.scenario, level.tier))) for level in levels)]
        for entry in cells.entries
    ]
    table = Table(
        "First turn ÷ mean of the others, requests a second", ["entry", *(level.short for level in levels)], body
    )
    return [table] if levels else []


WARMUP = Form("warmup", _windows, 110)

PART = ChartPart(
    "warmup",
    "Warm-up",
    "Warm-up",
    "Load goes on in windows until throughput is steady or the time is up. A line a round; hollow marks: it "
    "had not settled. A server is loaded in turns; a first turn below the others was not warm yet.",
    lambda drawn: _groups(drawn.cells, drawn.records),
    _first_turns,
)
