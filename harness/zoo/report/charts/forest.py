"""Forest plots with one row per pair: the ratio with its interval, on top of the noise band. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import altair as alt

from zoo.report.cells import Cells, Level
from zoo.report.charts.figure import (
    Datum,
    Drawing,
    Figure,
    Form,
    Group,
    group_by_scenario,
    log_axis_settings,
    round_figure,
    round_if_known,
    slug,
)
from zoo.report.charts.looks import (
    GRID,
    RULE,
    SIDE_STYLES,
    Chart,
    base_chart,
    colour_encoding,
    log_axis,
    log_scale,
    mark_encodings,
    row_axis,
)
from zoo.report.findings import GOOD, Finding
from zoo.report.wording import format_comparison
from zoo.stats import Ratio
from zoo.stats.metrics import METRICS
from zoo.stats.pairs import Kind

NEAR_ONE = (0.8, 0.9, 1, 1.1, 1.25)


def draw_forests(cells: Cells, findings: Sequence[Finding], title: str, *, ranked: bool = True) -> list[Group]:
    """Draw the ratios of pairs by scenario and metric; `ranked` captions say which side of 1 is better."""

    def figures(scenario: str) -> list[Figure]:
        charts = []
        for metric in METRICS:
            matching = [f for f in findings if f.metric == metric and f.pair.scenario == scenario]
            data = _ratio_rows(cells, matching)
            if not data:
                continue
            better = f": {'left' if metric.below in GOOD else 'right'} of 1 is better" if ranked else ""
            verdicts = "; ".join(f"{d['row']} {d['verdict']}" for d in data)
            charts.append(
                Figure(
                    slug("forest", matching[0].pair.kind, scenario, metric.title),
                    f"{metric.title}, {scenario}: {title}",
                    f"{metric.title}{better}",
                    f"{scenario}, {metric.title}, {title}: {verdicts}",
                    draw_forest(data),
                    {"scenario": scenario},
                )
            )
        return charts

    return group_by_scenario(cells, figures, f"{{}}: {title}")


def _ratio_rows(cells: Cells, findings: Sequence[Finding]) -> list[Datum]:
    levels = {(level.scenario, level.tier): level for level in cells.levels}
    several = len({f.pair.a for f in findings}) > len({f.server for f in findings})
    data: list[Datum] = []
    for f in sorted(findings, key=lambda f: f.pair.a):
        ratio = f.ratio
        if ratio is None:
            continue
        level = levels[f.pair.scenario, f.pair.tier]
        row = f"{_row_name(f, several=several)} · {_format_tier(level)}"
        pair = f"{f.names}, {level.title}"
        names = {"entry": f.pair.a, "tier": f.pair.tier}
        data.append(ratio_row(f, ratio, len(data), row, pair, bound=f.is_lower_bound, **names))
    return data


def ratio_row(f: Finding, ratio: Ratio, place: int, row: str, pair: str, *, bound: bool, **names: str) -> Datum:
    """Return the row of a ratio with its interval, its noise band, and texts for its tooltip; it contains `names`."""
    return {
        "row": row,
        **names,
        "place": place,
        "pair": pair,
        "ratio": round_figure(ratio.value),
        "low": round_if_known(ratio.low),
        "high": round_if_known(ratio.high),
        "noise_low": None if f.band is None else round_figure(1 / f.band),
        "noise_high": round_if_known(f.band),
        "n": ratio.rounds,
        "bound": bound,
        "side": f.side,
        "verdict": format_comparison(f.comparison),
        "text": f.figure,
    }


def _row_name(f: Finding, *, several: bool) -> str:
    """Return the name that distinguishes a pair from others of its kind; `several` if a server has more than one."""
    if f.pair.kind is Kind.AA:
        return f.pair.b
    return f.pair.a if several and f.pair.kind is not Kind.GUEST else f.subject


def _format_tier(level: Level) -> str:
    return level.tier if level.actual == level.requested else f"{level.tier}→{level.actual:,}"


def draw_forest(points: list[Datum]) -> Drawing:
    """Return the drawing, with room for every ratio and for 1; an interval far wider than these runs off the edge."""
    ratios = [d["ratio"] for d in points]
    low = max(min([*ratios, *(d["low"] for d in points if d["low"] is not None)]), min(ratios) / 2)
    high = min(max([*ratios, *(d["high"] for d in points if d["high"] is not None)]), max(ratios) * 2)
    least, most = min(low, 0.9), max(high, 1.1)
    margin = (most / least) ** 0.04
    return Drawing(FOREST, points, log_axis_settings(least / margin, most * margin, NEAR_ONE))


def forest_chart() -> Chart:
    """Return a chart with one row per pair: its ratio and interval on the noise band, hollow for a lower bound."""
    scale = log_scale()
    x = partial(alt.X, scale=scale, axis=log_axis())
    base = base_chart().encode(y=row_axis("row"))
    band = base.mark_bar(color=GRID, opacity=0.9, size=14, clip=True)
    one = base_chart().mark_rule(color=RULE, strokeWidth=1.5).encode(x=alt.XDatum(1, scale=scale))
    bar = base.mark_rule(strokeWidth=2.5, clip=True).encode(
        x=x("low:Q"), x2="high:Q", color=colour_encoding("side", SIDE_STYLES)
    )
    point = base.mark_point(size=80, strokeWidth=2, clip=True).encode(
        x=x("ratio:Q"),
        **mark_encodings("side", SIDE_STYLES),
        tooltip=[
            alt.Tooltip("pair:N", title="pair"),
            alt.Tooltip("text:N", title="ratio"),
            alt.Tooltip("verdict:N", title="verdict"),
            alt.Tooltip("n:Q", title="rounds"),
        ],
    )
    noise = band.encode(x=x("noise_low:Q"), x2="noise_high:Q")
    return alt.layer(noise, one, bar, point)


FOREST = Form("forest", forest_chart)
