"""Text of a database run's report and of the document parts about database runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.core.jdbc import Flood, JdbcCell, plan_subjects
from zoo.core.record import last_error
from zoo.core.run import Run
from zoo.report.columns import title_of
from zoo.report.findings import BAD, GOOD, Finding, list_findings
from zoo.report.formatting import (
    format_count,
    format_duration,
    format_number,
    format_percent,
    format_spread,
)
from zoo.report.section import NONE, Section, Table
from zoo.report.text.comparisons import Titles
from zoo.report.text.comparisons import pair_sections as compared_sections
from zoo.report.text.markdown import render_table
from zoo.report.view import View
from zoo.report.wording import format_change, format_signed, format_signed_range, format_sizes
from zoo.scenarios.jdbc import charts
from zoo.scenarios.jdbc import spec as plan
from zoo.scenarios.jdbc.published import SOURCE, TABLES
from zoo.scenarios.jdbc.published import PublishedTable as Published
from zoo.stats import Ratio
from zoo.stats.databases import (
    BASELINE,
    OPS,
    VIRTUAL,
    DatabaseRow,
    FloodRow,
    Records,
    compare,
    newest_floods,
    paired_ratio,
    rows,
)
from zoo.stats.metrics import Word
from zoo.stats.pairs import Kind, RunPairs
from zoo.stats.summary import spread

BOUND_MARK = "⊤"
RESOURCES = (title_of("rss_peak_mb"), title_of("threads_peak"))

SHARED = (
    "Client and database share this machine's cores, so operations per second depend on how they "
    "share them. CPU time per operation, of both, still compares executors. If a cell has a limit, "
    "connections (or threads, if they are fewer) ÷ measured latency, the answer gives each "
    f"executor's share of it. {BOUND_MARK}: the figure is at its limit, so the pool was the "
    "bottleneck and no executor can be faster; far below the limit, the cores or the executor's own "
    "threads were."
)

TITLES: Titles = {
    Kind.MODEL: ("Virtual threads vs. a cached pool", f"{VIRTUAL} ÷ {BASELINE}, same cell, same round"),
    Kind.VARIANT: ("Virtual threads vs. the other executors", "same cell, same round"),
    Kind.CONDITION: ("The same executor in other cells", "the other database, or the published pool; same round"),
}


def section(records: Records) -> Section:
    """Return the published tables, the pairs and all cells."""
    found, compared = rows(records), compare(records)
    rounds = max(record.round for record in records)
    parts = [published(found, compared), *compared_sections(compared, rounds, TITLES, family="metric"), _cells(found)]
    headings = {text: part.heading for part in reversed(parts) for text in part.paragraphs}
    texts = [f"{headings[text]}. {text}" for text in dict.fromkeys(text for part in parts for text in part.paragraphs)]
    tables = [table for part in parts for table in part.tables]
    servers = sorted({m.server for row in found.values() for m in row.rounds.values()})
    bullets = [*(text for part in parts for text in part.bullets), *(f"Measured with {name}." for name in servers)]
    return Section("Scenario jdbc", [SHARED, *texts], tables, bullets)


def conditions(run: Run) -> list[str]:
    """Return how often and how long each cell was measured, and what the profile gives up."""
    used = plan.profile_of(run.plan)
    given_up = plan.OMISSIONS.get(used.name)
    return [
        f"Profile {used.name}: {format_count(used.rounds, 'round')}. A round is one fork of JMH per cell, on a "
        f"fresh database, with {used.warmups} × {used.warmup_s} s of warm-up and {used.iterations} × "
        f"{used.iteration_s} s.",
        *([f"{given_up}."] if given_up else []),
    ]


def answers(records: Records) -> list[str]:
    """Return which executor is ahead, and where the pool was the bottleneck."""
    return answer(rows(records), compare(records))


def floods_section(records: Records) -> Section:
    return _floods(newest_floods(records))


def flood_answers(records: Records) -> list[str]:
    return [_format_flood(record) for record in newest_floods(records)]


def answer(found: dict[JdbcCell, DatabaseRow], compared: RunPairs) -> list[str]:
    """Return a few lines on what virtual threads gain, and where the pool limited it."""
    bullets = []
    for kind, other in ((Kind.MODEL, BASELINE), (Kind.VARIANT, "each other executor")):
        of = [f for f in list_findings(compared, kind) if f.metric == OPS]
        if any(f.ratio is None or f.ratio.rounds > 1 for f in of):  # one round is not enough to compare
            bullets.append(f"{VIRTUAL} vs. {other}, {OPS.name}: {_format_verdicts(of)}.")
    bullets += [f"{where}: {', '.join(shares)}." for where, shares in _shares(found).items()]
    return bullets


def _format_verdicts(found: Sequence[Finding]) -> str:
    """Format the verdicts as in `faster in 3 of 5 (20–31%), no clear difference in 2 of 5`."""
    parts = []
    for word in dict.fromkeys(f.comparison.verdict.word for f in found):
        of = [f for f in found if f.comparison.verdict.word is word]
        parts.append(f"{word.value} in {len(of)} of {len(found)}{_format_range(of) if word in (*GOOD, *BAD) else ''}")
    return ", ".join(parts)


def _format_range(found: Sequence[Finding]) -> str:
    """Format the range of the differences as in ` (20–31%)`."""
    return f" ({format_sizes([f.ratio.value for f in found if f.ratio], found[0].metric)})"


def _shares(found: dict[JdbcCell, DatabaseRow]) -> dict[str, list[str]]:
    """Return each executor's share of its bound, by question and pool."""
    made: dict[str, list[str]] = {}
    for row in sorted(found.values(), key=lambda row: (row.cell.query_label, row.cell.pool, row.cell.executor)):
        ops, bound = row.median("ops_per_s"), row.median("bound_ops_per_s")
        if ops is None or bound is None or row.cell.again:
            continue
        mark = f" {BOUND_MARK}" if row.at_bound else ""
        text = f"{row.cell.executor} {format_percent(ops / bound)} of {format_number(bound)} ops/s{mark}"
        made.setdefault(f"{row.cell.query_label}, pool {row.cell.connections}", []).append(text)
    return made


