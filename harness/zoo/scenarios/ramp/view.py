"""The view of `ramp`: when all connections were served, with how many threads. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import altair as alt

from zoo.analysis.summary import spread
from zoo.analysis.trials import Found, LoadKey, each_result, levels, results
from zoo.model.entry_id import server_of
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import RampResult
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, short, slug
from zoo.report.charts.looks import KINDS, RULE, Chart, coloured, named_points, plain_axis
from zoo.report.columns import title_of
from zoo.report.formatting import format_number, format_spread
from zoo.report.view import Columns, Kinds, View, by_server, over, peak_column, thinned, total, trial_section

TEXT = (
    "All connections begin at once on a server at rest, and every request waits. t95: the first window of 100 ms at "
    "whose end 95 % of the connections had an answer within the last wait; none can come earlier than one wait. "
    "Plateau and last third: answers a second as a share of connections ÷ wait."
)
Rounds = dict[str, list[tuple[Record, RampResult]]]


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return the curves of each load, one figure per server."""
    made = []
    for level in levels(records):
        found = results(records, level, RampResult)
        servers = sorted({server_of(entry) for entry in found})
        shares = [_figure(level, name, RAMP, "connections served, %", _shares(kinds, found, name)) for name in servers]
        threads = [_figure(level, name, THREADS, "OS threads", _threads(kinds, found, name)) for name in servers]
        title = f"{level[0]}, {level[1]} connections"
        if found:
            made.append(Group(f"{title}: share that was answered within the last wait", shares))
            made.append(Group(f"{title}: OS threads", threads))
    return made


def _t95(found: Found[RampResult]) -> str:
    never = sum(result.t95_s is None for _, result in found)
    text = format_spread(spread(result.t95_s for _, result in found))
    if never == len(found):
        return "never"
    return text if not never else f"{text}, never in {never} of {len(found)}"


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


COLUMNS: Columns[RampResult] = {
    "t95 s": _t95,
    "plateau %": over(lambda r: _percent(r.plateau)),
    "last third %": over(lambda r: _percent(r.late)),
    title_of("threads_peak"): over(lambda r: max(r.threads, default=None)),
    title_of("answers"): total(lambda r: r.answered),
    "failed": total(lambda r: sum(r.failed.values())),
    **peak_column(),
}
SECTION = trial_section(
    "ramp", TEXT, RampResult, COLUMNS, lambda _, level: f"{level[0]} · closed, c = {level[1]}, from rest"
)


def answers(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        found = each_result(records, level, RampResult)
        for name, said in by_server(records, {entry: _reached(each) for entry, each in found.items()}).items():
            one = next(each[0] for entry, each in found.items() if server_of(entry) == name)
            made.append(
                f"{name}, {one.connections:,} connections at once whose requests wait {one.delay_s:g} s; "
                f"95 % are served: {said}."
            )
    return made


def _reached(each: Sequence[RampResult]) -> str:
    known = [r.t95_s for r in each if r.t95_s is not None]
    if len(known) < len(each):
        return f"not within {each[0].duration_s:g} s by"
    return f"after {format_number(statistics.median(known))} s by"


def _served(result: RampResult, at_s: float) -> float:
    """Return the share of the connections that were answered within the last wait, in percent."""
    end, size = round(at_s / result.window_s), max(1, round(result.delay_s / result.window_s))
    return 100 * sum(result.windows[max(0, end - size) : end]) / result.connections


def _figure(level: LoadKey, name: str, form: Form, what: str, data: list[Datum]) -> Figure:
    return Figure(
        slug(form.name, *level, name),
        f"{what}, {level[0]}",
        name,
        f"{what} over the seconds since the load began, {name}, {level[0]}, {level[1]} connections. "
        "The times are in the table.",
        Drawing(form, data),
    )


def _shares(kinds: Kinds, found: Rounds, of_server: str) -> list[Datum]:
    """The connections answered within the last wait at the ends of windows, in percent."""
    return [
        {
            "entry": entry,
            "kind": kinds[entry],
            "round": record.round,
            "s": short(end * result.window_s),
            "share": short(_served(result, end * result.window_s)),
        }
        for entry, rounds in found.items()
        if server_of(entry) == of_server
        for record, result in rounds
        for end in thinned(range(1, len(result.windows) + 1))
    ]


def _threads(kinds: Kinds, found: Rounds, of_server: str) -> list[Datum]:
    return [
        {"entry": entry, "kind": kinds[entry], "round": record.round, "s": short(at), "threads": count}
        for entry, rounds in found.items()
        if server_of(entry) == of_server
        for record, result in rounds
        for at, count in thinned(list(zip(result.threads_t, result.threads, strict=True)))
    ]


def _served_chart() -> Chart:
    """Connections served within the last wait, in percent, over the seconds of the load; dashed: 95 %."""
    y = alt.Y("share:Q", scale=alt.Scale(domain=[0, 105]), axis=plain_axis("% served"))
    limit = named_points().mark_rule(color=RULE, strokeDash=[4, 3]).encode(y=alt.YDatum(95))
    return alt.layer(limit, _line(y, alt.Tooltip("share:Q", title="% served")))


def _threads_chart() -> Chart:
    """OS threads over the seconds of the load."""
    return _line(alt.Y("threads:Q", axis=plain_axis("threads")), "threads:Q")


def _line(y: alt.Y, tooltip: str | alt.Tooltip) -> alt.Chart:
    line: alt.Chart = (
        named_points()
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(
            x=alt.X("s:Q", title="s", axis=alt.Axis(tickCount=6, grid=False)),
            y=y,
            color=coloured("kind", KINDS),
            detail=["entry:N", "round:N"],
            tooltip=["entry:N", "round:N", alt.Tooltip("s:Q", title="s"), tooltip],
        )
    )
    return line


RAMP = Form("ramp", _served_chart, 170)
THREADS = Form("threads", _threads_chart, 110)

VIEW = View("Ramp-up from rest", SECTION, groups, answers)
