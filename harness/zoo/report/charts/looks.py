"""The style of the charts: colours, shapes, fonts, axes, and encodings that apply them to row fields. Pure."""

from __future__ import annotations

from typing import Any

import altair as alt

from zoo.core.record import UNKNOWN
from zoo.report.cells import BARE

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

INK, RULE, GRID = "#333333", "#888888", "#dddddd"
"""The colours that the page's style sheet replaces with those of its light or dark mode."""

MODEL_STYLES = {
    "platform-thread": ("#d55e00", "square"),
    "virtual-thread": ("#0072b2", "circle"),
    "event-loop": ("#009e73", "triangle-up"),
    "async-task": ("#b5629b", "diamond"),
    "async-servlet": ("#a87800", "triangle-down"),
    "goroutine": ("#00838f", "triangle-left"),
    UNKNOWN: ("#6f7f2a", "triangle-right"),
    BARE: ("#7a7f87", "cross"),
}
"""Colour and shape of each thread model.

They can be distinguished with any colour vision and have a contrast of over 3:1 on white and on near-black.
"""

SIDE_STYLES = {
    "ahead": ("#0072b2", "circle"),
    "behind": ("#d55e00", "square"),
    "same": ("#7a7f87", "cross"),
    "open": ("#7a7f87", "diamond"),
}
"""Colour and shape of a ratio, by what it means for the first of its pair: better, worse, the same, or not known."""

QUANTILES = {"p50": "circle", "p99": "triangle-up", "p99.9": "diamond"}
"""The shapes of the latency quantiles."""

PAPER = "white"
"""The background of a picture in a separate file."""

DARK = {
    PAPER: "#14171a",
    "#000": "#e4e8ec",
    INK: "#e4e8ec",
    RULE: "#8a939c",
    GRID: "#343a41",
    "#0072b2": "#4aa3df",
    "#d55e00": "#ee7b30",
}
"""Replacements for colours on a dark screen; all other colours have a contrast of over 3:1 on both backgrounds."""

DASHES = {"0": [1, 0], "1": [6, 3], "2": [2, 2], "3": [8, 2, 2, 2]}
"""Dash patterns of the connection counts, from the lowest."""

OUTLINES = {
    "square": "M-5-5h10v10h-10z",
    "circle": "M0-5.5a5.5 5.5 0 1 0 .01 0z",
    "triangle-up": "M0-6L6 5H-6z",
    "triangle-down": "M0 6L6-5H-6z",
    "triangle-right": "M6 0L-5 6V-6z",
    "triangle-left": "M-6 0L5 6V-6z",
    "diamond": "M0-7L5 0L0 7L-5 0z",
    "cross": "M-2-6h4v4h4v4h-4v4h-4v-4h-4v-4h4z",
}
"""The shapes as SVG paths for a legend; they look like those that Vega draws."""

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
        "labelLimit": 320,
    },
    "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleY": -8, "titleX": -30},
    "text": {"color": INK, "fontSize": 12},
}


def base_chart() -> alt.Chart:
    return alt.Chart(alt.NamedData(name="points"))


def log_scale() -> alt.Scale:
    ends: Any = [alt.ExprRef("least"), alt.ExprRef("most")]
    return alt.Scale(type="log", domain=ends, nice=False)


def log_axis(title: str | None = None) -> alt.Axis:
    return alt.Axis(values=alt.ExprRef("ticks"), format=",~g", labelOverlap="greedy", title=title)


def plain_axis(title: str | None = None) -> alt.Axis:
    plain_zero = "datum.value == 0 ? '0' : datum.label"
    return alt.Axis(format="~s", tickCount=5, labelExpr=plain_zero, title=title)


def row_axis(name: str) -> alt.Y:
    """Return a y axis with one row per value, in the order of `place`."""
    order = alt.EncodingSortField(field="place", op="min")
    return alt.Y(f"{name}:N", sort=order, title=None, axis=alt.Axis(domain=False, ticks=False))


def scaled_encoding(channel: Any, name: str, values: dict[str, Any]) -> Any:  # noqa: ANN401 (altair's channels share no type)
    return channel(f"{name}:N", scale=alt.Scale(domain=list(values), range=list(values.values())), legend=None)


def colour_encoding(name: str, looks: dict[str, tuple[str, str]]) -> Any:  # noqa: ANN401
    return scaled_encoding(alt.Color, name, _colours(looks))


def mark_encodings(name: str, looks: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Return the colour and shape encodings of a mark; it is hollow if its row has `bound` set."""
    return {
        "fill": scaled_encoding(alt.Fill, name, _colours(looks)),
        "stroke": scaled_encoding(alt.Stroke, name, _colours(looks)),
        "shape": shape_encoding(name, looks),
        "fillOpacity": alt.when("datum.bound").then(alt.value(0)).otherwise(alt.value(1)),
    }


def shape_encoding(name: str = "kind", looks: dict[str, tuple[str, str]] = MODEL_STYLES) -> Any:  # noqa: ANN401
    """Return the shape encoding of a mark, by default that of its thread model."""
    return scaled_encoding(alt.Shape, name, {key: shape for key, (_, shape) in looks.items()})


def _colours(looks: dict[str, tuple[str, str]]) -> dict[str, str]:
    return {key: hue for key, (hue, _) in looks.items()}
