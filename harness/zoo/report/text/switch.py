"""The answer to "Should I switch?" from committed runs: a table with a row per case and a column per server. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from zoo.core.entry_id import server_name
from zoo.report.formatting import format_interval, format_number
from zoo.report.section import NONE, Table
from zoo.report.wording import capitalize, format_by_server, format_comparison, join_names
from zoo.stats.memory_per_request import Cost
from zoo.stats.metrics import CPU, P99, Word
from zoo.stats.pairs import Comparison, Pair


@dataclass(frozen=True)
class Situation:
    """One row of the table: what the requests are like, what to do then, and a text per server."""

    requests: str
    advice: str
    by_server: Mapping[str, str] = field(default_factory=dict)


def render_cases(cases: Sequence[Situation]) -> Table:
    """Return the table of all cases, with a column for each server that has a text in any of them."""
    servers = sorted({server for case in cases for server in case.by_server})
    rows = [
        [f"**{case.requests}**", case.advice, *(case.by_server.get(server, NONE) for server in servers)]
        for case in cases
    ]
    columns = ["if your requests …", "then", *(f"[{server}]({server}/)" for server in servers)]
    return Table("switch", columns, rows, text=len(columns))


@dataclass(frozen=True)
class Advice:
    """Action to take about requests that wait in one server, and the figures that led to it."""

    action: str
    figures: str
    load: str


def waiting_case(advice: Mapping[str, Advice]) -> Situation | None:
    """Return the case of requests that wait, with the advice for each server; None if nothing was measured."""
    if not advice:
        return None
    actions = dict.fromkeys(one.action for one in advice.values())
    loads = dict.fromkeys(one.load for one in advice.values())
    texts = {server: f"{capitalize(one.action)}. {one.figures}" for server, one in advice.items()}
    return Situation(
        "wait, and more of them than the pool has threads", f"{' or '.join(actions)}. {'. '.join(loads)}", texts
    )


def database_case(comparison: Comparison, connections: int, wire_ms: int) -> Situation | None:
    """Return the case of scarce database connections, from a run that compared executors without an HTTP server."""
    if comparison.ratio is None:
        return None
    heading = _summarize([comparison], "virtual threads {}do more", "virtual threads {}do less", "")
    return Situation(
        "share a small database pool",
        f"{heading}: queries per second with {connections} connections and {wire_ms} ms to the database, virtual "
        f"threads vs. a cached pool: {format_comparison(comparison, 'more', 'fewer')}",
    )


def fast_case(pairs: Mapping[str, Sequence[Pair]], cpu_us: Mapping[tuple[str, str], float]) -> Situation | None:
    """Return the case of requests that do not wait.

    `pairs` has one pair for each connection count, by server; `cpu_us` is the CPU time per request in µs, by entry and
    connection count.
    """
    known = {
        server: found
        for server, each in pairs.items()
        if (found := [(p, c) for p in each if (c := p.comparisons.get(CPU)) and c.ratio])
    }
    if not known:
        return None
    comparisons = [comparison for found in known.values() for _, comparison in found]
    advice = _summarize(
        comparisons,
        "{}don't switch for speed",
        "switching {}saves CPU",
        "what switching costs or saves {}depends on the server and the load",
    )
    texts = {
        server: "<br>".join(
            f"at {p.requested:,}: {format_number(cpu_us[p.b, p.tier])} → {format_number(cpu_us[p.a, p.tier])} µs, "
            f"{format_comparison(comparison)}; p99 {format_comparison(p.comparisons[P99])}"
            for p, comparison in found
        )
        for server, found in known.items()
    }
    counts = [f"{count:,}" for count in sorted({p.requested for found in known.values() for p, _ in found})]
    load = f"Mean CPU per request, and p99 latency, at {join_names(counts)} connections, platform → virtual threads"
    return Situation("are fast", f"{advice}. {load}", texts)


def _summarize(comparisons: Sequence[Comparison], more: str, less: str, mixed: str) -> str:
    """Summarize several comparisons: by the certain ones if there are any, otherwise by the probable ones."""
    certain = [c for c in comparisons if c.verdict.differs]
    directions = {_direction(c) for c in certain or comparisons} - {0}
    if not directions:
        same = all(c.verdict.word is Word.SAME for c in comparisons)
        return "the same" if same else "no clear difference"
    text = (more if directions == {1} else less) if len(directions) == 1 else mixed
    return text.format("" if certain else "probably ")


def _direction(comparison: Comparison) -> int:
    """Return 1 for more, -1 for less, and 0 if neither is certain or probable."""
    ratio, verdict = comparison.ratio, comparison.verdict
    if ratio is None or verdict.word in (Word.SAME, Word.NOT_MEASURED) or not (verdict.differs or verdict.likely):
        return 0
    return 1 if ratio.value > 1 else -1


def memory_case(costs: Mapping[str, Cost], peaks: Mapping[str, float], servers: Sequence[str]) -> Situation | None:
    """Return the case of many waiting requests: kB for each and the peak, per server; the advice names other servers.

    `peaks` has the peak memory with the most requests, in MB. A server with several variants has the figures of each.
    """
    if not costs:
        return None
    by_server: dict[str, list[str]] = {}
    for entry, cost in costs.items():
        server, _, variant = entry.partition(":")
        peak = f", peak {format_number(round(peaks[entry]))} MB" if entry in peaks else ""
        by_server.setdefault(server, []).append(f"{format_interval(cost.interval, unit='kB')}{peak} ({variant})")
    others = {entry: cost.interval.value for entry, cost in costs.items() if server_name(entry) not in servers}
    advice = "memory per waiting request, and peak with the most of them"
    return Situation(
        "hold thousands of connections open",
        f"{advice}; {format_by_server(others, ' kB')}" if others else advice,
        {server: ", ".join(texts) for server, texts in by_server.items() if server in servers},
    )
