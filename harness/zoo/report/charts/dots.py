"""An entry a row: its rounds as ticks, the interval as a bar, the median as a mark. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

import altair as alt

from zoo.analysis.stats import student_ratio
from zoo.analysis.summary import Row
from zoo.model.measurement import Measurement
from zoo.report.cells import Cells, Level
from zoo.report.charts.encoding import (
    Chart,
    coloured,
    entry_rows,
    log_axis,
    log_scale,
    marked,
    named_points,
    plain_axis,
)
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, logarithmic, short, short_if_known, slug
from zoo.report.charts.looks import KINDS
from zoo.report.formatting import format_number
from zoo.report.text.wording import words

Read = Callable[[Measurement], float | None]

ESTIMATE = "Tick: a round; mark: their median; bar: 95 % interval of their geometric mean (Student, on logarithms)."


def by_level(
    cells: Cells, name: str, title: str, read: Read, *, log: bool = False, bounds: bool = False
) -> list[Group]:
    """A figure a load, a group a scenario: one reading of all entries."""
    groups = []
    for scenario in cells.scenarios:
        figures = []
        for level in cells.levels:
            if level.scenario != scenario:
                continue
            data = estimates(cells, level, read, bounds=bounds)
            if data:
                figures.append(
                    Figure(
                        slug(name, level.scenario, level.tier),
                        title,
                        level.caption,
                        f"{title}, {level.title}: " + "; ".join(map(told, data)),
                        dotted(data, log=log),
                        {"scenario": scenario, "tier": level.tier},
                    )
                )
        if figures:
            groups.append(Group(scenario, figures))
    return groups


def dotted(data: list[Datum], *, log: bool) -> Drawing:
    """Estimates, a row each."""
    if not log:
        return Drawing(DOTS, data)
    return logarithmic(LOG_DOTS, data, [v for d in data for v in d["rounds"]])


def told(d: Datum) -> str:
    """An estimate in words."""
    value = (
        d["note"] or "nothing"
        if d["value"] is None
        else f"{'at least ' if d['bound'] else ''}{format_number(d['value'])}"
    )
    return f"{d['entry']} {value}"


def estimates(cells: Cells, level: Level, read: Read, *, bounds: bool = False) -> list[Datum]:
    """An entry a row: its rounds, their median, the interval of their mean; or why there is none.

    With `bounds`, lower bounds are marked.
    """
    made: list[Datum] = []
    for row in cells.at(level):
        seen = [m for _, m in cells.measured(level, row.entry)]
        values = [v for v in map(read, seen) if v is not None]
        made.append(
            {
                "entry": row.entry,
                "place": len(made),
                "kind": cells.kinds[row.entry],
                **estimate(values),
                "bound": bounds and row.lower_bound,
                "note": _note(row, values, bounds=bounds),
                "flags": ", ".join(words(flag) for flag, _ in row.flags) or "none",
            }
        )
    return made if any(d["value"] is not None for d in made) else []


def estimate(values: Sequence[float]) -> Datum:
    """The interval is that of the geometric mean."""
    low = high = None
    if len(values) > 1 and min(values) > 0:
        mean = student_ratio([math.log(value) for value in values])
        low, high = mean.low, mean.high
    return dot(statistics.median(values) if values else None, low, high, values)


def dot(value: float | None, low: float | None, high: float | None, rounds: Sequence[float]) -> Datum:
    """An estimate with the rounds that it is of."""
    return {
        "value": short_if_known(value),
        "low": short_if_known(low),
        "high": short_if_known(high),
        "rounds": [short(v) for v in rounds],
        "text": " · ".join(format_number(v) for v in rounds) or "none",
    }


def _note(row: Row, values: Sequence[float], *, bounds: bool) -> str:
    if not row.measured:
        return "failed"
    if not values:
        return "not measurable"
    if bounds and row.ceiling_rps is not None:
        return f"pool: at most {format_number(row.ceiling_rps)}/s"
    return ""


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


DOTS = Form("dots", lambda: _dots(alt.Scale(zero=True), plain_axis()))
LOG_DOTS = Form("log-dots", lambda: _dots(log_scale(), log_axis()))
