"""Memory: resident memory over the window, and peak memory over held connections. Pure."""

from __future__ import annotations

from itertools import zip_longest

import altair as alt
import numpy as np
from numpy.typing import NDArray

from zoo.core.entry_id import server_name
from zoo.core.samples import Samples
from zoo.report.cells import Cells, Level, variant_of
from zoo.report.charts import looks
from zoo.report.charts.dots import draw_costs, explain_missing_slope
from zoo.report.charts.figure import (
    IN_TABLE,
    ChartPart,
    Datum,
    Drawing,
    Figure,
    Form,
    Group,
    draw_on_log_axis,
    group_by_scenario,
    round_figure,
    slug,
)
from zoo.report.formatting import format_interval
from zoo.report.raw_files import RawFiles

BINS = 25

SHARED_LABEL = 2.0
"""Lines that end within this factor share one label."""

Floats = NDArray[np.float64]


def _draw_over_time(cells: Cells, evidence: RawFiles) -> list[Group]:
    """Draw resident memory over time: a figure per entry, a group per scenario, one scale within a group."""
    groups = []
    for scenario in cells.scenarios:
        data = {entry: _band_rows(cells, evidence, scenario, entry) for entry in cells.entries}
        known = [d for rows in data.values() for d in rows]
        if not known:
            continue
        span = [min(d["low"] for d in known), max(d["high"] for d in known)]
        figures = [
            Figure(
                slug("memory", scenario, entry),
                f"Resident memory over the window, MB, {scenario}",
                entry,
                f"Resident memory in MB over the seconds of the window, {entry}, {scenario}. Peaks: {IN_TABLE}",
                draw_on_log_axis(MEMORY, rows, span, hue=looks.MODEL_STYLES[cells.kinds[entry]][0]),
                {"scenario": scenario, "server": server_name(entry), "variant": variant_of(entry)},
            )
            for entry, rows in data.items()
            if rows
        ]
        waits = any(row.delay_s for row in cells.rows_of_scenario(scenario))
        groups.append(Group(f"{scenario}: resident memory over the window", figures, folded=not waits))
    return groups


def _band_rows(cells: Cells, evidence: RawFiles, scenario: str, entry: str) -> list[Datum]:
    """Return resident memory over the seconds of the window, for each connection count.

    Each row has the median, the lowest and the highest round.
    """
    bands = [band for level in cells.levels_of(scenario) if (band := _level_band(cells, evidence, level, entry))]
    names: list[str] = []
    for band, above in zip_longest(bands, bands[1:]):
        names.append(band[0]["tier"])
        if above is None or above[-1]["mb"] > SHARED_LABEL * band[-1]["mb"]:
            band[-1]["name"] = ", ".join(names)
            names = []
    return [d for band in bands for d in band]


def _level_band(cells: Cells, evidence: RawFiles, level: Level, entry: str) -> list[Datum]:
    sampled = [evidence.samples.get(m.sampling.samples) for _, m in cells.measurements(level, entry)]
    rounds: list[Samples] = [samples for samples in sampled if samples is not None and samples.rss_kb]
    if not rounds:
        return []
    times = np.linspace(0.0, min(samples.t[-1] for samples in rounds), BINS)
    mb: Floats = np.stack([np.interp(times, samples.t, samples.rss_kb) for samples in rounds]) / 1024
    middle, low, high = np.median(mb, axis=0), mb.min(axis=0), mb.max(axis=0)
    return [
        {
            "tier": level.tier,
            "dash": cells.dash_pattern(level),
            "s": round(float(times[i]), 1),
            "mb": round_figure(float(middle[i])),
            "low": round_figure(float(low[i])),
            "high": round_figure(float(high[i])),
            "name": "",
        }
        for i in range(BINS)
    ]


