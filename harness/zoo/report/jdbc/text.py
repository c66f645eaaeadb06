"""The text of a database run's report and of the documents' parts about database runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.pairs import Compared, Kind
from zoo.analysis.stats import Ratio
from zoo.analysis.summary import spread
from zoo.jdbc import plan
from zoo.jdbc.analysis import BASELINE, OPS, VIRTUAL, Records, Row, compare, last_floods, paired, rows
from zoo.jdbc.published import SOURCE, TABLES
from zoo.jdbc.published import Table as Published
from zoo.jdbc.records import Cell, FloodRecord, JdbcRun, PlanFacts, Profile
from zoo.model.record import last_error
from zoo.report.columns import title_of
from zoo.report.findings import BAD, GOOD, Finding, findings
from zoo.report.formatting import (
    format_duration,
    format_interval,
    format_memory,
    format_number,
    format_percent,
    format_ratio,
    format_spread,
)
from zoo.report.section import NONE, Section, Table
from zoo.report.text.comparisons import Titles
from zoo.report.text.comparisons import sections as compared_sections
from zoo.report.text.markdown import render_table

BOUND_MARK = "⊤"
RESOURCES = (title_of("rss_peak_mb"), title_of("threads_peak"))

ANSWER = "What virtual threads give, and when the pool is the bottleneck"
CELLS = "All cells"
FLOODS = "Executors without a bound"

TITLES: Titles = {
    Kind.MODEL: ("Virtual threads over a cached pool", f"{VIRTUAL} ÷ {BASELINE}, same cell, same round"),
    Kind.VARIANT: ("Virtual threads over the other executors", "same cell, same round"),
    Kind.CONDITION: ("The same executor elsewhere", "the other database, or the published pool; same round"),
}


def document(run: JdbcRun, records: Records, notes: Sequence[str] = ()) -> list[Section]:
    """The whole report of a run; `notes` stand in its head."""
    found, compared = rows(records), compare(records)
    floods = last_floods(records)
    return [
        _head(run, found, notes),
        answer(found, compared, floods),
        published(found, compared),
        *compared_sections(compared, run.plan.profile.rounds, TITLES, family="metric"),
        _cells(found),
        *([_floods(floods)] if floods else []),
        _host(run, found),
    ]


def _head(run: JdbcRun, found: dict[Cell, Row], notes: Sequence[str]) -> Section:
    used = run.plan.profile
    failed = sum(len(row.failures) for row in found.values())
    measured = sum(len(row.rounds) for row in found.values())
    planned = len(run.plan.cells) * used.rounds
    missing = planned - measured - failed
    state = f"{measured} of {planned} cells measured, {failed} failed" + (f", {missing} not run yet" if missing else "")
    dirty = " with uncommitted changes" if run.dirty else ""
    paragraphs = [
        f"{state}. Profile {used.name}: {used.rounds} round(s); a round is one fork of JMH for every cell, on a fresh "
        f"database, {used.warmups} × {used.warmup_s} s warm-up and {used.iterations} × {used.iteration_s} s. "
        f"Commit {(run.commit or 'unknown')[:12]}{dirty}; protocol {run.protocol}; runtime {run.plan.runtime}; "
        f"JDK {run.jdk}; order seed {run.plan.seed}.",
    ]
    if plan.GIVES_UP.get(used.name):
        paragraphs.append(f"{plan.GIVES_UP[used.name]}.")
    paragraphs.append(
        "Client and database share this machine's cores: operations a second say how they share them. "
        "CPU time an operation, of both, compares executors even so."
    )
    return Section(f"Run {run.id}", [*paragraphs, *notes])


def answer(found: dict[Cell, Row], compared: Compared, floods: Sequence[FloodRecord]) -> Section:
    """In a few lines: what virtual threads give, where the pool limited it, what an executor without a bound does."""
    bullets = []
    for kind, title in ((Kind.MODEL, f"{VIRTUAL} ÷ {BASELINE}"), (Kind.VARIANT, f"{VIRTUAL} ÷ each other executor")):
        of = [f for f in findings(compared, kind) if f.metric == OPS]
        if any(f.ratio is None or f.ratio.rounds > 1 for f in of):  # one round compares nothing
            bullets.append(f"{title}, {OPS.name}: {_counted(of)}.")
    bullets += [f"{where}: {', '.join(shares)}." for where, shares in _shares(found).items()]
    bullets += [_flooded(record) for record in floods]
    notes = [
        "Where a cell has a bound, connections (or threads, where they are fewer) ÷ latency as measured, its executors "
        f"are listed with their share of it. {BOUND_MARK}: at it, so the pool was the bottleneck and no executor can "
        "be faster; far below it the cores were, or the executor's own threads."
    ]
    return Section(ANSWER, notes, bullets=bullets)


def _counted(found: Sequence[Finding]) -> str:
    """`faster in 3 of 5 (×1.20 to ×1.31), open in 2 of 5`"""
    parts = []
    for word in dict.fromkeys(f.comparison.verdict.word for f in found):
        of = [f for f in found if f.comparison.verdict.word is word]
        parts.append(f"{word.value} in {len(of)} of {len(found)}{_range(of) if word in (*GOOD, *BAD) else ''}")
    return ", ".join(parts)


def _range(found: Sequence[Finding]) -> str:
    """` (×1.20 to ×1.31)`"""
    ratios = [f.ratio.value for f in found if f.ratio]
    low, high = format_ratio(min(ratios)), format_ratio(max(ratios))
    return f" (×{low})" if low == high else f" (×{low} to ×{high})"


def _shares(found: dict[Cell, Row]) -> dict[str, list[str]]:
    """By question and pool: each executor's share of its bound."""
    made: dict[str, list[str]] = {}
    for row in sorted(found.values(), key=lambda row: (row.cell.question, row.cell.pool, row.cell.executor)):
        ops, bound = row.median("ops_per_s"), row.median("bound_ops_per_s")
        if ops is None or bound is None or row.cell.again:
            continue
        mark = f" {BOUND_MARK}" if row.at_bound else ""
        said = f"{row.cell.executor} {format_percent(ops / bound)} of {format_number(bound)} ops/s{mark}"
        made.setdefault(f"{row.cell.question}, pool {row.cell.connections}", []).append(said)
    return made