def _format_flood(record: FloodRow) -> str:
    flood, result = record.flood, record.result
    if result is None:
        return f"{flood.tasks:,} tasks at once on {flood.executor}: not run."
    return (
        f"{flood.tasks:,} tasks at once on {flood.executor}: {_format_outcome(result.outcome, result.log_tail)}, "
        f"{format_number(result.peak_rss_kb / 1024)} MB, {result.peak_threads:,} threads."
    )


def published(found: dict[JdbcCell, DatabaseRow], compared: RunPairs) -> Section:
    """Return each published table with our figures next to it, as ratios."""
    tables = []
    for table in TABLES:
        for limit in sorted({c.max_connections for c in found if _is_in_table(c, table)}, key=lambda n: n or 0):
            tables.append(_comparison_table(table, limit, found, compared))
    notes = [
        f"Next to each figure is the one {SOURCE}. Only ratios can be compared between machines. Ours "
        f"are relative to `{BASELINE}`, paired by round, with the 95% interval in brackets.",
        f"{BOUND_MARK}: the figure is at its limit, pool (or threads) ÷ measured latency, so no "
        "executor can be faster.",
    ]
    return Section("The published tables", notes if tables else ["None of their cells was measured."], tables)


def _is_in_table(cell: JdbcCell, table: Published) -> bool:
    return cell.form == "standing" and not cell.again and cell.base == table.cell("*", cell.max_connections)