def _band_chart() -> looks.Chart:
    """Return a chart of resident memory over the seconds of the window.

    Each connection count has a line, with the range of the rounds as a band.
    """
    base = looks.base_chart().encode(x=alt.X("s:Q", title="s", axis=alt.Axis(tickCount=4, grid=False)), detail="tier:N")
    scale, axis = looks.log_scale(), looks.log_axis("MB")
    hue = alt.ExprRef("hue")
    band = base.mark_area(opacity=0.2, color=hue).encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q")
    line = base.mark_line(strokeWidth=2, color=hue).encode(
        y=alt.Y("mb:Q", scale=scale, axis=axis),
        strokeDash=looks.scaled_encoding(alt.StrokeDash, "dash", looks.DASHES),
        tooltip=["tier:N", alt.Tooltip("s:Q", title="s"), alt.Tooltip("mb:Q", title="MB")],
    )
    name = base.transform_filter("datum.name != ''").mark_text(align="right", dy=-7, fontSize=11)
    return alt.layer(band, line, name.encode(y=alt.Y("mb:Q", scale=scale, axis=axis), text="name:N"))


MEMORY = Form("memory", _band_chart, 130)


def draw_slopes(cells: Cells) -> list[Group]:
    """Draw peak memory over held connections and the line fitted to each round, with a figure for each server."""

    def figures(scenario: str) -> list[Figure]:
        charts = []
        for name in cells.servers:
            data = _slope_rows(cells, name, scenario)
            if not data:
                continue
            cost = ", ".join(_format_slopes(cells, name, scenario))
            title = f"Peak memory by waiting requests, {scenario}"
            description = f"{title}, {name}. Slope: {cost}."
            about = {"scenario": scenario, "server": name}
            drawing = Drawing(SLOPES, data)
            charts.append(Figure(slug("held", scenario, name), title, f"{name} · {cost}", description, drawing, about))
        return charts

    return group_by_scenario(cells, figures, "{}: the line of each round whose slope this is")


def _slope_rows(cells: Cells, server: str, scenario: str) -> list[Datum]:
    """Return peak resident memory over held connections, with the line fitted to each round.

    There is one row per entry, round and connection count.
    """
    return [
        {
            "entry": entry,
            "kind": cells.kinds[entry],
            "round": number,
            "connections": point.connections,
            "mb": round_figure(point.kb / 1024),
            "fit": round_figure((line.rest_kb + line.kb * point.connections) / 1024),
        }
        for entry in dict.fromkeys(key[0] for key in cells.by_key if server_name(key[0]) == server)
        for number, line in cells.slopes_of(scenario, entry).items()
        for point in line.points
    ]


def _format_slopes(cells: Cells, server: str, scenario: str) -> list[str]:
    """Return the memory slope of each entry of a server as text: `virtual 12.3 [12.1, 12.5] kB`."""
    texts = []
    for entry in cells.entries_of(server):
        rows = [row for row in cells.rows_of_scenario(scenario) if row.entry == entry]
        if rows:
            cost = next((row.kb_per_connection for row in rows if row.kb_per_connection), None)
            texts.append(
                f"{variant_of(entry)} {f'{format_interval(cost)} kB' if cost else explain_missing_slope(rows)}"
            )
    return texts


def _slope_chart() -> looks.Chart:
    """Return a chart of peak memory over held connections.

    Each round has a point per connection count, and the line fitted to them.
    """
    base = looks.base_chart().encode(
        x=alt.X("connections:Q", axis=looks.plain_axis("waiting requests")),
        color=looks.colour_encoding("kind", looks.MODEL_STYLES),
        detail=["entry:N", "round:N"],
    )
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=alt.Y("fit:Q", axis=looks.plain_axis("MB")))
    point = base.mark_point(size=40, filled=True).encode(
        y=alt.Y("mb:Q", axis=looks.plain_axis("MB")),
        shape=looks.shape_encoding(),
        tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="peak RSS MB")],
    )
    return alt.layer(line, point)


SLOPES = Form("held", _slope_chart, 200)

PART = ChartPart(
    "memory",
    "Memory",
    "Memory",
    "Resident memory of the server (RSS), sampled several times per second: median of the rounds and "
    "their range. It excludes the memory of the kernel's sockets.",
    lambda drawn: [*draw_costs(drawn.cells), *draw_slopes(drawn.cells), *_draw_over_time(drawn.cells, drawn.raw_files)],
)
