"""View of `cold`: when the steady rate is reached after the start, and which threads had to wait. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from zoo.core.entry_id import server_name
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import ColdResult, ThreadUse
from zoo.report.charts.figure import Datum, Form, Group, round_figure
from zoo.report.charts.over_time import curve_figure, curve_rows, format_reached, format_t95, share_chart
from zoo.report.formatting import format_spread
from zoo.report.view import Columns, Kinds, View, join_by_server, median_column, thin_out, trial_section
from zoo.scenarios.cold.analysis import REACHED, Times, served, until
from zoo.stats.summary import spread
from zoo.stats.trials import Found, each_result, list_loads, results

SOON_S, LATER_S = 10, 30
TEXT = (
    "All connections send from the moment the server listens, and no request came before. Steady rate: the rate of the "
    "same process afterwards, once it was warmed up first by a few connections and then by all. 95% after: the first "
    "second whose rate is at least 95% of the steady rate and stays there on average for 5 s. Compiler and request "
    f"threads: their CPU time and their wait for a processor in the first {LATER_S} s, or in the whole load if it is "
    "shorter. Request threads are those of the pool, or the carriers of virtual threads."
)


def _served(first_s: int) -> Callable[[Found[ColdResult]], str]:
    return median_column(lambda result: served(result.seconds, first_s))


def _times(
    use: Callable[[ColdResult], ThreadUse | None], read: Callable[[Times], float]
) -> Callable[[Found[ColdResult]], str]:
    return median_column(lambda result: None if (times := until(use(result), LATER_S)) is None else read(times))


COLUMNS: Columns[ColdResult] = {
    "95% after s": format_t95,
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
    """Return how much each variant served first, and after how many seconds it reached its steady rate."""
    made = []
    for level in list_loads(records):
        found = each_result(records, level, ColdResult)
        reached = join_by_server(records, {entry: format_reached(each) for entry, each in sorted(found.items())})
        first = _join_first(records, level)
        for name, text in reached.items():
            answered = f". Answered in the first {SOON_S} s: {first[name]}" if name in first else ""
            made.append(f"{name}, {_name_start(level)}{answered}. 95% of the steady rate is reached: {text}.")
    return made


def list_first(records: Sequence[Record]) -> list[str]:
    """Return a sentence per server and load with how much each variant served first."""
    return [
        f"{name}, {_name_start(level)}. Answered in the first {SOON_S} s: {text}."
        for level in list_loads(records)
        for name, text in _join_first(records, level).items()
    ]


def _join_first(records: Sequence[Record], level: tuple[str, str]) -> dict[str, str]:
    found = each_result(records, level, ColdResult)
    soon = {entry: spread(served(one.seconds, SOON_S) for one in each) for entry, each in sorted(found.items())}
    return join_by_server(records, {entry: f"{format_spread(count)} by" for entry, count in soon.items() if count})


def _name_start(level: tuple[str, str]) -> str:
    way = level[0].partition(" ")[2]
    return f"{'cold start' if way == 'default' else f'cold start with {way}'} at {level[1]} connections"


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return the rates over time of each load, one figure per server."""
    made = []
    for level in list_loads(records):
        found = results(records, level, ColdResult)
        servers = sorted({server_name(entry) for entry in found})
        if found:
            title = f"{level[0]}, {level[1]} connections: share of the steady rate"
            rows = {name: curve_rows(kinds, found, name, _shares) for name in servers}
            figures = [
                curve_figure(level, name, RATES, "share of the steady rate, %", data) for name, data in rows.items()
            ]
            made.append(Group(title, figures))
    return made


def _shares(result: ColdResult) -> Iterable[Datum]:
    """Return each second's rate as a percentage of the steady rate."""
    seconds = thin_out(range(len(result.seconds)))
    return ({"s": s, "share": round_figure(100 * result.seconds[s] / result.steady_rps)} for s in seconds)


RATES = Form("cold", lambda: share_chart("% of the steady rate", 100 * REACHED), 170)

VIEW = View("Cold start under load", SECTION, groups, answers)
