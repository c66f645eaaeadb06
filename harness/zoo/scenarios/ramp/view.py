"""View of `ramp`: when all connections were served, and with how many threads. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import altair as alt

from zoo.core.entry_id import server_name
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import RampResult
from zoo.report.charts.figure import Datum, Form, Group, round_figure
from zoo.report.charts.looks import Chart, plain_axis
from zoo.report.charts.over_time import (
    curve_figure,
    curve_rows,
    format_reached,
    format_t95,
    share_chart,
    step_line,
)
from zoo.report.columns import title_of
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
from zoo.stats.trials import each_result, list_loads, results

TEXT = (
    "All connections start at once on a server at rest, and every request waits. t95: the end of the "
    "first 100 ms window in which 95% of the connections had received a response within the last "
    "wait; it cannot be shorter than one wait. Plateau and last third: responses per second as a "
    "share of connections ÷ wait."
)


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


def _served_percent(result: RampResult, at_s: float) -> float:
    """Return the percentage of connections that got a response within the last delay."""
    end, size = round(at_s / result.window_s), max(1, round(result.delay_s / result.window_s))
    return 100 * sum(result.windows[max(0, end - size) : end]) / result.connections


def _shares(result: RampResult) -> Iterable[Datum]:
    """Return the percentage of connections that got a response within the last delay, at the end of each window."""
    ends = [end * result.window_s for end in thin_out(range(1, len(result.windows) + 1))]
    return ({"s": round_figure(at), "share": round_figure(_served_percent(result, at))} for at in ends)


def _threads(result: RampResult) -> Iterable[Datum]:
    seen = thin_out(list(zip(result.threads_t, result.threads, strict=True)))
    return ({"s": round_figure(at), "threads": count} for at, count in seen)


def _threads_chart() -> Chart:
    """Return a chart of the OS threads over time."""
    return step_line(alt.Y("threads:Q", axis=plain_axis("threads")), "threads:Q")


RAMP = Form("ramp", lambda: share_chart("% served", 95, alt.Scale(domain=[0, 105])), 170)
THREADS = Form("threads", _threads_chart, 110)

VIEW = View("Ramp-up from rest", SECTION, groups, answers)
