"""The content of a report before it is rendered: headings, paragraphs and tables. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.core.condition import IN_IMAGES
from zoo.core.flag import Flag
from zoo.core.record import Record, newest_records
from zoo.core.run import Run, Target
from zoo.core.scenario import is_trial
from zoo.report.cells import Cells
from zoo.report.columns import cell_table, flag_letter
from zoo.report.findings import list_findings
from zoo.report.formatting import format_memory
from zoo.report.section import Section, mark_tables
from zoo.report.sentences import QUESTIONS, limit_sentences, list_results, waiting_lines
from zoo.report.summary import Summary
from zoo.report.text import comparisons
from zoo.report.view import records_by_view, views
from zoo.report.wording import describe_rounds
from zoo.stats.pairs import RunPairs
from zoo.stats.summary import Row

COUNT_NOTE = "A×2: in 2 of the rounds; a letter without a number: in all rounds."
OUTLIER_NOTE = (
    "round n outlying: the round differs clearly from the others (Grubbs' test on logarithms, 1%, "
    "from 5 rounds on); it is kept."
)
LOAD_NOTE = (
    "Load: wrk, closed model (each connection sends its next request after it has received the last "
    "response). Latency comes from wrk's histogram, without wrk's correction for coordinated "
    "omission."
)
EMULATED_NOTE = (
    "Emulated host: QEMU emulates the processor, because this machine cannot hold so many "
    "connections and offers no hardware virtualization. Connections, memory and threads are real; "
    "time is not, so throughput, latency and CPU time were not recorded."
)
WAIT_NOTE = (
    "Every request waits long enough for this host to read the requests of all connections before "
    "the first response is due (wait s). A pool of threads serves only as many at a time as it has "
    "threads."
)

SLOPE, THREADS, CPU = "kb_per_request", "threads_peak", "cpu_us_per_request"
BUSY_COLUMNS = ("rps", "p50_ms", "p99_ms", "errors", "rss_peak_mb", THREADS, CPU, "wrk_cpu_us_per_request")
WAIT_COLUMNS = ("held", "rps", "ceiling", "p50_ms", "p99_ms", "errors", "rss_peak_mb", SLOPE, THREADS, CPU, "socket_mb")
EMULATED_COLUMNS = ("held", "answers", "wait_s", "errors", "rss_peak_mb", SLOPE, THREADS, "socket_mb")
"""Columns for loads whose requests do not wait, for loads whose requests do, and for an emulated host.

