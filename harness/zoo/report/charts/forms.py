"""The forms of charts as Vega-Lite: a template for each, without data. Pure.

Charts are as wide as their place on the page and carry no legend: the page shows one for all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import altair as alt

from zoo.report.charts import lines
from zoo.report.charts.encoding import (
    Chart,
    coloured,
    entry_rows,
    log_axis,
    log_scale,
    marked,
    named_points,
    plain_axis,
    scaled,
)
from zoo.report.charts.looks import DASHES, GRID, KINDS, QUANTILES, RULE, SIDES

Spec = dict[str, Any]


@cache
def template(name: str) -> Spec:
    """Without what all charts share, and without data."""
    spec: Spec = TEMPLATES[name]().to_dict()
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")} | {"width": "container"}


def _forest() -> Chart:
    """A pair a row: its ratio with the interval, on the band that noise alone fills; hollow for a lower bound."""
    scale, axis = log_scale(), log_axis()
    base = named_points().encode(y=entry_rows("row"))
    band = base.mark_bar(color=GRID, opacity=0.9, size=14, clip=True)
    one = named_points().mark_rule(color=RULE, strokeWidth=1.5).encode(x=alt.XDatum(1, scale=scale))
    bar = base.mark_rule(strokeWidth=2.5, clip=True).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", color=coloured("side", SIDES)
    )
    point = base.mark_point(size=80, strokeWidth=2, clip=True).encode(
        x=alt.X("ratio:Q", scale=scale, axis=axis),
        **marked("side", SIDES),
        tooltip=[
            alt.Tooltip("pair:N", title="pair"),
            alt.Tooltip("text:N", title="ratio"),
            alt.Tooltip("verdict:N", title="verdict"),
            alt.Tooltip("n:Q", title="rounds"),
        ],
    )
    noise = band.encode(x=alt.X("noise_low:Q", scale=scale, axis=axis), x2="noise_high:Q")
    return alt.layer(noise, one, bar, point)


def _beside() -> Chart:
    """A forest with a hollow diamond where the published ratio is."""
    published = (
        named_points()
        .transform_filter("datum.published != null")
        .mark_point(shape="diamond", size=130, strokeWidth=2, color=RULE)
        .encode(
            y=entry_rows("row"),
            x=alt.X("published:Q", scale=log_scale(), axis=log_axis()),
            tooltip=[alt.Tooltip("pair:N", title="pair"), alt.Tooltip("published:Q", title="published")],
        )
    )
    return alt.layer(*_forest().layer, published)


def _pools() -> Chart:
    """Operations a second over a pool's connections, a line an executor; dashed, what pool ÷ latency allows."""
    x = alt.X("connections:Q", scale=alt.Scale(type="log", nice=False, padding=30), axis=_pool_axis())
    scale, axis = log_scale(), log_axis("ops/s")
    base = named_points().encode(x=x, detail="executor:N")
    hue = coloured("kind", KINDS)
    bound = base.transform_filter("datum.bound != null").mark_line(color=RULE, strokeDash=[6, 4], strokeWidth=2)
    measured = base.transform_filter("datum.ops != null")
    line = measured.mark_line(strokeWidth=2, opacity=0.7)
    span = measured.mark_rule(strokeWidth=4, opacity=0.35)
    point = measured.mark_point(size=70, filled=True)
    name = base.transform_filter("datum.name != ''").mark_text(align="right", dx=-9, dy=-9, fontSize=11)
    return alt.layer(
        bound.encode(y=alt.Y("bound:Q", scale=scale, axis=axis)),
        line.encode(y=alt.Y("ops:Q", scale=scale, axis=axis), color=hue),
        span.encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q", color=hue),
        point.encode(
            y=alt.Y("ops:Q", scale=scale, axis=axis),
            color=hue,
            shape=scaled(alt.Shape, "kind", {kind: shape for kind, (_, shape) in KINDS.items()}),
            tooltip=["executor:N", "connections:Q", alt.Tooltip("text:N", title="ops/s by round")],
        ),
        name.encode(y=alt.Y("at:Q", scale=scale, axis=axis), text="name:N"),
    )


def _pool_axis() -> alt.Axis:
    return alt.Axis(values=[10, 20, 50, 100, 200, 500, 1000], format=",~g", title="connections", grid=False)