def _flooded(record: FloodRecord) -> str:
    flood, result = record.flood, record.result
    if result is None:
        return f"{flood.tasks:,} tasks at once on {flood.executor}: not run."
    return (
        f"{flood.tasks:,} tasks at once on {flood.executor}: {_outcome(result.outcome, result.log_tail)}, "
        f"{format_number(result.peak_rss_kb / 1024)} MB, {result.peak_threads:,} threads."
    )


def published(found: dict[Cell, Row], compared: Compared) -> Section:
    """Each of the published tables, ours beside it as ratios."""
    tables = []
    for table in TABLES:
        for limit in sorted({c.max_connections for c in found if _in_table(c, table)}, key=lambda n: n or 0):
            tables.append(_beside(table, limit, found, compared))
    notes = [
        f"Beside each figure the one {SOURCE}. Only ratios compare machines; ours are over `{BASELINE}`, paired by "
        "round, in brackets the 95 % interval; ○: it contains 1, so there is no clear difference.",
        f"{BOUND_MARK}: the figure is at its bound, pool (or threads) ÷ latency as measured: no executor can be faster "
        "there.",
    ]
    return Section("The published tables", notes if tables else ["None of their cells was measured."], tables)


def _in_table(cell: Cell, table: Published) -> bool:
    return cell.form == "standing" and not cell.again and cell.base == table.cell("*", cell.max_connections)


