"""Latency below which a share of the requests stayed, a line an entry. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from zoo.model.entry_id import server_of
from zoo.model.histogram import merge
from zoo.report.cells import Cells, Level
from zoo.report.charts.encoding import coloured, log_axis, log_scale, named_points, scaled
from zoo.report.charts.figure import ChartPart, Datum, Figure, Form, Group, logarithmic, short, slug
from zoo.report.charts.looks import DASHES, KINDS
from zoo.report.raw_files import RawFiles

STEPS_A_DECADE = 6


DECADES = 6


def groups(cells: Cells, evidence: RawFiles) -> list[Group]:
    """Latency by the share of requests, a figure a server, a group a scenario."""
    groups = []
    for scenario in cells.scenarios:
        levels = [level for level in cells.levels if level.scenario == scenario]
        figures = [
            Figure(
                slug("curves", scenario, name),
                f"Latency over the share of requests, ms, {scenario}",
                f"{name} · closed, c = {', '.join(f'{level.actual:,}' for level in levels)}",
                f"Latency in milliseconds over the share of requests that stayed below it, {name}, {scenario}.",
                logarithmic(CURVES, data, [d["ms"] for d in data]),
                {"scenario": scenario, "server": name},
            )
            for name in cells.servers
            if (data := _rows(cells, evidence, levels, name))
        ]
        if figures:
            groups.append(Group(scenario, figures))
    return groups


def _rows(cells: Cells, evidence: RawFiles, levels: Sequence[Level], of_server: str) -> list[Datum]:
    """Latency below which a share of all requests stayed, rounds merged; as far as 100 samples lie beyond."""
    made = []
    for level in levels:
        for entry in cells.entries:
            if server_of(entry) != of_server:
                continue
            seen = cells.measured(level, entry)
            parts = [evidence.histograms.get(m.load.histogram or "") for _, m in seen]
            merged = merge(part for part in parts if part is not None)
            for step in range(STEPS_A_DECADE * DECADES + 1):
                beyond = 10 ** (step / STEPS_A_DECADE)
                share = round(1 - 1 / beyond, 9)
                value = merged.quantile(share)
                if value is None or not merged.supports(share):
                    break
                made.append(
                    {
                        "entry": entry,
                        "kind": cells.kinds[entry],
                        "tier": level.tier,
                        "dash": cells.dash(level),
                        "beyond": short(beyond),
                        "ms": short(max(value, 1) / 1000),
                    }
                )
    return made


def lines() -> alt.Chart:
    """Latency over the share of requests that stayed below it, both axes logarithmic; tiers by dash."""
    share = "format(100 - 100 / datum.value, '~g') + ' %'"
    chart: alt.Chart = (
        named_points()
        .mark_line(strokeWidth=2, interpolate="monotone")
        .encode(
            x=alt.X(
                "beyond:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=[10**n for n in range(7)], labelExpr=share, title=None),
            ),
            y=alt.Y("ms:Q", scale=log_scale(), axis=log_axis("ms")),
            color=coloured("kind", KINDS),
            strokeDash=scaled(alt.StrokeDash, "dash", DASHES),
            detail="entry:N",
            tooltip=["entry:N", "tier:N", alt.Tooltip("ms:Q", title="ms")],
        )
    )
    return chart


CURVES = Form("curves", lines, 200)


PART = ChartPart(
    "curves",
    "Curves",
    "Latency over the share of requests, ms",
    "All rounds merged, for the picture only; wrk's correction for coordinated omission is taken out again.",
    lambda drawn: groups(drawn.cells, drawn.evidence),
)
