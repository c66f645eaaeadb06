"""The looks of the charts: colours, shapes, type, axes, and the fields of their rows that these show. Pure."""

from __future__ import annotations

from typing import Any

import altair as alt

from zoo.model.record import UNKNOWN
from zoo.report.cells import BARE

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

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

QUANTILES = {"p50": "circle", "p99": "triangle-up", "p99.9": "diamond"}
"""Shapes of latency quantiles."""

PAPER = "white"
"""Behind a picture that stands alone."""

DARK = {
    PAPER: "#14171a",
    "#000": "#e4e8ec",
    INK: "#e4e8ec",
    RULE: "#8a939c",
    GRID: "#343a41",
    "#0072b2": "#4aa3df",
    "#d55e00": "#ee7b30",
}
"""What a picture's colours become where a reader's screen is dark; the others are over 3:1 on both."""

DASHES = {"0": [1, 0], "1": [6, 3], "2": [2, 2], "3": [8, 2, 2, 2]}
"""Of the tiers, from the lowest."""

OUTLINES = {
    "square": "M-5-5h10v10h-10z",
    "circle": "M0-5.5a5.5 5.5 0 1 0 .01 0z",
    "triangle-up": "M0-6L6 5H-6z",
    "triangle-down": "M0 6L6-5H-6z",
    "triangle-right": "M6 0L-5 6V-6z",
    "diamond": "M0-7L5 0L0 7L-5 0z",
    "cross": "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
}
"""The shapes as paths for a legend, alike those that Vega draws."""

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


def named_points() -> alt.Chart:
    return alt.Chart(alt.NamedData(name="points"))


def log_scale() -> alt.Scale:
    ends: Any = [alt.ExprRef("least"), alt.ExprRef("most")]
    return alt.Scale(type="log", domain=ends, nice=False)


def log_axis(title: str | None = None) -> alt.Axis:
    return alt.Axis(values=alt.ExprRef("ticks"), format=",~g", labelOverlap="greedy", title=title)


def plain_axis(title: str | None = None) -> alt.Axis:
    plain_zero = "datum.value == 0 ? '0' : datum.label"
    return alt.Axis(format="~s", tickCount=5, labelExpr=plain_zero, title=title)


def entry_rows(name: str) -> alt.Y:
    """A line for each of them, in the order that `place` gives."""
    order = alt.EncodingSortField(field="place", op="min")
    return alt.Y(f"{name}:N", sort=order, title=None, axis=alt.Axis(domain=False, ticks=False))


def scaled(channel: Any, name: str, values: dict[str, Any]) -> Any:  # noqa: ANN401 (altair's channels share no type)
    return channel(f"{name}:N", scale=alt.Scale(domain=list(values), range=list(values.values())), legend=None)


def coloured(name: str, looks: dict[str, tuple[str, str]]) -> Any:  # noqa: ANN401
    return scaled(alt.Color, name, _hues(looks))


def marked(name: str, looks: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Colour and shape of a mark by what it is, hollow where `bound` says so."""
    return {
        "fill": scaled(alt.Fill, name, _hues(looks)),
        "stroke": scaled(alt.Stroke, name, _hues(looks)),
        "shape": shaped(name, looks),
        "fillOpacity": alt.when("datum.bound").then(alt.value(0)).otherwise(alt.value(1)),
    }


def shaped(name: str = "kind", looks: dict[str, tuple[str, str]] = KINDS) -> Any:  # noqa: ANN401
    """Return the shape of a mark, by thread model unless told otherwise."""
    return scaled(alt.Shape, name, {key: shape for key, (_, shape) in looks.items()})


def _hues(looks: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {key: hue for key, (hue, _) in looks.items()}