def _beside(table: Published, limit: int | None, found: dict[Cell, Row], compared: Compared) -> Table:
    columns = ["executor", "published ops/s", "ours, ops/s", f"published ÷ {BASELINE}", f"ours ÷ {BASELINE}"]
    columns += ["bound ops/s", "connections", "pinned"]
    baseline = found.get(table.cell(BASELINE, limit))
    body = []
    for executor in plan.EXECUTORS:
        row = found.get(table.cell(executor, limit))
        if row is None and executor not in table.ops:
            continue
        ours = paired(compared, OPS, row, baseline) if row and baseline else None
        body.append(
            [
                executor,
                _printed(table.ops.get(executor)),
                _ops(row),
                _over(table, executor),
                ratio(ours) if executor != BASELINE else "1",
                median(row, "bound_ops_per_s"),
                median(row, "connections"),
                median(row, "pinned_events"),
            ]
        )
    allowed = "another's server" if limit is None else f"max_connections {limit:,}"
    return Table(f"{table.title} · {table.claims} · {allowed}", columns, body)


def _cells(found: dict[Cell, Row]) -> Section:
    ordered = sorted(found.values(), key=lambda row: str(row.cell))
    speed = [
        [
            str(row.cell),
            _ops(row),
            median(row, "bound_ops_per_s"),
            median(row, "connections"),
            median(row, "pinned_events"),
            median(row, "added_ms"),
            f"{len(row.failures)}: {list(row.failures.values())[-1]}" if row.failures else NONE,
        ]
        for row in ordered
    ]
    cost = [
        [
            str(row.cell),
            median(row, "client_cpu_us"),
            median(row, "database_cpu_us"),
            median(row, "memory_peak_kb", 1 / 1024),
            median(row, "threads_peak"),
            median(row, "gc_time_ms"),
        ]
        for row in ordered
    ]
    note = (
        "A cell: database, query, latency, pool/max_connections, executor. Medians over rounds, in brackets the lowest "
        "and the highest. `pinned`: jdk.VirtualThreadPinned events in all measured iterations of a fork, without a "
        "threshold. `added ms`: the wire's round trip, measured before the cell."
    )
    tables = [
        Table("speed", ["cell", "ops/s", "bound", "connections", "pinned", "added ms", "failures"], speed),
        Table("cost", ["cell", "client CPU µs/op", "database CPU µs/op", *RESOURCES, "GC ms"], cost),
    ]
    return Section(CELLS, [note], tables)


def _floods(floods: Sequence[FloodRecord]) -> Section:
    columns = ["tasks", "executor", "outcome", "seconds", *RESOURCES]
    body = []
    for record in floods:
        flood, result = record.flood, record.result
        if result is None:
            reason = record.failure.text if record.failure else NONE
            body.append([f"{flood.tasks:,}", flood.executor, f"not run: {reason}", *[NONE] * 3])
            continue
        body.append(
            [
                f"{flood.tasks:,}",
                flood.executor,
                _outcome(result.outcome, result.log_tail),
                format_number(result.seconds),
                format_number(result.peak_rss_kb / 1024),
                f"{result.peak_threads:,}",
            ]
        )
    known = next((r.result for r in floods if r.result), None)
    limits = (
        f"A JVM with -Xmx{known.heap} that is ended at {known.memory_limit_mb:,} MB of resident memory, as a container "
        f"would end it; pool of {known.pool}, {known.added_ms:.1f} ms on the wire, all tasks at once, one time. "
        if known
        else ""
    )
    return Section(
        FLOODS,
        [f"{limits}An end at the limit or a crash is a finding (D10)."],
        [Table("floods", columns, body, text=3)],
    )


def _outcome(outcome: str, log_tail: str) -> str:
    """With the JVM's reason where it gave one."""
    reason = last_error(log_tail)
    return f"{outcome}: {reason}" if outcome.startswith("crashed") and reason else outcome


def _host(run: JdbcRun, found: dict[Cell, Row]) -> Section:
    host = run.host
    servers = sorted({m.server for row in found.values() for m in row.rounds.values()})
    return Section(
        "Host",
        bullets=[
            f"{host.cpu_model or 'unknown CPU'}, {host.shared('client and database')}, "
            f"{format_memory(host.memory_kb)}, {host.virtualization or 'no virtualisation seen'}",
            f"{host.distribution or host.system}, kernel {host.kernel}, JDK {run.jdk}",
            *servers,
        ],
    )


