"""Pairs, a row each: the ratio with its interval, on the band that noise alone fills. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import altair as alt

from zoo.analysis.metrics import METRICS
from zoo.analysis.pairs import Kind
from zoo.report.cells import Cells, Level
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, by_scenario, short, short_if_known, slug, span
from zoo.report.charts.looks import (
    GRID,
    RULE,
    SIDES,
    Chart,
    coloured,
    entry_rows,
    log_axis,
    log_scale,
    marked,
    named_points,
)
from zoo.report.findings import GOOD, Finding

NEAR_ONE = (0.8, 0.9, 1, 1.1, 1.25)


def forests(cells: Cells, found: Sequence[Finding], title: str, *, ranked: bool = True) -> list[Group]:
    """Ratios of pairs, a group a scenario, a figure a metric; where none can be better, nothing is said of it."""

    def figures(scenario: str) -> list[Figure]:
        made = []
        for metric in METRICS:
            of = [f for f in found if f.metric == metric and f.pair.scenario == scenario]
            data = _ratios(cells, of)
            if not data:
                continue
            better = f": {'left' if metric.below in GOOD else 'right'} of 1 is better" if ranked else ""
            told = "; ".join(f"{d['row']} {d['text']} {d['verdict']}" for d in data)
            made.append(
                Figure(
                    slug("forest", of[0].pair.kind, scenario, metric.title),
                    f"{metric.title}, {scenario}: {title}",
                    f"{metric.title}{better}",
                    f"{scenario}, {metric.title}, {title}: {told}",
                    drawing(data),
                    {"scenario": scenario},
                )
            )
        return made

    return by_scenario(cells, figures, f"{{}}: {title}")


def _ratios(cells: Cells, found: Sequence[Finding]) -> list[Datum]:
    levels = {(level.scenario, level.tier): level for level in cells.levels}
    several = len({f.pair.a for f in found}) > len({f.server for f in found})
    data: list[Datum] = []
    for f in sorted(found, key=lambda f: f.pair.a):
        ratio = f.ratio
        if ratio is None:
            continue
        level = levels[f.pair.scenario, f.pair.tier]
        row = f"{_name(f, several=several)} · {_tier(level)}"
        verdict = f.comparison.verdict.text
        data.append(
            {
                "row": row,
                "entry": f.pair.a,
                "tier": f.pair.tier,
                "place": len(data),
                "pair": f"{f.names}, {level.title}",
                "ratio": short(ratio.value),
                "low": short_if_known(ratio.low),
                "high": short_if_known(ratio.high),
                "noise_low": None if f.band is None else short(1 / f.band),
                "noise_high": short_if_known(f.band),
                "n": ratio.rounds,
                "bound": f.bound,
                "side": f.side,
                "verdict": verdict,
                "text": f.figure,
            }
        )
    return data


def _name(f: Finding, *, several: bool) -> str:
    """What tells a pair from the others of its kind; `several`: some server has more than one."""
    if f.pair.kind is Kind.AGAIN:
        return f.pair.b
    return f.pair.a if several and f.pair.kind is not Kind.GUEST else f.who


def _tier(level: Level) -> str:
    return level.tier if level.actual == level.requested else f"{level.tier}→{level.actual:,}"


def drawing(points: list[Datum]) -> Drawing:
    """Pairs with room for every ratio and for 1; an interval far wider than all of them runs off the edge."""
    ratios = [d["ratio"] for d in points]
    low = max(min([*ratios, *(d["low"] for d in points if d["low"] is not None)]), min(ratios) / 2)
    high = min(max([*ratios, *(d["high"] for d in points if d["high"] is not None)]), max(ratios) * 2)
    least, most = min(low, 0.9), max(high, 1.1)
    margin = (most / least) ** 0.04
    return Drawing(FOREST, points, span(least / margin, most * margin, NEAR_ONE))


def layers() -> Chart:
    """A pair a row: its ratio with the interval, on the band that noise alone fills; hollow for a lower bound."""
    scale = log_scale()
    x = partial(alt.X, scale=scale, axis=log_axis())
    base = named_points().encode(y=entry_rows("row"))
    band = base.mark_bar(color=GRID, opacity=0.9, size=14, clip=True)
    one = named_points().mark_rule(color=RULE, strokeWidth=1.5).encode(x=alt.XDatum(1, scale=scale))
    bar = base.mark_rule(strokeWidth=2.5, clip=True).encode(x=x("low:Q"), x2="high:Q", color=coloured("side", SIDES))
    point = base.mark_point(size=80, strokeWidth=2, clip=True).encode(
        x=x("ratio:Q"),
        **marked("side", SIDES),
        tooltip=[
            alt.Tooltip("pair:N", title="pair"),
            alt.Tooltip("text:N", title="ratio"),
            alt.Tooltip("verdict:N", title="verdict"),
            alt.Tooltip("n:Q", title="rounds"),
        ],
    )
    noise = band.encode(x=x("noise_low:Q"), x2="noise_high:Q")
    return alt.layer(noise, one, bar, point)


FOREST = Form("forest", layers)
