"""The charts of a page as data for its script: each form and each set of rows once, each word once a column. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zoo.report.charts.figure import Datum, Figure
from zoo.report.charts.looks import THEME


def packed(figures: Sequence[Figure]) -> dict[str, Any]:
    """`figures` name their form, their set of rows, their height and their settings."""
    sets: list[list[Datum]] = []
    drawn = {}
    for figure in figures:
        drawing = figure.drawing
        place = next((n for n, known in enumerate(sets) if known is drawing.points), len(sets))
        if place == len(sets):
            sets.append(drawing.points)
        drawn[figure.name] = [drawing.form.name, place, drawing.height, drawing.settings]
    return {
        "theme": THEME,
        "templates": {form.name: form.template for form in dict.fromkeys(f.drawing.form for f in figures)},
        "sets": [{name: column([d[name] for d in points]) for name in points[0]} for points in sets],
        "figures": drawn,
    }


def column(values: Sequence[object]) -> dict[str, Any]:
    """Words are told once, and by their places from then on: the names of entries would be half of a long page."""
    if not any(isinstance(value, str) for value in values):
        return {"values": list(values)}
    words = list(dict.fromkeys(values))
    places = {word: place for place, word in enumerate(words)}
    return {"words": words, "places": [places[value] for value in values]}
