"""Charts as Vega-Lite: a template for each form, and the rows that fill it. Pure.

A template is made once and holds no data: building and checking a chart takes longer than all the rest of a page, and
a page of a hundred charts would repeat each form. Charts are as wide as their place on the page and carry no legend:
the page shows one for all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import altair as alt

from zoo.records import UNKNOWN
from zoo.report.cells import BARE
from zoo.report.points import Datum

Chart = alt.Chart | alt.LayerChart | alt.FacetChart
Spec = dict[str, Any]

INK, RULE, GRID = "#333333", "#888888", "#dddddd"
"""The page's style sheet turns these three into those of its light or dark mode."""

KINDS = {
    "platform-thread": ("#d55e00", "square"),
    "virtual-thread": ("#0072b2", "circle"),
    "event-loop": ("#009e73", "triangle-up"),
    "async-task": ("#b5629b", "diamond"),
    "async-servlet": ("#a87800", "triangle-down"),
    UNKNOWN: ("#6f7f2a", "triangle-right"),
    BARE: ("#7a7f87", "cross"),
}
"""Colour and shape of each thread model: told apart with any colour vision, and over 3:1 on white and on near-black."""

SIDES = {
    "ahead": ("#0072b2", "circle"),
    "behind": ("#d55e00", "square"),
    "same": ("#7a7f87", "cross"),
    "open": ("#7a7f87", "diamond"),
}
"""What a ratio says of the first of its pair: better, worse, alike, or not known."""

ROW_HEIGHT = 20
HEIGHTS = {"curves": 200, "held": 200, "memory": 130, "warmup": 110, "course": 110, "limited-course": 110}

SHAPES = {"p50": "circle", "p99": "triangle-up", "p99.9": "diamond"}
DASHES = {"0": [1, 0], "1": [6, 3], "2": [2, 2], "3": [8, 2, 2, 2]}
"""Of the tiers, from the lowest."""

THEME: dict[str, Any] = {
    "background": None,
    "font": "system-ui, -apple-system, 'Segoe UI', sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "gridColor": GRID,
        "domainColor": RULE,
        "tickColor": RULE,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 240,
    },
    "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleY": -8, "titleX": -30},
    "text": {"color": INK, "fontSize": 12},
}


@dataclass(frozen=True)
class Drawing:
    """A template, the rows that it draws, and settings that its expressions name."""

    template: str
    points: list[Datum]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Rows need room each, so a chart with `place`s grows with them."""
        places = [d["place"] for d in self.points if "place" in d]
        return ROW_HEIGHT * (1 + max(places)) if places else HEIGHTS[self.template]

    @property
    def spec(self) -> Spec:
        """As Vega-Lite draws it."""
        params = [{"name": name, "value": value} for name, value in self.settings.items()]
        shared = template(self.template)
        return {**shared, "height": self.height, "datasets": {"points": self.points}, "params": params}


@cache
def template(name: str) -> Spec:
    """Without what all charts share, and without data."""
    spec: Spec = TEMPLATES[name]().to_dict()
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")} | {"width": "container"}


def forest(points: list[Datum]) -> Drawing:
    """Pairs with room for every ratio and for 1; an interval far wider than all of them runs off the edge."""
    ratios = [d["ratio"] for d in points]
    low = max(min([*ratios, *(d["low"] for d in points if d["low"] is not None)]), min(ratios) / 2)
    high = min(max([*ratios, *(d["high"] for d in points if d["high"] is not None)]), max(ratios) * 2)
    least, most = min(low, 0.9), max(high, 1.1)
    margin = (most / least) ** 0.04
    return Drawing("forest", points, _span(least / margin, most * margin, NEAR_ONE))


def logarithmic(name: str, points: list[Datum], values: Sequence[float], **settings: Any) -> Drawing:  # noqa: ANN401
    """A template whose figures stand on a logarithmic axis, with room for all of them."""
    return Drawing(name, points, _span(0.9 * min(values), 1.1 * max(values)) | settings)


NEAR_ONE = (0.8, 0.9, 1, 1.1, 1.25)
MOST_TICKS = 7


def _span(least: float, most: float, fine: Sequence[float] = ()) -> dict[str, Any]:
    """Ends of a logarithmic axis and its ticks: as many of 1, 2, 5 and `fine` a decade as there is room for."""
    decades = [10.0**n for n in range(-4, 8)]
    steps = [*decades, *(m * d for m in (2, 5) for d in decades)]
    for ticks in ([*steps, *fine], steps, decades):
        within = sorted({t for t in ticks if least <= t <= most})
        if len(within) <= MOST_TICKS:
            break
    return {"least": least, "most": most, "ticks": within}


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
            shape=_scaled(alt.Shape, "quantile", SHAPES),
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


def warmup(points: list[Datum], kind: str) -> Drawing:
    return Drawing("warmup", points, {"hue": KINDS[kind][0]})


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


def course(points: list[Datum], metric: str, limit: float | None) -> Drawing:
    """One metric of the same rows; cells are flagged from `limit` on."""
    if limit is None:
        return Drawing("course", points, {"metric": metric})
    return Drawing("limited-course", points, {"metric": metric, "limit": limit})


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
