"""Memory: resident memory over the window, and peak memory over held connections. Pure."""

from __future__ import annotations

from itertools import zip_longest

import altair as alt
import numpy as np
from numpy.typing import NDArray

from zoo.model.entry_id import server_of
from zoo.model.samples import Samples
from zoo.report.cells import Cells, Level, variant
from zoo.report.charts import looks
from zoo.report.charts.dots import costs, no_slope
from zoo.report.charts.figure import (
    IN_TABLE,
    ChartPart,
    Datum,
    Drawing,
    Figure,
    Form,
    Group,
    by_scenario,
    logarithmic,
    short,
    slug,
)
from zoo.report.formatting import format_interval
from zoo.report.raw_files import RawFiles

BINS = 25

TOGETHER = 2.0
"""Lines that end within this factor share one label."""

Floats = NDArray[np.float64]


def _over_time(cells: Cells, evidence: RawFiles) -> list[Group]:
    """Resident memory over time, a figure an entry, a group a scenario with one scale for all."""
    groups = []
    for scenario in cells.scenarios:
        data = {entry: _bands(cells, evidence, scenario, entry) for entry in cells.entries}
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
                logarithmic(MEMORY, rows, span, hue=looks.KINDS[cells.kinds[entry]][0]),
                {"scenario": scenario, "server": server_of(entry), "variant": variant(entry)},
            )
            for entry, rows in data.items()
            if rows
        ]
        waits = any(row.delay_s for row in cells.of_scenario(scenario))
        groups.append(Group(f"{scenario}: resident memory over the window", figures, folded=not waits))
    return groups


def _bands(cells: Cells, evidence: RawFiles, scenario: str, entry: str) -> list[Datum]:
    """Resident memory over the seconds of the window: median, lowest and highest round, for each tier."""
    bands = [band for level in cells.levels_of(scenario) if (band := _band(cells, evidence, level, entry))]
    names: list[str] = []
    for band, above in zip_longest(bands, bands[1:]):
        names.append(band[0]["tier"])
        if above is None or above[-1]["mb"] > TOGETHER * band[-1]["mb"]:
            band[-1]["name"] = ", ".join(names)
            names = []
    return [d for band in bands for d in band]


def _band(cells: Cells, evidence: RawFiles, level: Level, entry: str) -> list[Datum]:
    found = [evidence.samples.get(m.sampling.samples) for _, m in cells.measured(level, entry)]
    rounds: list[Samples] = [samples for samples in found if samples is not None and samples.rss_kb]
    if not rounds:
        return []
    times = np.linspace(0.0, min(samples.t[-1] for samples in rounds), BINS)
    mb: Floats = np.stack([np.interp(times, samples.t, samples.rss_kb) for samples in rounds]) / 1024
    middle, low, high = np.median(mb, axis=0), mb.min(axis=0), mb.max(axis=0)
    return [
        {
            "tier": level.tier,
            "dash": cells.dash(level),
            "s": round(float(times[i]), 1),
            "mb": short(float(middle[i])),
            "low": short(float(low[i])),
            "high": short(float(high[i])),
            "name": "",
        }
        for i in range(BINS)
    ]


def _band_and_line() -> looks.Chart:
    """Resident memory over the seconds of the window, a line a tier with the range of the rounds."""
    base = looks.named_points().encode(
        x=alt.X("s:Q", title="s", axis=alt.Axis(tickCount=4, grid=False)), detail="tier:N"
    )
    scale, axis = looks.log_scale(), looks.log_axis("MB")
    hue = alt.ExprRef("hue")
    band = base.mark_area(opacity=0.2, color=hue).encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q")
    line = base.mark_line(strokeWidth=2, color=hue).encode(
        y=alt.Y("mb:Q", scale=scale, axis=axis),
        strokeDash=looks.scaled(alt.StrokeDash, "dash", looks.DASHES),
        tooltip=["tier:N", alt.Tooltip("s:Q", title="s"), alt.Tooltip("mb:Q", title="MB")],
    )
    name = base.transform_filter("datum.name != ''").mark_text(align="right", dy=-7, fontSize=11)
    return alt.layer(band, line, name.encode(y=alt.Y("mb:Q", scale=scale, axis=axis), text="name:N"))


MEMORY = Form("memory", _band_and_line, 130)


def slopes(cells: Cells) -> list[Group]:
    """Peak memory against held connections with the line fitted to each round, a figure for each server."""

    def figures(scenario: str) -> list[Figure]:
        made = []
        for name in cells.servers:
            data = _slope_rows(cells, name, scenario)
            if not data:
                continue
            cost = ", ".join(_slopes(cells, name, scenario))
            title = f"Peak memory over held connections, {scenario}"
            said = f"{title}, {name}. Slope: {cost}."
            about = {"scenario": scenario, "server": name}
            drawing = Drawing(HELD, data)
            made.append(Figure(slug("held", scenario, name), title, f"{name} · {cost}", said, drawing, about))
        return made

    return by_scenario(cells, figures, "{}: the line of each round that this slope is taken from")


def _slope_rows(cells: Cells, server: str, scenario: str) -> list[Datum]:
    """Peak resident memory against held connections, a point a tier and round, with the line fitted to each round."""
    return [
        {
            "entry": entry,
            "kind": cells.kinds[entry],
            "round": number,
            "connections": point.connections,
            "mb": short(point.kb / 1024),
            "fit": short((line.rest_kb + line.kb * point.connections) / 1024),
        }
        for entry in dict.fromkeys(key[0] for key in cells.found if server_of(key[0]) == server)
        for number, line in cells.lines(scenario, entry).items()
        for point in line.points
    ]


def _slopes(cells: Cells, server: str, scenario: str) -> list[str]:
    """`virtual 12.3 [12.1, 12.5] kB` for each entry of a server."""
    found = []
    for entry in cells.entries_of(server):
        at = [row for row in cells.of_scenario(scenario) if row.entry == entry]
        if at:
            known = next((row.kb_per_connection for row in at if row.kb_per_connection), None)
            found.append(f"{variant(entry)} {f'{format_interval(known)} kB' if known else no_slope(at)}")
    return found


def _points_and_lines() -> looks.Chart:
    """Peak memory over held connections: a point a tier and round, and the line fitted to each round."""
    base = looks.named_points().encode(
        x=alt.X("connections:Q", axis=looks.plain_axis("held connections")),
        color=looks.coloured("kind", looks.KINDS),
        detail=["entry:N", "round:N"],
    )
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=alt.Y("fit:Q", axis=looks.plain_axis("MB")))
    point = base.mark_point(size=40, filled=True).encode(
        y=alt.Y("mb:Q", axis=looks.plain_axis("MB")),
        shape=looks.shaped(),
        tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="peak RSS MB")],
    )
    return alt.layer(line, point)


HELD = Form("held", _points_and_lines, 200)

PART = ChartPart(
    "memory",
    "Memory",
    "Memory",
    "Resident memory of the server (RSS), sampled several times a second: median of the rounds and "
    "their range. Memory of the kernel's sockets is not in it.",
    lambda drawn: [*costs(drawn.cells), *slopes(drawn.cells), *_over_time(drawn.cells, drawn.evidence)],
)
