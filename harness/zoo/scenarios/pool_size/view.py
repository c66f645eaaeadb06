"""View of `pool-size`: who was served, at what cost, and what to do about it. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import PoolSizeResult
from zoo.report.answer import AnswerBlock, Line
from zoo.report.charts.figure import Group, slug
from zoo.report.formatting import format_count, format_number, format_spread
from zoo.report.section import NONE, Section, Table
from zoo.report.text.switch import Advice
from zoo.report.view import Kinds, View, dot_figure, dots, median_column, notes, peak_column
from zoo.report.wording import capitalize
from zoo.scenarios.pool_size.analysis import PoolOption, Rounds, option, recommend, rounds_of
from zoo.scenarios.pool_size.spec import PoolChoice
from zoo.stats.interval import mean_interval
from zoo.stats.summary import spread
from zoo.stats.trials import peak_mb

TEXT = (
    "All requests are sent at once, one per connection, and each waits. The current pool is compared with one of half "
    "as many threads as requests, one of as many, and virtual threads. Served in the first wait: the response came "
    "before any thread could serve a second request. A request without a response at the client's timeout counts as "
    "slower than the timeout."
)
Text = Callable[[Rounds], str]


def _threads(rounds: Rounds) -> str:
    one = option(rounds)
    if one.size is PoolChoice.VIRTUAL:
        return "virtual"
    size = "sizes itself" if one.pool is None else f"{one.pool:,}"
    return f"{size} (now)" if one.size is PoolChoice.CURRENT else size


def _served(rounds: Rounds) -> str:
    return format_spread(spread(float(result.served_first) for _, result in rounds))


def _latency(name: str, share: float) -> Text:
    """Return a column's function; a quantile that falls on a request without a response is above the timeout."""

    def text(rounds: Rounds) -> str:
        values = [getattr(result.latency, name) for _, result in rounds]
        if None not in values:
            return format_spread(spread(us / 1e6 for us in values))
        late = any(result.served < math.ceil(share * result.requests) for _, result in rounds)
        return f"> {rounds[0][1].timeout_s:g}" if late else NONE

    return text


def _mb(read: Callable[[PoolSizeResult], int | None]) -> Text:
    return median_column(lambda result: None if (kb := read(result)) is None else kb / 1024)


def _cpu(rounds: Rounds) -> str:
    known = (record.trial.work for record, _ in rounds if record.trial)
    return format_spread(spread(work.cpu_s_per_million for work in known if work))


def _hello(rounds: Rounds) -> str:
    """Return the CPU time per fast request; a server that lost a thread of its own may serve none."""
    each = [result.hello for _, result in rounds]
    if any(one is None or not one.answers for one in each):
        return "no response"
    return format_spread(spread(one.cpu_us for one in each if one))


def _stopped(rounds: Rounds) -> str:
    one = option(rounds).stop
    return f"{one.by}: {one.fix}" if one.fix else one.by or NONE


OUTCOME: Mapping[str, Text] = {
    "served in the first wait": _served,
    "p50 s": _latency("p50_us", 0.5),
    "p90 s": _latency("p90_us", 0.9),
    "all had a thread after s": median_column(lambda result: result.grown_s),
    **peak_column(),
    "CPU µs per request": _cpu,
    "CPU µs per `hello`": _hello,
}
MEMORY: Mapping[str, Text] = {
    "OS threads": median_column(lambda result: result.threads),
    "RSS while all wait MB": _mb(lambda result: result.rss_kb),
    "heap in use MB": _mb(lambda result: result.heap_kb),
    "thread stacks MB": _mb(lambda result: result.stacks_kb),
    "threads during `hello`": median_column(lambda result: result.hello.threads if result.hello else None),
    "limit that was reached": _stopped,
}


def section(records: Sequence[Record]) -> Section:
    tables: list[Table] = []
    following: dict[str, str] = {}
    for (server, requests), each in rounds_of(records).items():
        title = f"pool-size · {server}, {requests:,} requests at once, each waits {each[0][0][1].delay_s:g} s"
        names = [[rounds[0][0].entry, _threads(rounds)] for rounds in each]
        for columns, about in ((OUTCOME, title), (MEMORY, f"{title}: memory and limits")):
            rows = [
                [*name, *(text(rounds) for text in columns.values())] for name, rounds in zip(names, each, strict=True)
            ]
            tables.append(Table(about, ["entry", "threads", *columns], rows, text=2))
        found = recommend(list(map(option, each)))
        if found and found.next:  # that of the largest number of requests stays
            following[server] = (
                f"{server}, if you {found.text}, this comes next. {'. '.join(map(capitalize, found.next))}."
            )
    return Section("Scenario pool-size", [TEXT], tables, [*following.values(), *notes(records)])


