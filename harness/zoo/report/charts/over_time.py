"""Curves over the seconds of a load, and the times at which they reach 95%, for scenarios that start at rest. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import altair as alt

from zoo.core.entry_id import server_name
from zoo.core.trial_results import ColdResult, RampResult
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, slug
from zoo.report.charts.looks import MODEL_STYLES, RULE, Chart, base_chart, colour_encoding, plain_axis
from zoo.report.formatting import format_number, format_spread
from zoo.stats.summary import spread
from zoo.stats.trials import Found, LoadKey

Timed = TypeVar("Timed", RampResult, ColdResult)
"""A result with the time at which 95% of a rate was reached."""


def format_t95(found: Found[Timed]) -> str:
    """Format the times over all rounds, and in how many rounds 95% was never reached."""
    never = sum(result.t95_s is None for _, result in found)
    text = format_spread(spread(result.t95_s for _, result in found))
    if never == len(found):
        return "never"
    return text if not never else f"{text}, never in {never} of {len(found)}"


def format_reached(each: Sequence[Timed]) -> str:
    """Format the median time as the words before a variant: `after 2.2 s by`."""
    known = [r.t95_s for r in each if r.t95_s is not None]
    if len(known) < len(each):
        return f"not within {each[0].duration_s:g} s by"
    return f"after {format_number(statistics.median(known))} s by"


def curve_figure(level: LoadKey, name: str, form: Form, what: str, data: list[Datum]) -> Figure:
    """Return the figure of a server's curves over the seconds of a load."""
    where = f"{name}, {level[0]}, {level[1]} connections"
    description = f"{what}, by seconds since the load began, {where}. The table has the times."
    return Figure(slug(form.name, *level, name), f"{what}, {level[0]}", name, description, Drawing(form, data))


def curve_rows(
    kinds: Mapping[str, str],
    found: Mapping[str, Found[Timed]],
    of_server: str,
    points: Callable[[Timed], Iterable[Datum]],
) -> list[Datum]:
    """Return the points of each variant of a server in each round."""
    return [
        {"entry": entry, "kind": kinds[entry], "round": record.round, **point}
        for entry, rounds in sorted(found.items())
        if server_name(entry) == of_server
        for record, result in rounds
        for point in points(result)
    ]


def share_chart(title: str, limit: float, scale: Any = alt.Undefined) -> Chart:  # noqa: ANN401 (altair's own default)
    """Return a chart of a percentage over the seconds of a load; dashed: the limit to reach."""
    y = alt.Y("share:Q", scale=scale, axis=plain_axis(title))
    line = base_chart().mark_rule(color=RULE, strokeDash=[4, 3]).encode(y=alt.YDatum(limit))
    return alt.layer(line, step_line(y, alt.Tooltip("share:Q", title=title)))


def step_line(y: alt.Y, tooltip: str | alt.Tooltip) -> alt.Chart:
    """Return a chart of a quantity over the seconds of a load, a line per entry and round."""
    line: alt.Chart = (
        base_chart()
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(
            x=alt.X("s:Q", title="s", axis=alt.Axis(tickCount=6, grid=False)),
            y=y,
            color=colour_encoding("kind", MODEL_STYLES),
            detail=["entry:N", "round:N"],
            tooltip=["entry:N", "round:N", alt.Tooltip("s:Q", title="s"), tooltip],
        )
    )
    return line