def _comparison_table(
    table: Published, limit: int | None, found: dict[JdbcCell, DatabaseRow], compared: RunPairs
) -> Table:
    columns = ["executor", "published ops/s", "ours, ops/s", f"published vs. {BASELINE}", f"ours vs. {BASELINE}"]
    columns += ["limit, ops/s", "connections", "pinned"]
    baseline = found.get(table.cell(BASELINE, limit))
    body = []
    for executor in plan.EXECUTORS:
        row = found.get(table.cell(executor, limit))
        if row is None and executor not in table.ops:
            continue
        ours = paired_ratio(compared, OPS, row, baseline) if row and baseline else None
        body.append(
            [
                executor,
                _format_published(table.ops.get(executor)),
                _format_ops(row),
                _format_published_change(table, executor),
                format_gain(ours) if executor != BASELINE else NONE,
                format_median(row, "bound_ops_per_s"),
                format_median(row, "connections"),
                format_median(row, "pinned_events"),
            ]
        )
    allowed = "another's server" if limit is None else f"max_connections {limit:,}"
    return Table(f"{table.title} · {table.claims} · {allowed}", columns, body)


def _cells(found: dict[JdbcCell, DatabaseRow]) -> Section:
    ordered = sorted(found.values(), key=lambda row: str(row.cell))
    speed = [
        [
            str(row.cell),
            _format_ops(row),
            format_median(row, "bound_ops_per_s"),
            format_median(row, "connections"),
            format_median(row, "pinned_events"),
            format_median(row, "added_ms"),
            f"{len(row.failures)}: {list(row.failures.values())[-1]}" if row.failures else NONE,
        ]
        for row in ordered
    ]
    cost = [
        [
            str(row.cell),
            format_median(row, "client_cpu_us"),
            format_median(row, "database_cpu_us"),
            format_median(row, "memory_peak_kb", 1 / 1024),
            format_median(row, "threads_peak"),
            format_median(row, "gc_time_ms"),
        ]
        for row in ordered
    ]
    note = (
        "A cell: database, query, latency, pool/max_connections, executor. Medians over rounds, with "
        "the lowest and the highest in brackets. `pinned`: jdk.VirtualThreadPinned events in all "
        "measured iterations of a fork, without a threshold. `added ms`: round trip through the "
        "wire, measured before the cell."
    )
    tables = [
        Table("speed", ["cell", "ops/s", "bound", "connections", "pinned", "added ms", "failures"], speed),
        Table("cost", ["cell", "client CPU µs/op", "database CPU µs/op", *RESOURCES, "GC ms"], cost),
    ]
    return Section("All cells", [note], tables)


def _floods(floods: Sequence[FloodRow]) -> Section:
    columns = ["tasks", "executor", "outcome", "seconds", *RESOURCES]
    body = []
    for record in floods:
        flood, result = record.flood, record.result
        if result is None:
            reason = record.failure or NONE
            body.append([f"{flood.tasks:,}", flood.executor, f"not run: {reason}", *[NONE] * 3])
            continue
        body.append(
            [
                f"{flood.tasks:,}",
                flood.executor,
                _format_outcome(result.outcome, result.log_tail),
                format_number(result.seconds),
                format_number(result.peak_rss_kb / 1024),
                f"{result.peak_threads:,}",
            ]
        )
    known = next((r.result for r in floods if r.result), None)
    limits = (
        (
            f"A JVM with -Xmx{known.heap} that is killed at {known.memory_limit_mb:,} MB of resident "
            f"memory, as in a container; pool of {known.pool}, {known.added_ms:.1f} ms on the wire, all "
            "tasks at once, measured once. "
        )
        if known
        else ""
    )
    return Section(
        "Scenario jdbc-flood",
        [f"{limits}A JVM that is killed at the limit or crashes is a finding (D10)."],
        [Table("floods", columns, body, text=3)],
    )


def _format_outcome(outcome: str, log_tail: str) -> str:
    """Return the outcome, with the JVM's reason if it gave one."""
    reason = last_error(log_tail)
    return f"{outcome}: {reason}" if outcome.startswith("crashed") and reason else outcome


def _format_published(figure: tuple[float, float | None] | None) -> str:
    if figure is None:
        return NONE
    value, error = figure
    return format_number(value) if error is None else f"{format_number(value)} ±{format_number(error)}"


def _format_published_change(table: Published, executor: str) -> str:
    over = None if executor == BASELINE else table.over(BASELINE, executor)
    return NONE if over is None else format_signed(over)