def _dots(scale: alt.Scale, axis: alt.Axis) -> Chart:
    """An entry a row: its rounds as ticks, the interval as a bar, the median as a mark, hollow for a lower bound."""
    base = named_points().encode(y=entry_rows("entry"))
    bar = base.mark_rule(strokeWidth=4, opacity=0.35, clip=True).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", color=coloured("kind", KINDS)
    )
    rounds = (
        base.transform_flatten(["rounds"])
        .mark_tick(thickness=1.5, opacity=0.7, size=12)
        .encode(x=alt.X("rounds:Q", scale=scale, axis=axis), color=coloured("kind", KINDS))
    )
    point = base.mark_point(size=70, strokeWidth=2).encode(
        x=alt.X("value:Q", scale=scale, axis=axis),
        **marked("kind", KINDS),
        tooltip=[
            alt.Tooltip("entry:N", title="entry"),
            alt.Tooltip("text:N", title="by round"),
            alt.Tooltip("flags:N", title="flags"),
        ],
    )
    beside = base.transform_filter("datum.value != null").mark_text(align="left", dx=9)
    instead = base.transform_filter("datum.value == null").mark_text(align="left", fontStyle="italic")
    notes = (
        beside.encode(x=alt.X("value:Q", scale=scale, axis=axis), text="note:N"),
        instead.encode(x=alt.value(4), text="note:N"),
    )
    return alt.layer(bar, rounds, point, *notes)


def _latency() -> alt.Chart:
    """An entry a row, a round and quantile a mark: p50 a circle, p99 a triangle, p99.9 a diamond."""
    chart: alt.Chart = (
        named_points()
        .mark_point(size=45, filled=True, opacity=0.75)
        .encode(
            y=entry_rows("entry"),
            x=alt.X("ms:Q", scale=log_scale(), axis=log_axis()),
            color=coloured("kind", KINDS),
            shape=scaled(alt.Shape, "quantile", QUANTILES),
            tooltip=["entry:N", "quantile:N", alt.Tooltip("ms:Q", title="ms"), "round:Q"],
        )
    )
    return chart


def _curves() -> alt.Chart:
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


def _memory() -> Chart:
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


def _held() -> Chart:
    """Peak memory over held connections: a point a tier and round, and the line fitted to each round."""
    base = named_points().encode(
        x=alt.X("connections:Q", axis=plain_axis("held connections")),
        color=coloured("kind", KINDS),
        detail=["entry:N", "round:N"],
    )
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=alt.Y("fit:Q", axis=plain_axis("MB")))
    point = base.mark_point(size=40, filled=True).encode(
        y=alt.Y("mb:Q", axis=plain_axis("MB")),
        shape=scaled(alt.Shape, "kind", {name: shape for name, (_, shape) in KINDS.items()}),
        tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="peak RSS MB")],
    )
    return alt.layer(line, point)


def _warmup() -> Chart:
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


def _course() -> alt.Chart:
    """A figure of each cell over the minutes of the run."""
    base = named_points().transform_calculate(value="datum[metric]")
    marks: alt.Chart = base.mark_point(size=25, filled=True, color="#7a7f87", opacity=0.8).encode(
        x=alt.X("minute:Q", title="minutes since the start", axis=alt.Axis(grid=False)),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True)),
        tooltip=["cell:N", "value:Q"],
    )
    return marks


def _limited_course() -> Chart:
    """The same with a line where cells begin to be flagged."""
    base = named_points().transform_calculate(at="limit")
    return alt.layer(_course(), base.mark_rule(color="#d55e00", strokeDash=[4, 3]).encode(y="at:Q"))


TEMPLATES: dict[str, Callable[[], Chart]] = {
    "forest": _forest,
    "beside": _beside,
    "pools": _pools,
    "dots": lambda: _dots(alt.Scale(zero=True), plain_axis()),
    "log-dots": lambda: _dots(log_scale(), log_axis()),
    "latency": _latency,
    "curves": _curves,
    "memory": _memory,
    "held": _held,
    "warmup": _warmup,
    "course": _course,
    "limited-course": _limited_course,
    **lines.TEMPLATES,
}