The last must not depend on how fast the host is.
"""


def report_sections(summary: Summary, notes: Sequence[str] = ()) -> list[Section]:
    """Return the whole report of a run; `notes` appear in its first section."""
    run, records = summary.run, summary.records
    sections = [head_section(run, records, [*notes, *summary.notes])]
    if summary.one_round_lines:
        cells = summary.cells
        limits = [f"{name}: {text}" for name in cells.scenarios for text in limit_sentences(cells, name)]
        sections.append(
            Section("Answer", bullets=[*summary.one_round_lines, *summary.view_answers, *waiting_lines(cells), *limits])
        )
    elif summary.view_answers:
        sections.append(Section("Answer", bullets=summary.view_answers))
    else:
        sections += _answer_sections(summary.cells, summary.compared)
    if not _only_trials(records):
        sections += comparisons.pair_sections(summary.compared, run.plan.common_rounds)
    plain = list(summary.plain_cells.rows.values())
    sections += [_scenario_section(summary.plain_cells, scenario) for scenario in sorted(summary.plain_cells.scenarios)]
    sections += [view.section(own) for _, view, own in records_by_view(records)]
    if plain or not records:
        sections.append(_flag_section(plain))
    sections.append(_host_section(run))
    return [mark_tables(section, summary.synthetic) for section in sections]


def head_section(run: Run, records: Sequence[Record], notes: Sequence[str] = ()) -> Section:
    """Return the first section: what was run, how much of it was measured, and under which condition."""
    plan = run.plan
    latest = newest_records(records)
    failed = sum(r.failure is not None for r in latest)
    unsure = " or a change of it" if run.commit and run.dirty is None else ""
    dirty = " with uncommitted changes" if run.dirty else unsure
    missing = plan.cells - len(latest)
    state = f"{len(latest) - failed} of {plan.cells} cells measured, {failed} failed"
    if missing > 0:
        state += f", {missing} not run yet"
    rounds = (
        f"{describe_rounds(plan)}: medians, with the lowest and highest round in brackets"
        if plan.rounds > 1
        else "1 round: a smoke run, no statistics"
    )
    return Section(
        f"Run {run.id}",
        [
            f"{state}. {rounds}. Commit {(run.commit or 'unknown')[:12]}{dirty}; protocol {run.protocol}; "
            f"runtime {_format_runtime(run)}, network {plan.condition.network}; "
            f"JDK {plan.condition.jdk or 'none'}; order seed {plan.seed}.",
            *([EMULATED_NOTE] if plan.condition.emulated else [] if _only_trials(records) else [LOAD_NOTE]),
            *(_describe_target(name, target) for name, target in plan.targets.items()),
            *(text for name, view in views().items() if name in plan.scenarios for text in view.conditions(run)),
            *notes,
        ],
    )


def _only_trials(records: Sequence[Record]) -> bool:
    """Return whether all records are trials.

    The section of such a scenario describes its load, and its records are not compared in pairs.
    """
    return bool(records) and all(is_trial(record.scenario) for record in records)


def _format_runtime(run: Run) -> str:
    condition = run.plan.condition
    return f"{condition.runtime} ({condition.accelerator})" if condition.accelerator else condition.runtime


def _describe_target(name: str, target: Target) -> str:
    unread = "; its process is unknown (no PID=), so its memory, CPU and threads were not measured"
    known = unread if target.pid is None else f", process {target.pid}"
    return (
        f"{name} is {target.url}{known}. It was already running, and all rounds measure this one "
        "process, so the intervals do not include differences between two starts. Its response may "
        "differ from the zoo's 13 bytes, and may take more work."
    )


def _answer_sections(cells: Cells, compared: RunPairs) -> list[Section]:
    """Return the answers to the first question that the run has pairs for."""
    for kind, framing in QUESTIONS.items():
        results = list_results(cells, list_findings(compared, kind))
        if results:
            bullets = [f"{result.scenario} ({result.wait}) · {text}" for result in results for text in result.texts]
            return [Section("Answer", [f"{framing.heading}. {framing.text}"], bullets=bullets)]
    return []


def _scenario_section(cells: Cells, scenario: str) -> Section:
    rows = cells.rows_of_scenario(scenario)
    section = Section(f"Scenario {scenario}", [_describe_load(scenario, rows)])
    levels = [level for level in cells.levels if level.scenario == scenario]
    for level in levels:
        title = f"{scenario} {level.label} · closed, c = {level.actual:,}"
        keys: tuple[str, ...] = WAIT_COLUMNS if scenario == "sleep" else BUSY_COLUMNS
        if level.emulated:
            keys, title = EMULATED_COLUMNS, f"{title} · emulated host"
        if level is not levels[-1]:
            keys = tuple(key for key in keys if key != SLOPE)  # the slope is the same at all connection counts
        section.tables.append(cell_table(title, [row for row in rows if row.tier == level.tier], keys))
    return section


def _describe_load(scenario: str, rows: Sequence[Row]) -> str:
    if scenario == "sleep":
        cost = (
            "Memory per waiting request is the slope of peak RSS over the connection counts, "
            "starting from the server at rest: the mean of the rounds with its interval, for entries "
            "that held every connection count. It excludes kernel socket memory."
        )
        if any(r.emulated for r in rows):
            return f"{WAIT_NOTE} {cost}"
        wait = next((f"{r.delay_s:g} s" for r in rows if r.delay_s), "for some time")
        return (
            f"Every request waits {wait}. A pool serves at most threads ÷ wait requests per second; "
            f"`ceiling` marks this limit where it applies. {cost}"
        )
    return (
        "The response has 13 bytes, and no request waits. `≥` marks a lower bound: something "
        "other than the server was the bottleneck (see the flags)."
    )


def _flag_section(rows: Sequence[Row]) -> Section:
    used = {flag for row in rows for flag, _ in row.flags}
    bullets = [f"{flag_letter(flag)} `{flag.value}`: {flag.text}" for flag in Flag if flag in used]
    if bullets:
        bullets.append(COUNT_NOTE)
    if any(row.outliers for row in rows):
        bullets.append(OUTLIER_NOTE)
    return Section("What the flags mean", bullets=bullets or ["No cell was flagged."])


def _format_toolchains(run: Run) -> str:
    if run.plan.condition.runtime in IN_IMAGES:
        return "JDK and rustc: those of the images"
    return f"JDK {run.host.jdk.version if run.host.jdk else 'none'}, rustc {run.host.tools.rustc or 'none'}"


def _host_section(run: Run) -> Section:
    host, limits = run.host, run.host.limits
    return Section(
        "Host",
        bullets=[
            f"{host.cpu_model or 'unknown CPU'}, {run.cores}, {format_memory(host.memory_kb)}, {host.place}",
            f"{host.distribution or host.system}, kernel {host.kernel}, {host.libc or 'unknown libc'}",
            f"descriptors {limits.nofile_hard}, somaxconn {limits.somaxconn}, "
            f"ports {limits.port_low}-{limits.port_high}, max_map_count {limits.max_map_count}",
            f"{_format_toolchains(run)}, wrk {host.tools.wrk or 'none'}",
        ],
    )