def _format_ops(row: DatabaseRow | None) -> str:
    if row is None:
        return NONE
    if not row.rounds:
        return f"failed: {list(row.failures.values())[-1]}"
    mark = f" {BOUND_MARK}" if row.at_bound else ""
    return format_median(row, "ops_per_s") + mark


def format_median(row: DatabaseRow | None, field: str, scale: float = 1.0) -> str:
    """Format the median over rounds, with the lowest and the highest."""
    return format_spread(spread(row.values(field) if row else []), scale)


def format_gain(found: Ratio | None) -> str:
    """Format a ratio as a change: `+22% (+10 to +35%)`, or `no clear difference (−11 to +20%)`."""
    if found is None:
        return NONE
    if found.low is None or found.high is None or found.differs:
        return format_change(found)
    return f"{Word.UNCLEAR} ({format_signed_range(found.low, found.high)})"


OTHER = "forkjoin-15"


def profiles() -> str:
    """Return a table of what each profile measures and how long that takes."""
    body = [_profile(used) for used in plan.PROFILES.values()]
    return render_table(Table("profiles", ["profile", "a fork", "rounds", "cells", "floods", "about"], body, text=2))


def _profile(used: plan.JmhProfile) -> list[str]:
    planned = plan.make_plan(plan.JdbcOptions(profile=used.name), seed=0)
    floods = sum(isinstance(one, Flood) for one in plan_subjects(planned))
    name = f"`{used.name}`" + (" (default)" if used.name == plan.DEFAULT else "")
    fork = f"{used.warmups} × {used.warmup_s} s warm-up, {used.iterations} × {used.iteration_s} s"
    about = format_duration(plan.seconds(planned))
    return [name, fork, str(used.rounds), str(len(plan_subjects(planned)) - floods), str(floods), about]


def results(run: Run, records: Records, link: str) -> str:
    """Return the published ratios next to ours, and the run's main results."""
    found = rows(records)
    compared = compare(records)
    table = render_table(_ratios(found, compared))
    bullets = "\n".join(f"- {text}" for text in [*answer(found, compared), *flood_answers(records)])
    host = run.host
    source = (
        f"Profile {plan.profile_of(run.plan).name}, {run.plan.rounds} rounds, 95% intervals in "
        f"brackets. {host.cpu_model}, {host.processors_shared_by('client and database')}, databases: "
        f"{run.plan.condition.runtime}, commit {(run.commit or 'unknown')[:12]}, JDK "
        f"{run.plan.condition.jdk}."
    )
    return f"Measured in a [committed run]({link}):\n\n{table}\n\n{bullets}\n\n{source}"


def _ratios(found: dict[JdbcCell, DatabaseRow], compared: RunPairs) -> Table:
    columns = ["published table", "connections", f"{VIRTUAL} vs. {BASELINE}", "published"]
    columns += [f"{OTHER} vs. {BASELINE}", "published", f"{VIRTUAL} ops/s", "limit, ops/s"]
    body = []
    for table in TABLES:
        limits = {c.max_connections for c in found if c.base == table.cell("*", c.max_connections)}
        for limit in sorted(limits, key=lambda n: n or 0):
            baseline, virtual, other = (found.get(table.cell(name, limit)) for name in (BASELINE, VIRTUAL, OTHER))
            line = [f"{table.title} ({table.claims})", format_median(virtual, "connections")]
            for name, row in ((VIRTUAL, virtual), (OTHER, other)):
                ours = paired_ratio(compared, OPS, row, baseline) if row and baseline else None
                published = table.over(BASELINE, name)
                line += [format_gain(ours), NONE if published is None else format_signed(published)]
            body.append([*line, format_median(virtual, "ops_per_s"), format_median(virtual, "bound_ops_per_s")])
    return Table("results", columns, body)


VIEW = View(
    "Virtual threads and the connection pool",
    section,
    lambda _, __, records: charts.groups(records),
    answers,
    conditions,
)
FLOOD_VIEW = View(
    "Unbounded executors",
    floods_section,
    lambda _, __, records: charts.floods(records),
    flood_answers,
)