def answers(records: Sequence[Record]) -> list[str]:
    """Return the recommendation for each server and number of requests."""
    made = []
    for (server, requests), each in rounds_of(records).items():
        if found := recommend(list(map(option, each))):
            delay_s = each[0][0][1].delay_s
            made.append(
                f"{server}, {requests:,} requests that wait {delay_s:g} s at once: {found.text}. "
                f"{capitalize(found.why)}."
            )
    return made


def answer_block(records: Sequence[Record]) -> AnswerBlock | None:
    """Return what to do about requests that wait, for the server of a run with one number of requests.

    Return None if its current pool was not measured.
    """
    for each in rounds_of(records).values():
        options = list(map(option, each))
        if found := recommend(options):
            one = each[0][0][1]
            return AnswerBlock(
                name="waiting",
                heading="If requests wait",
                verdict=found.text,
                reason=f"with {one.requests:,} requests at once that wait {one.delay_s:g} s each, {found.why}",
                lines=list(map(_answer_line, options)),
                notes=list(map(capitalize, found.next)),
            )
    return None


def switch_advice(records: Sequence[Record]) -> Advice | None:
    """Return what to do at one server, with the options that decide it and their load.

    Return None if its current pool was not measured.
    """
    for each in rounds_of(records).values():
        options = list(map(option, each))
        if found := recommend(options):
            enough = min((one.pool for one in options if one.pool and one.complete), default=found.pool)
            decisive = [
                one
                for one in options
                if one.size in (PoolChoice.CURRENT, PoolChoice.VIRTUAL) or one.pool == enough is not None
            ]
            load = f"Served in the first wait of {options[0].requests:,} requests at once, each waiting "
            figures = capitalize("; ".join(map(_switch_figures, decisive)))
            rounds = format_count(max(map(len, each)), "round")
            return Advice(found.text, figures, f"{load}{options[0].delay_s:g} s, and peak memory; {rounds}")
    return None


def _switch_figures(found: PoolOption) -> str:
    """Return how many requests an option serves in the first wait, and its peak memory."""
    served = "all" if found.complete else f"{found.served_first:,}"
    peak = "" if found.peak_mb is None else f" ({format_number(found.peak_mb)} MB)"
    return f"{found.name}: {served}{peak}"


def _answer_line(found: PoolOption) -> Line:
    """Return how many requests an option serves, and what it costs."""
    cost = [
        "" if found.peak_mb is None else f"peak memory {format_number(found.peak_mb)} MB",
        "" if found.hello_cpu_us is None else f"{format_number(found.hello_cpu_us)} µs of CPU per fast request",
        found.stop.by and f"limited by {found.stop.by}",
    ]
    served = f"{found.served_first:,} of {found.requests:,} in the first wait"
    now = " (now)" if found.size is PoolChoice.CURRENT else ""
    return Line(subject=f"{capitalize(found.name)}{now}", text=", ".join(filter(None, [served, *cost])))


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return the shares served in the first wait and the peak memory, with a figure for each number of requests."""
    by_requests: dict[int, dict[str, Rounds]] = {}
    models: dict[str, str] = {}
    for (_, requests), each in rounds_of(records).items():
        for rounds in each:
            label = f"{rounds[0][0].entry}, {_threads(rounds)}"
            models[label] = kinds[rounds[0][0].entry]
            by_requests.setdefault(requests, {})[label] = rounds
    made = []
    for requests, found in sorted(by_requests.items()):
        served = {name: [100 * r.served_first / r.requests for _, r in rounds] for name, rounds in found.items()}
        memory = {name: [mb for r, _ in rounds if (mb := peak_mb(r)) is not None] for name, rounds in found.items()}
        notes_of = {name: "no figure" for name, seen in memory.items() if not seen}
        title = f"{requests:,} requests at once"
        figures = [
            *dot_figure(
                slug("pool-served", str(requests)),
                title,
                "served in the first wait, %",
                dots(models, served, mean_interval),
            ),
            *dot_figure(
                slug("pool-memory", str(requests)),
                title,
                "peak memory, MB",
                dots(models, memory, mean_interval, notes_of),
            ),
        ]
        made.append(Group(title, figures))
    return made


VIEW = View("Requests that wait, by pool size", section, groups, answers)
