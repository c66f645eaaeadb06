"""Resident memory over the window, and what held connections cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import altair as alt
import numpy as np
from numpy.typing import NDArray

from zoo.model.entry_id import server_of
from zoo.model.measurement import Measurement
from zoo.model.samples import Samples
from zoo.report.cells import Cells, variant
from zoo.report.charts import costs, held
from zoo.report.charts.encoding import Chart, log_axis, log_scale, named_points, scaled
from zoo.report.charts.figure import IN_TABLE, ChartPart, Datum, Figure, Form, Group, logarithmic, short, slug
from zoo.report.charts.looks import DASHES, KINDS
from zoo.report.raw_files import RawFiles

BINS = 25


TOGETHER = 2.0


Floats = NDArray[np.float64]


def groups(cells: Cells, evidence: RawFiles) -> list[Group]:
    """Resident memory over time, a figure an entry, a group a scenario with one scale for all."""
    groups = []
    for scenario in cells.scenarios:
        data = {entry: _rows(cells, evidence, scenario, entry) for entry in cells.entries}
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
                logarithmic(MEMORY, rows, span, hue=KINDS[cells.kinds[entry]][0]),
                {"scenario": scenario, "server": server_of(entry), "variant": variant(entry)},
            )
            for entry, rows in data.items()
            if rows
        ]
        waits = any(row.delay_s for row in cells.of_scenario(scenario))
        groups.append(Group(f"{scenario}: resident memory over the window", figures, folded=not waits))
    return groups


def _rows(cells: Cells, evidence: RawFiles, scenario: str, entry: str) -> list[Datum]:
    """Resident memory over the seconds of the window: median, lowest and highest round, for each tier."""
    bands = []
    for level in cells.levels:
        if level.scenario == scenario:
            seen = cells.measured(level, entry)
            bands.append(_band(level.tier, cells.dash(level), _samples(evidence, [m for _, m in seen])))
    drawn = [band for band in bands if band]
    _name(drawn)
    return [d for band in drawn for d in band]


def _name(bands: list[list[Datum]]) -> None:
    """Write the tier at the end of its line; where lines end together, the highest bears all their names."""
    names: list[str] = []
    for band, above in zip_longest(bands, bands[1:]):
        names.append(band[0]["tier"])
        if above is None or above[-1]["mb"] > TOGETHER * band[-1]["mb"]:
            band[-1]["name"] = ", ".join(names)
            names = []


def _samples(evidence: RawFiles, seen: Sequence[Measurement]) -> list[Samples]:
    found = [evidence.samples.get(m.sampling.samples) for m in seen]
    return [samples for samples in found if samples is not None and samples.rss_kb]


def _band(tier: str, dash: str, rounds: Sequence[Samples]) -> list[Datum]:
    if not rounds:
        return []
    times = np.linspace(0.0, min(samples.t[-1] for samples in rounds), BINS)
    mb: Floats = np.stack([np.interp(times, samples.t, samples.rss_kb) for samples in rounds]) / 1024
    middle, low, high = np.median(mb, axis=0), mb.min(axis=0), mb.max(axis=0)
    return [
        {
            "tier": tier,
            "dash": dash,
            "s": round(float(times[i]), 1),
            "mb": short(float(middle[i])),
            "low": short(float(low[i])),
            "high": short(float(high[i])),
            "name": "",
        }
        for i in range(BINS)
    ]


def band_and_line() -> Chart:
    """Resident memory over the seconds of the window, a line a tier with the range of the rounds."""
    base = named_points().encode(x=alt.X("s:Q", title="s", axis=alt.Axis(tickCount=4, grid=False)), detail="tier:N")
    scale, axis = log_scale(), log_axis("MB")
    hue = alt.ExprRef("hue")
    band = base.mark_area(opacity=0.2, color=hue).encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q")
    line = base.mark_line(strokeWidth=2, color=hue).encode(
        y=alt.Y("mb:Q", scale=scale, axis=axis),
        strokeDash=scaled(alt.StrokeDash, "dash", DASHES),
        tooltip=["tier:N", alt.Tooltip("s:Q", title="s"), alt.Tooltip("mb:Q", title="MB")],
    )
    name = base.transform_filter("datum.name != ''").mark_text(align="right", dy=-7, fontSize=11)
    return alt.layer(band, line, name.encode(y=alt.Y("mb:Q", scale=scale, axis=axis), text="name:N"))


MEMORY = Form("memory", band_and_line, 130)


PART = ChartPart(
    "memory",
    "Memory",
    "Memory",
    "Resident memory of the server (RSS), sampled several times a second: median of the rounds and "
    "their range. Memory of the kernel's sockets is not in it.",
    lambda drawn: [
        *costs.groups(drawn.cells),
        *held.groups(drawn.cells),
        *groups(drawn.cells, drawn.evidence),
    ],
)
