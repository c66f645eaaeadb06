"""How charts turn fields of their rows into place, colour and shape. Pure."""

from __future__ import annotations

from typing import Any

import altair as alt

from zoo.report.charts.looks import KINDS

Chart = alt.Chart | alt.LayerChart | alt.FacetChart


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
    return scaled(alt.Color, name, {key: hue for key, (hue, _) in looks.items()})


def marked(name: str, looks: dict[str, tuple[str, str]]) -> dict[str, Any]:
    """Colour and shape of a mark by what it is, hollow where `bound` says so."""
    hues = {key: hue for key, (hue, _) in looks.items()}
    return {
        "fill": scaled(alt.Fill, name, hues),
        "stroke": scaled(alt.Stroke, name, hues),
        "shape": scaled(alt.Shape, name, {key: shape for key, (_, shape) in looks.items()}),
        "fillOpacity": alt.when("datum.bound").then(alt.value(0)).otherwise(alt.value(1)),
    }


def shaped() -> Any:  # noqa: ANN401
    """By thread model."""
    return scaled(alt.Shape, "kind", {name: shape for name, (_, shape) in KINDS.items()})
