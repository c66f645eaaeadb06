"""The forms of charts as Vega-Lite: a template for each, without data. Pure.

Charts are as wide as their place on the page and carry no legend: the page shows one for all.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import altair as alt

from zoo.report.looks import DASHES, GRID, KINDS, QUANTILES, RULE, SIDES

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
Spec = dict[str, Any]


@cache
def template(name: str) -> Spec:
    """Without what all charts share, and without data."""
    spec: Spec = TEMPLATES[name]().to_dict()
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")} | {"width": "container"}


def _forest() -> Chart:
    """A pair a row: its ratio with the interval, on the band that noise alone fills; hollow for a lower bound."""
    scale, axis = _log(), _log_axis()
    base = _points().encode(y=_rows("row"))
    band = base.mark_bar(color=GRID, opacity=0.9, size=14, clip=True)
    one = _points().mark_rule(color=RULE, strokeWidth=1.5).encode(x=alt.XDatum(1, scale=scale))
    bar = base.mark_rule(strokeWidth=2.5, clip=True).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", color=_coloured("side", SIDES)
    )
    point = base.mark_point(size=80, strokeWidth=2, clip=True).encode(
        x=alt.X("ratio:Q", scale=scale, axis=axis),
        **_marked("side", SIDES),
        tooltip=[
            alt.Tooltip("pair:N", title="pair"),
            alt.Tooltip("text:N", title="ratio"),
            alt.Tooltip("verdict:N", title="verdict"),
            alt.Tooltip("n:Q", title="rounds"),
        ],
    )
    noise = band.encode(x=alt.X("noise_low:Q", scale=scale, axis=axis), x2="noise_high:Q")
    return alt.layer(noise, one, bar, point)


def _dots(scale: alt.Scale, axis: alt.Axis) -> Chart:
    """An entry a row: its rounds as ticks, the interval as a bar, the median as a mark, hollow for a lower bound."""
    base = _points().encode(y=_rows("entry"))
    bar = base.mark_rule(strokeWidth=4, opacity=0.35, clip=True).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", color=_coloured("kind", KINDS)
    )
    rounds = (
        base.transform_flatten(["rounds"])
        .mark_tick(thickness=1.5, opacity=0.7, size=12)
        .encode(x=alt.X("rounds:Q", scale=scale, axis=axis), color=_coloured("kind", KINDS))
    )
    point = base.mark_point(size=70, strokeWidth=2).encode(
        x=alt.X("value:Q", scale=scale, axis=axis),
        **_marked("kind", KINDS),
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
        _points()
        .mark_point(size=45, filled=True, opacity=0.75)
        .encode(
            y=_rows("entry"),
            x=alt.X("ms:Q", scale=_log(), axis=_log_axis()),
            color=_coloured("kind", KINDS),
            shape=_scaled(alt.Shape, "quantile", QUANTILES),
            tooltip=["entry:N", "quantile:N", alt.Tooltip("ms:Q", title="ms"), "round:Q"],
        )
    )
    return chart


def _curves() -> alt.Chart:
    """Latency over the share of requests that stayed below it, both axes logarithmic; tiers by dash."""
    share = "format(100 - 100 / datum.value, '~g') + ' %'"
    chart: alt.Chart = (
        _points()
        .mark_line(strokeWidth=2, interpolate="monotone")
        .encode(
            x=alt.X(
                "beyond:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=[10**n for n in range(7)], labelExpr=share, title=None),
            ),
            y=alt.Y("ms:Q", scale=_log(), axis=_log_axis("ms")),
            color=_coloured("kind", KINDS),
            strokeDash=_scaled(alt.StrokeDash, "dash", DASHES),
            detail="entry:N",
            tooltip=["entry:N", "tier:N", alt.Tooltip("ms:Q", title="ms")],
        )
    )
    return chart


def _memory() -> Chart:
    """Resident memory over the seconds of the window, a line a tier with the range of the rounds."""
    base = _points().encode(x=alt.X("s:Q", title="s", axis=alt.Axis(tickCount=4, grid=False)), detail="tier:N")
    scale, axis = _log(), _log_axis("MB")
    hue = alt.ExprRef("hue")
    band = base.mark_area(opacity=0.2, color=hue).encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q")
    line = base.mark_line(strokeWidth=2, color=hue).encode(
        y=alt.Y("mb:Q", scale=scale, axis=axis),
        strokeDash=_scaled(alt.StrokeDash, "dash", DASHES),
        tooltip=["tier:N", alt.Tooltip("s:Q", title="s"), alt.Tooltip("mb:Q", title="MB")],
    )
    name = base.transform_filter("datum.name != ''").mark_text(align="right", dy=-7, fontSize=11)
    return alt.layer(band, line, name.encode(y=alt.Y("mb:Q", scale=scale, axis=axis), text="name:N"))


def _held() -> Chart:
    """Peak memory over held connections: a point a tier and round, and the line fitted to each round."""
    base = _points().encode(
        x=alt.X("connections:Q", axis=_axis("held connections")),
        color=_coloured("kind", KINDS),
        detail=["entry:N", "round:N"],
    )
    line = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(y=alt.Y("fit:Q", axis=_axis("MB")))
    point = base.mark_point(size=40, filled=True).encode(
        y=alt.Y("mb:Q", axis=_axis("MB")),
        shape=_scaled(alt.Shape, "kind", {name: shape for name, (_, shape) in KINDS.items()}),
        tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="peak RSS MB")],
    )
    return alt.layer(line, point)


def _warmup() -> Chart:
    """Requests a second of each warm-up window, a line a round; hollow marks where it did not settle."""
    hue = alt.ExprRef("hue")
    base = _points().encode(
        x=alt.X("window:O", title=None, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("rps:Q", scale=alt.Scale(zero=False), axis=_axis("req/s")),
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
    base = _points().transform_calculate(value="datum[metric]")
    marks: alt.Chart = base.mark_point(size=25, filled=True, color="#7a7f87", opacity=0.8).encode(
        x=alt.X("minute:Q", title="minutes since the start", axis=alt.Axis(grid=False)),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True)),
        tooltip=["cell:N", "value:Q"],
    )
    return marks


def _limited_course() -> Chart:
    """The same with a line where cells begin to be flagged."""
    base = _points().transform_calculate(at="limit")
    return alt.layer(_course(), base.mark_rule(color="#d55e00", strokeDash=[4, 3]).encode(y="at:Q"))


TEMPLATES: dict[str, Callable[[], Chart]] = {
    "forest": _forest,
    "dots": lambda: _dots(alt.Scale(zero=True), _axis()),
    "log-dots": lambda: _dots(_log(), _log_axis()),
    "latency": _latency,
    "curves": _curves,
    "memory": _memory,
    "held": _held,
    "warmup": _warmup,
    "course": _course,
    "limited-course": _limited_course,
}


def _points() -> alt.Chart:
    return alt.Chart(alt.NamedData(name="points"))


def _log() -> alt.Scale:
    ends: Any = [alt.ExprRef("least"), alt.ExprRef("most")]
    return alt.Scale(type="log", domain=ends, nice=False)


def _log_axis(title: str | None = None) -> alt.Axis:
    return alt.Axis(values=alt.ExprRef("ticks"), format=",~g", labelOverlap="greedy", title=title)


def _axis(title: str | None = None) -> alt.Axis:
    plain_zero = "datum.value == 0 ? '0' : datum.label"
    return alt.Axis(format="~s", tickCount=5, labelExpr=plain_zero, title=title)


def _rows(name: str) -> alt.Y:
    """A line for each of them, in the order that `place` gives."""
    order = alt.EncodingSortField(field="place", op="min")
    return alt.Y(f"{name}:N", sort=order, title=None, axis=alt.Axis(domain=False, ticks=False))


def _scaled(channel: Any, name: str, values: dict[str, Any]) -> Any:  # noqa: ANN401 (altair's channels share no type)
    return channel(f"{name}:N", scale=alt.Scale(domain=list(values), range=list(values.values())), legend=None)


def _coloured(name: str, looks: dict[str, tuple[str, str]]) -> Any:  # noqa: ANN401
    return _scaled(alt.Color, name, {key: hue for key, (hue, _) in looks.items()})


def _marked(name: str, looks: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Colour and shape of a mark by what it is, hollow where `bound` says so."""
    hues = {key: hue for key, (hue, _) in looks.items()}
    return {
        "fill": _scaled(alt.Fill, name, hues),
        "stroke": _scaled(alt.Stroke, name, hues),
        "shape": _scaled(alt.Shape, name, {key: shape for key, (_, shape) in looks.items()}),
        "fillOpacity": alt.when("datum.bound").then(alt.value(0)).otherwise(alt.value(1)),
    }
