"""Requests per second in each warm-up window, with one line per round. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt

from zoo.core.entry_id import server_name
from zoo.core.record import Record
from zoo.report.cells import Cells, variant_of
from zoo.report.charts.figure import ChartPart, Datum, Drawing, Figure, Form, Group, round_figure, slug
from zoo.report.charts.looks import MODEL_STYLES, Chart, base_chart, plain_axis
from zoo.report.formatting import format_spread
from zoo.report.section import Table
from zoo.stats.metrics import first_window_share
from zoo.stats.summary import spread


def _draw_warmup(cells: Cells, records: Sequence[Record]) -> list[Group]:
    """Draw requests per second over the warm-up windows, with a figure for each entry."""
    figures = []
    for entry in cells.entries:
        data = _window_rows(records, entry)
        if data:
            settled = {d["round"]: d["settled"] for d in data}
            caption = f"{entry} · settled in {sum(settled.values())} of {len(settled)} rounds"
            title = "Requests per second in each window of warm-up"
            drawing = Drawing(WARMUP, data, {"hue": MODEL_STYLES[cells.kinds[entry]][0]})
            about = {"server": server_name(entry), "variant": variant_of(entry)}
            figures.append(Figure(slug("warmup", entry), title, caption, f"{title}, {caption}.", drawing, about))
    return [Group("", figures)] if figures else []


def _window_rows(records: Iterable[Record], entry: str) -> list[Datum]:
    """Return the warm-up windows before each round's first measured cell; a warm-up of fixed length has none."""
    rows: dict[tuple[int, int], Datum] = {}
    for record in records:
        measurement = record.measurement
        if record.entry != entry or measurement is None or measurement.warmup.reached is None or record.case:
            continue
        for window, rps in enumerate(measurement.warmup.window_rps, start=1):
            rows.setdefault(
                (record.round, window),
                {
                    "round": record.round,
                    "window": window,
                    "rps": round_figure(rps),
                    "settled": measurement.warmup.reached,
                },
            )
    return list(rows.values())


def _window_chart() -> Chart:
    """Return a chart with one line per round over the warm-up windows; marks are hollow if it did not settle."""
    hue = alt.ExprRef("hue")
    base = base_chart().encode(
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


def _first_window_tables(cells: Cells) -> list[Table]:
    """Return a table that shows whether the first window was as fast as the others, by server variant and load."""
    spreads = {key: spread(map(first_window_share, cell.measurements.values())) for key, cell in cells.by_key.items()}
    levels = [
        level for level in cells.levels if any(s and k[1:] == (level.scenario, level.tier) for k, s in spreads.items())
    ]
    body = [
        [entry, *(format_spread(spreads.get((entry, level.scenario, level.tier))) for level in levels)]
        for entry in cells.entries
    ]
    table = Table(
        "First window ÷ mean of the others, requests per second",
        ["entry", *(level.short_name for level in levels)],
        body,
    )
    return [table] if levels else []


WARMUP = Form("warmup", _window_chart, 110)

PART = ChartPart(
    "warmup",
    "Warm-up",
    "Warm-up",
    "Load continues in windows until throughput is steady or the time is up. One line per round; a "
    "hollow mark means that throughput had not settled. A server is measured in alternating windows; "
    "a first window below the others was not warm yet.",
    lambda drawn: _draw_warmup(drawn.cells, drawn.records),
    _first_window_tables,
)
