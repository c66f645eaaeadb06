"""View of `ramp`: when all connections were served, and with how many threads. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import altair as alt

from zoo.core.entry_id import server_name
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import ColdResult, RampResult
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, round_figure, slug
from zoo.report.charts.looks import MODEL_STYLES, RULE, Chart, base_chart, colour_encoding, plain_axis
from zoo.report.columns import title_of
from zoo.report.formatting import format_number, format_spread
from zoo.report.view import (
    Columns,
    Kinds,
    View,
    join_by_server,
    median_column,
    peak_column,
    sum_column,
    thin_out,
    trial_section,
)
from zoo.stats.summary import spread
from zoo.stats.trials import Found, LoadKey, each_result, list_loads, results

TEXT = (
    "All connections start at once on a server at rest, and every request waits. t95: the end of the "
    "first 100 ms window in which 95% of the connections had received a response within the last "
    "wait; it cannot be shorter than one wait. Plateau and last third: responses per second as a "
    "share of connections ÷ wait."
)
Timed = TypeVar("Timed", RampResult, ColdResult)
"""A result with the time at which 95% of a rate was reached."""


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return the curves of each load, one figure per server."""
    made = []
    for level in list_loads(records):
        found = results(records, level, RampResult)
        servers = sorted({server_name(entry) for entry in found})
        shares = [
            curve_figure(level, name, RAMP, "connections served, %", curve_rows(kinds, found, name, _shares))
            for name in servers
        ]
        threads = [
            curve_figure(level, name, THREADS, "OS threads", curve_rows(kinds, found, name, _threads))
            for name in servers
        ]
        title = f"{level[0]}, {level[1]} connections"
        if found:
            made.append(Group(f"{title}: share of connections answered within the last wait", shares))
            made.append(Group(f"{title}: OS threads", threads))
    return made


def format_t95(found: Found[Timed]) -> str:
    """Format the times over all rounds, and in how many rounds 95% was never reached."""
    never = sum(result.t95_s is None for _, result in found)
    text = format_spread(spread(result.t95_s for _, result in found))
    if never == len(found):
        return "never"
    return text if not never else f"{text}, never in {never} of {len(found)}"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


COLUMNS: Columns[RampResult] = {
    "t95 s": format_t95,
    "plateau %": median_column(lambda r: _percent(r.plateau)),
    "last third %": median_column(lambda r: _percent(r.late)),
    title_of("threads_peak"): median_column(lambda r: max(r.threads, default=None)),
    title_of("answers"): sum_column(lambda r: r.answered),
    "failed": sum_column(lambda r: sum(r.failed.values())),
    **peak_column(),
}
SECTION = trial_section(
    "ramp", TEXT, RampResult, COLUMNS, lambda _, level: f"{level[0]} · closed, c = {level[1]}, from rest"
)


def answers(records: Sequence[Record]) -> list[str]:
    made = []
    for level in list_loads(records):
        found = each_result(records, level, RampResult)
        for name, times in join_by_server(
            records, {entry: format_reached(each) for entry, each in found.items()}
        ).items():
            one = next(each[0] for entry, each in found.items() if server_name(entry) == name)
            made.append(
                f"{name}, {one.connections:,} connections at once whose requests wait {one.delay_s:g} "
                f"s; 95% are answered: {times}."
            )
    return made


def format_reached(each: Sequence[Timed]) -> str:
    """Format the median time as the words before a variant: `after 2.2 s by`."""
    known = [r.t95_s for r in each if r.t95_s is not None]
    if len(known) < len(each):
        return f"not within {each[0].duration_s:g} s by"
    return f"after {format_number(statistics.median(known))} s by"


def _served_percent(result: RampResult, at_s: float) -> float:
    """Return the percentage of connections that got a response within the last delay."""
    end, size = round(at_s / result.window_s), max(1, round(result.delay_s / result.window_s))
    return 100 * sum(result.windows[max(0, end - size) : end]) / result.connections


def curve_figure(level: LoadKey, name: str, form: Form, what: str, data: list[Datum]) -> Figure:
    """Return the figure of a server's curves over the seconds of a load."""
    return Figure(
        slug(form.name, *level, name),
        f"{what}, {level[0]}",
        name,
        f"{what}, by seconds since the load began, {name}, {level[0]}, {level[1]} connections. The table has the times.",
        Drawing(form, data),
    )


def curve_rows(
    kinds: Kinds, found: Mapping[str, Found[Timed]], of_server: str, points: Callable[[Timed], Iterable[Datum]]
) -> list[Datum]:
    """Return the points of each variant of a server in each round."""
    return [
        {"entry": entry, "kind": kinds[entry], "round": record.round, **point}
        for entry, rounds in sorted(found.items())
        if server_name(entry) == of_server
        for record, result in rounds
        for point in points(result)
    ]


def _shares(result: RampResult) -> Iterable[Datum]:
    """Return the percentage of connections that got a response within the last delay, at the end of each window."""
    ends = [end * result.window_s for end in thin_out(range(1, len(result.windows) + 1))]
    return ({"s": round_figure(at), "share": round_figure(_served_percent(result, at))} for at in ends)


def _threads(result: RampResult) -> Iterable[Datum]:
    seen = thin_out(list(zip(result.threads_t, result.threads, strict=True)))
    return ({"s": round_figure(at), "threads": count} for at, count in seen)


def share_chart(title: str, limit: float, scale: Any = alt.Undefined) -> Chart:  # noqa: ANN401 (altair's own default)
    """Return a chart of a percentage over the seconds of a load; dashed: the limit to reach."""
    y = alt.Y("share:Q", scale=scale, axis=plain_axis(title))
    line = base_chart().mark_rule(color=RULE, strokeDash=[4, 3]).encode(y=alt.YDatum(limit))
    return alt.layer(line, step_line(y, alt.Tooltip("share:Q", title=title)))


def _threads_chart() -> Chart:
    """Return a chart of the OS threads over time."""
    return step_line(alt.Y("threads:Q", axis=plain_axis("threads")), "threads:Q")


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


RAMP = Form("ramp", lambda: share_chart("% served", 95, alt.Scale(domain=[0, 105])), 170)
THREADS = Form("threads", _threads_chart, 110)

VIEW = View("Ramp-up from rest", SECTION, groups, answers)
