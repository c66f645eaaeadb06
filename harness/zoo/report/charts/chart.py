"""A chart: a form, the rows that fill it, and settings such as the ends of its axes. Pure.

Building and checking a form takes longer than all the rest of a page, and a page of a hundred charts would repeat
each; so a page holds each form once, and the rows apart from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from zoo.report.charts import lines
from zoo.report.charts.forms import Spec, template
from zoo.report.charts.looks import KINDS
from zoo.report.charts.points import Datum, short

ROW_HEIGHT = 20
HEIGHTS = {
    "curves": 200,
    "held": 200,
    "memory": 130,
    "warmup": 110,
    "course": 110,
    "limited-course": 110,
    "pools": 260,
    **lines.HEIGHTS,
}
NEAR_ONE = (0.8, 0.9, 1, 1.1, 1.25)
MOST_TICKS = 7


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


def forest(points: list[Datum]) -> Drawing:
    """Pairs with room for every ratio and for 1; an interval far wider than all of them runs off the edge."""
    ratios = [d["ratio"] for d in points]
    low = max(min([*ratios, *(d["low"] for d in points if d["low"] is not None)]), min(ratios) / 2)
    high = min(max([*ratios, *(d["high"] for d in points if d["high"] is not None)]), max(ratios) * 2)
    least, most = min(low, 0.9), max(high, 1.1)
    margin = (most / least) ** 0.04
    return Drawing("forest", points, _span(least / margin, most * margin, NEAR_ONE))


def beside(points: list[Datum]) -> Drawing:
    """The same with the published ratio of each pair."""
    known = [{**d, "ratio": d["published"], "low": None, "high": None} for d in points if d["published"] is not None]
    return Drawing("beside", points, forest([*points, *known]).settings)


def logarithmic(name: str, points: list[Datum], values: Sequence[float], **settings: Any) -> Drawing:  # noqa: ANN401
    """A template whose figures stand on a logarithmic axis, with room for all of them."""
    return Drawing(name, points, _span(0.9 * min(values), 1.1 * max(values)) | settings)


def _span(least: float, most: float, fine: Sequence[float] = ()) -> dict[str, Any]:
    """Ends of a logarithmic axis and its ticks: as many of 1, 2, 5 and `fine` a decade as there is room for."""
    decades = [10.0**n for n in range(-4, 8)]
    steps = [*decades, *(m * d for m in (2, 5) for d in decades)]
    for ticks in ([*steps, *fine], steps, decades):
        within = sorted({t for t in ticks if least <= t <= most})
        if len(within) <= MOST_TICKS:
            break
    return {"least": short(least), "most": short(most), "ticks": within}


def warmup(points: list[Datum], kind: str) -> Drawing:
    return Drawing("warmup", points, {"hue": KINDS[kind][0]})


def course(points: list[Datum], metric: str, limit: float | None) -> Drawing:
    """One metric of the same rows; cells are flagged from `limit` on."""
    if limit is None:
        return Drawing("course", points, {"metric": metric})
    return Drawing("limited-course", points, {"metric": metric, "limit": limit})