def _printed(figure: tuple[float, float | None] | None) -> str:
    if figure is None:
        return NONE
    value, error = figure
    return format_number(value) if error is None else f"{format_number(value)} ± {format_number(error)}"


def _over(table: Published, executor: str) -> str:
    if executor == BASELINE:
        return "1"
    over = table.over(BASELINE, executor)
    return NONE if over is None else format_ratio(over)


def _ops(row: Row | None) -> str:
    if row is None:
        return NONE
    if not row.rounds:
        return f"failed: {list(row.failures.values())[-1]}"
    mark = f" {BOUND_MARK}" if row.at_bound else ""
    return median(row, "ops_per_s") + mark


def median(row: Row | None, field: str, scale: float = 1.0) -> str:
    """The median over rounds, with the lowest and the highest."""
    return format_spread(spread(row.values(field) if row else []), scale)


def ratio(found: Ratio | None) -> str:
    """`1.22 [1.10, 1.35]`; ○: it may be 1."""
    if found is None:
        return NONE
    return format_interval(found, format_ratio) + (" ○" if found.differs is False else "")


OTHER = "forkjoin-15"


def profiles() -> str:
    """What each profile measures, and how long that takes."""
    body = [_profile(used) for used in plan.PROFILES.values()]
    return render_table(Table("profiles", ["profile", "a fork", "rounds", "cells", "floods", "about"], body, text=2))


def _profile(used: Profile) -> list[str]:
    planned = PlanFacts(
        cells=plan.cells(used.name),
        floods=plan.floods(used.name, "postgresql"),
        profile=used,
        seed=0,
        runtime="process",
    )
    name = f"`{used.name}`" + (" (default)" if used.name == plan.DEFAULT else "")
    fork = f"{used.warmups} × {used.warmup_s} s warm-up, {used.iterations} × {used.iteration_s} s"
    about = format_duration(plan.seconds(planned))
    return [name, fork, str(used.rounds), str(len(planned.cells)), str(len(planned.floods)), about]


def results(run: JdbcRun, records: Records, link: str) -> str:
    """The published ratios beside ours, and what the run answers."""
    found = rows(records)
    compared = compare(records)
    table = render_table(_ratios(found, compared))
    bullets = "\n".join(f"- {text}" for text in answer(found, compared, last_floods(records)).bullets)
    host = run.host
    source = (
        f"Profile {run.plan.profile.name}, {run.plan.profile.rounds} rounds; in brackets the 95 % interval; ○: it "
        f"contains 1. {host.cpu_model}, {host.shared('client and database')}, databases: "
        f"{run.plan.runtime}, commit {(run.commit or 'unknown')[:12]}, JDK {run.jdk}."
    )
    return f"Measured in a [committed run]({link}):\n\n{table}\n\n{bullets}\n\n{source}"


def _ratios(found: dict[Cell, Row], compared: Compared) -> Table:
    columns = ["published table", "connections", f"{VIRTUAL} ÷ {BASELINE}", "published"]
    columns += [f"{OTHER} ÷ {BASELINE}", "published", f"{VIRTUAL} ops/s", "bound"]
    body = []
    for table in TABLES:
        limits = {c.max_connections for c in found if c.base == table.cell("*", c.max_connections)}
        for limit in sorted(limits, key=lambda n: n or 0):
            baseline, virtual, other = (found.get(table.cell(name, limit)) for name in (BASELINE, VIRTUAL, OTHER))
            line = [f"{table.title} ({table.claims})", median(virtual, "connections")]
            for name, row in ((VIRTUAL, virtual), (OTHER, other)):
                ours = paired(compared, OPS, row, baseline) if row and baseline else None
                published = table.over(BASELINE, name)
                line += [ratio(ours), NONE if published is None else format_ratio(published)]
            body.append([*line, median(virtual, "ops_per_s"), median(virtual, "bound_ops_per_s")])
    return Table("results", columns, body)
