"""View of `cold`: when the steady rate is reached after the start, and which threads had to wait. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import altair as alt

from zoo.core.entry_id import server_name
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import ColdResult, ThreadUse
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, round_figure, slug
from zoo.report.charts.looks import RULE, Chart, base_chart, plain_axis
from zoo.report.formatting import format_number, format_spread
from zoo.report.view import Columns, Kinds, View, join_by_server, median_column, thin_out, trial_section
from zoo.scenarios.cold.analysis import REACHED, Times, served, until
from zoo.scenarios.ramp.view import step_line
from zoo.stats.summary import spread
from zoo.stats.trials import Found, LoadKey, each_result, list_loads, results

SOON_S, LATER_S = 10, 30
TEXT = (
    "All connections send from the moment the server listens, and no request came before. Steady rate: the rate of the "
    "same process afterwards, once it was warmed up first by a few connections and then by all. 95% after: the first "
    "second whose rate is at least 95% of the steady rate and stays there on average for 5 s. Compiler and request "
    f"threads: their CPU time and their wait for a processor in the first {LATER_S} s, or in the whole load if it is "
    "shorter. Request threads are those of the pool, or the carriers of virtual threads."
)


def _reached(found: Found[ColdResult]) -> str:
    never = sum(result.t95_s is None for _, result in found)
    if never == len(found):
        return "never"
    text = format_spread(spread(result.t95_s for _, result in found))
    return f"{text}, never in {never} of {len(found)}" if never else text


def _served(first_s: int) -> Callable[[Found[ColdResult]], str]:
    return median_column(lambda result: served(result.seconds, first_s))


def _times(
    use: Callable[[ColdResult], ThreadUse | None], read: Callable[[Times], float]
) -> Callable[[Found[ColdResult]], str]:
    return median_column(lambda result: None if (times := until(use(result), LATER_S)) is None else read(times))


COLUMNS: Columns[ColdResult] = {
    "95% after s": _reached,
    "steady req/s": median_column(lambda result: result.steady_rps),
    f"served in {SOON_S} s": _served(SOON_S),
    f"served in {LATER_S} s": _served(LATER_S),
    "compiler CPU s": _times(lambda result: result.compiler, lambda times: times.cpu_s),
    "compiler waited s": _times(lambda result: result.compiler, lambda times: times.waited_s),
    "request threads CPU s": _times(lambda result: result.request, lambda times: times.cpu_s),
    "request threads waited s": _times(lambda result: result.request, lambda times: times.waited_s),
}
SECTION = trial_section(
    "cold", TEXT, ColdResult, COLUMNS, lambda _, level: f"{level[0]} · closed, c = {level[1]}, from the start"
)


def answers(records: Sequence[Record]) -> list[str]:
    """Return after how many seconds each variant reached its steady rate."""
    made = []
    for level in list_loads(records):
        found = each_result(records, level, ColdResult)
        for name, text in join_by_server(
            records, {entry: _after(each) for entry, each in sorted(found.items())}
        ).items():
            way = level[0].partition(" ")[2]
            start = "cold start" if way == "default" else f"cold start with {way}"
            made.append(f"{name}, {start} at {level[1]} connections; 95% of the steady rate is reached: {text}.")
    return made


def _after(each: Sequence[ColdResult]) -> str:
    known = [result.t95_s for result in each if result.t95_s is not None]
    if len(known) < len(each):
        return f"not within {each[0].duration_s:g} s by"
    return f"after {format_number(statistics.median(known))} s by"


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return the rates over time of each load, one figure per server."""
    made = []
    for level in list_loads(records):
        found = results(records, level, ColdResult)
        servers = sorted({server_name(entry) for entry in found})
        if found:
            title = f"{level[0]}, {level[1]} connections: share of the steady rate"
            made.append(Group(title, [_figure(level, name, _shares(kinds, found, name)) for name in servers]))
    return made


def _figure(level: LoadKey, name: str, data: list[Datum]) -> Figure:
    return Figure(
        slug("cold", *level, name),
        f"share of the steady rate, {level[0]}",
        name,
        f"responses per second as a percentage of the steady rate, by seconds since the load began, {name}, "
        f"{level[0]}, {level[1]} connections. The table has the times.",
        Drawing(RATES, data),
    )


def _shares(kinds: Kinds, found: dict[str, list[tuple[Record, ColdResult]]], of_server: str) -> list[Datum]:
    """Return each second's rate as a percentage of the steady rate."""
    return [
        {
            "entry": entry,
            "kind": kinds[entry],
            "round": record.round,
            "s": second,
            "share": round_figure(100 * result.seconds[second] / result.steady_rps),
        }
        for entry, rounds in sorted(found.items())
        if server_name(entry) == of_server
        for record, result in rounds
        for second in thin_out(range(len(result.seconds)))
    ]


def _rates_chart() -> Chart:
    """Return a chart of the share of the steady rate over time; dashed: 95%."""
    y = alt.Y("share:Q", axis=plain_axis("% of the steady rate"))
    limit = base_chart().mark_rule(color=RULE, strokeDash=[4, 3]).encode(y=alt.YDatum(100 * REACHED))
    return alt.layer(limit, step_line(y, alt.Tooltip("share:Q", title="% of the steady rate")))


RATES = Form("cold", _rates_chart, 170)

VIEW = View("Cold start under load", SECTION, groups, answers)
