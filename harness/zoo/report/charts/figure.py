"""A chart: a form, the rows that fill it, and its texts. Pure.

Building and validating a form takes longer than the whole rest of a page, and a page of a hundred charts would repeat
it for each chart. A page therefore holds each form once and keeps the rows separate.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

from zoo.core.record import Record
from zoo.report.cells import Cells
from zoo.report.charts.looks import Chart
from zoo.report.raw_files import RawFiles
from zoo.report.section import Table

Spec = dict[str, Any]
Datum = dict[str, Any]

ROW_HEIGHT = 20

MAX_TICKS = 7

TICK_GAP = 0.08
"""Smallest distance between two ticks, as a share of the axis; below it, their labels touch."""

IN_TABLE = "The table of all cells has the figures."


@dataclass(frozen=True)
class Form:
    """A chart without data. If its rows have a `place`, the number of places sets the height instead of `height`."""

    name: str
    draw: Callable[[], Chart]
    height: int = 0

    @property
    def template(self) -> Spec:
        """Return the form as Vega-Lite, as wide as its container and without the settings that all charts share."""
        return _template(self)


@cache
def _template(form: Form) -> Spec:
    spec: Spec = form.draw().to_dict()
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")} | {"width": "container"}


@dataclass(frozen=True)
class Drawing:
    """A form, the rows that it draws, and the settings that its expressions refer to."""

    form: Form
    points: list[Datum]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Return the height in pixels."""
        places = [d["place"] for d in self.points if "place" in d]
        return ROW_HEIGHT * (1 + max(places)) if places else self.form.height

    @property
    def spec(self) -> Spec:
        """Return the complete Vega-Lite specification."""
        params = [{"name": name, "value": value} for name, value in self.settings.items()]
        return {**self.form.template, "height": self.height, "datasets": {"points": self.points}, "params": params}


@dataclass(frozen=True)
class Figure:
    """A chart with its texts; `name` is unique on the page, and `title` is for a figure that is shown alone.

    `about` names the one scenario, connection count, server or variant that the figure shows, for the page's filter.
    """

    name: str
    title: str
    caption: str
    description: str
    drawing: Drawing
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """Figures that are shown together; a folded group is hidden until the reader opens it."""

    title: str
    figures: list[Figure]
    folded: bool = False


@dataclass(frozen=True)
class ChartData:
    """The data of a run that its charts are made from."""

    cells: Cells
    records: Sequence[Record]
    raw_files: RawFiles


@dataclass(frozen=True)
class ChartPart:
    """A section of a page: its heading, the text below it, its charts, and its tables if it has any."""

    id: str
    short_title: str
    heading: str
    text: str
    groups: Callable[[ChartData], list[Group]]
    tables: Callable[[Cells], list[Table]] = lambda _: []


def group_by_scenario(cells: Cells, figures: Callable[[str], list[Figure]], title: str = "{}") -> list[Group]:
    """Return a group for each scenario that has figures; `{}` in the title is the scenario."""
    return [Group(title.format(name), found) for name in cells.scenarios if (found := figures(name))]


def draw_on_log_axis(form: Form, points: list[Datum], values: Sequence[float], **settings: Any) -> Drawing:  # noqa: ANN401
    """Return a drawing with a logarithmic axis that has room for all values."""
    return Drawing(form, points, log_axis_settings(0.9 * min(values), 1.1 * max(values)) | settings)


def log_axis_settings(least: float, most: float, fine: Sequence[float] = ()) -> dict[str, Any]:
    """Return the ends of a logarithmic axis and its ticks: as many of 1, 2 and 5 per decade and of `fine` as fit.

    If `fine` as a whole does not fit, every second value of it may.
    """
    decades = [10.0**n for n in range(-4, 8)]
    steps = [*decades, *(m * d for m in (2, 5) for d in decades)]
    gap = TICK_GAP * math.log(most / least)
    for ticks in ([*steps, *fine], [*steps, *fine[::2]], steps, decades):
        within = sorted({t for t in ticks if least <= t <= most})
        if len(within) <= MAX_TICKS and all(math.log(b / a) >= gap for a, b in pairwise(within)):
            break
    return {"least": round_figure(least), "most": round_figure(most), "ticks": within}


def slug(*words: str) -> str:
    """Return the words as an HTML id: `memory-sleep-java-tomcat-virtual`."""
    return re.sub(r"[^a-z0-9.]+", "-", " ".join(words).lower()).strip("-")


def round_figure(value: float) -> float:
    """Round to four significant digits, which is more than any screen shows and keeps the page small."""
    return float(f"{value:.4g}")


def round_if_known(value: float | None) -> float | None:
    """Round like `round_figure`; None stays None."""
    return None if value is None else round_figure(value)
