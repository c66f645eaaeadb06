"""A chart: a form, the rows that fill it, and what is said of it. Pure.

Building and checking a form takes longer than all the rest of a page, and a page of a hundred charts would repeat
each; so a page holds each form once, and the rows apart from it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

from zoo.model.record import Record
from zoo.report.cells import Cells
from zoo.report.charts.looks import Chart
from zoo.report.raw_files import RawFiles
from zoo.report.section import Table

Spec = dict[str, Any]
Datum = dict[str, Any]

ROW_HEIGHT = 20

MOST_TICKS = 7

TICK_GAP = 0.08
"""Least distance of two ticks, as a share of the axis; below it, their labels touch."""

IN_TABLE = "The figures are in the table of all cells."


@dataclass(frozen=True)
class Form:
    """A chart without data. A chart of rows, each with a `place`, is as high as they need."""

    name: str
    draw: Callable[[], Chart]
    height: int = 0

    @property
    def template(self) -> Spec:
        """As Vega-Lite, without what all charts share; as wide as its place on the page."""
        return _template(self)


@cache
def _template(form: Form) -> Spec:
    spec: Spec = form.draw().to_dict()
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")} | {"width": "container"}


@dataclass(frozen=True)
class Drawing:
    """A form, the rows that it draws, and settings that its expressions name."""

    form: Form
    points: list[Datum]
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """In pixels."""
        places = [d["place"] for d in self.points if "place" in d]
        return ROW_HEIGHT * (1 + max(places)) if places else self.form.height

    @property
    def spec(self) -> Spec:
        """As Vega-Lite draws it."""
        params = [{"name": name, "value": value} for name, value in self.settings.items()]
        return {**self.form.template, "height": self.height, "datasets": {"points": self.points}, "params": params}


@dataclass(frozen=True)
class Figure:
    """`name` is unlike that of any other figure of the page; `title` is for a figure that stands alone.

    `about` says of which scenario, tier, server or variant alone it is, for the page's filter.
    """

    name: str
    title: str
    caption: str
    description: str
    drawing: Drawing
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """Figures that stand together; folded ones are shown when asked for."""

    title: str
    figures: list[Figure]
    folded: bool = False


@dataclass(frozen=True)
class Drawn:
    """What a run's charts are made of."""

    cells: Cells
    records: Sequence[Record]
    evidence: RawFiles


@dataclass(frozen=True)
class ChartPart:
    """A section of a page: its heading, what is said below it, its charts, and tables where it has some."""

    id: str
    short: str
    heading: str
    text: str
    groups: Callable[[Drawn], list[Group]]
    tables: Callable[[Cells], list[Table]] = lambda _: []


def by_scenario(cells: Cells, figures: Callable[[str], list[Figure]], title: str = "{}") -> list[Group]:
    """Return a group for each scenario that has figures; `{}` in the title is the scenario."""
    return [Group(title.format(name), found) for name in cells.scenarios if (found := figures(name))]


def logarithmic(form: Form, points: list[Datum], values: Sequence[float], **settings: Any) -> Drawing:  # noqa: ANN401
    """A form whose figures stand on a logarithmic axis, with room for all of them."""
    return Drawing(form, points, span(0.9 * min(values), 1.1 * max(values)) | settings)


def span(least: float, most: float, fine: Sequence[float] = ()) -> dict[str, Any]:
    """Ends of a logarithmic axis and its ticks: as many of 1, 2, 5 and `fine` a decade as have room.

    Where all of `fine` have none, every second of it may.
    """
    decades = [10.0**n for n in range(-4, 8)]
    steps = [*decades, *(m * d for m in (2, 5) for d in decades)]
    gap = TICK_GAP * math.log(most / least)
    for ticks in ([*steps, *fine], [*steps, *fine[::2]], steps, decades):
        within = sorted({t for t in ticks if least <= t <= most})
        if len(within) <= MOST_TICKS and all(math.log(b / a) >= gap for a, b in pairwise(within)):
            break
    return {"least": short(least), "most": short(most), "ticks": within}


def slug(*words: str) -> str:
    """Words as an id in HTML: `memory-sleep-java-tomcat-virtual`."""
    return re.sub(r"[^a-z0-9.]+", "-", " ".join(words).lower()).strip("-")


def short(value: float) -> float:
    """Four digits that count are more than any screen shows, and keep the page small."""
    return float(f"{value:.4g}")


def short_if_known(value: float | None) -> float | None:
    """The same; None stays None."""
    return None if value is None else short(value)
