"""What a report says, before it is given a form: headings, paragraphs and tables. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.pairs import Compared
from zoo.analysis.summary import Row
from zoo.model.condition import IN_IMAGES
from zoo.model.flag import Flag
from zoo.model.record import Record, newest_records
from zoo.model.run import Run, Target
from zoo.plan.scenario import is_trial
from zoo.report.cells import Cells
from zoo.report.columns import cell_table, flag_letter
from zoo.report.findings import findings
from zoo.report.formatting import format_memory
from zoo.report.section import Section
from zoo.report.summary import Summary
from zoo.report.text import comparisons
from zoo.report.text.sentences import QUESTIONS, answers, limited, waits
from zoo.report.view import viewed

COUNT = "A×2: in 2 of the rounds; without a number: in all of them."
OUTLYING = (
    "round n outlying: it stands apart from the others (Grubbs' test on logarithms, 1 %, from 5 rounds); it is kept."
)
TIMED = (
    "Load: wrk, closed model (each connection sends its next request when the last is answered). Latency is "
    "read from wrk's histogram with its coordinated-omission correction taken out again."
)
EMULATED_HOST = (
    "Emulated host: QEMU stands in for the processor, because this machine does not hold such tiers and offers no "
    "hardware virtualisation. Connections, memory and threads are real; time is not, so no figure of throughput, "
    "latency or CPU was recorded."
)
PACED = (
    "Every request waits, long enough for this host to read those of all connections before the first is answered "
    "(wait s). A pool of threads serves so many at a time."
)

SLOPE, THREADS, CPU = "kb_per_request", "threads_peak", "cpu_us_per_request"
BUSY = ("rps", "p50_ms", "p99_ms", "errors", "rss_peak_mb", THREADS, CPU, "wrk_cpu_us_per_request")
WAITING = ("held", "rps", "ceiling", "p50_ms", "p99_ms", "errors", "rss_peak_mb", SLOPE, THREADS, CPU, "socket_mb")
EMULATED = ("held", "answers", "wait_s", "errors", "rss_peak_mb", SLOPE, THREADS, "socket_mb")
"""Columns where requests do not wait, where they do, and where nothing may depend on how fast the host is."""


def document(summary: Summary, notes: Sequence[str] = ()) -> list[Section]:
    """The whole report of a run; `notes` stand in its head."""
    run, records = summary.run, summary.records
    sections = [head(run, records, notes)]
    if summary.one_round:
        cells = summary.cells
        limits = [f"{name}: {text}" for name in cells.scenarios for text in limited(cells, name)]
        sections.append(Section("Answer", bullets=[*summary.one_round, *summary.own, *waits(cells), *limits]))
    elif summary.own:
        sections.append(Section("Answer", bullets=summary.own))
    else:
        sections += _answer(summary.cells, summary.compared)
    if not _only_trials(records):
        sections += comparisons.sections(summary.compared, run.plan.rounds)
    plain = list(summary.plain.rows.values())
    sections += [_scenario(summary.plain, scenario) for scenario in sorted(summary.plain.scenarios)]
    sections += [one.section(mine) for _, one, mine in viewed(records)]
    if plain or not records:
        sections.append(_flags(plain))
    sections.append(_host(run))
    return sections


def head(run: Run, records: Sequence[Record], notes: Sequence[str] = ()) -> Section:
    """What was run, how much of it there is, and under which condition."""
    plan = run.plan
    latest = newest_records(records)
    failed = sum(r.failure is not None for r in latest)
    dirty = " with uncommitted changes" if run.dirty else ""
    missing = plan.cells - len(latest)
    state = f"{len(latest) - failed} of {plan.cells} cells measured, {failed} failed"
    if missing > 0:
        state += f", {missing} not run yet"
    rounds = (
        f"{plan.rounds} rounds: medians over rounds with the lowest and highest round in brackets"
        if plan.rounds > 1
        else "1 round: a smoke run, no statistics"
    )
    return Section(
        f"Run {run.id}",
        [
            f"{state}. {rounds}. Commit {(run.commit or 'unknown')[:12]}{dirty}; protocol {run.protocol}; "
            f"runtime {_runtime(run)}, network {plan.condition.network}; "
            f"JDK {plan.condition.jdk or 'none'}; order seed {plan.seed}.",
            *([EMULATED_HOST] if plan.condition.emulated else [] if _only_trials(records) else [TIMED]),
            *(_target(name, target) for name, target in plan.targets.items()),
            *notes,
        ],
    )


def _only_trials(records: Sequence[Record]) -> bool:
    """True where each scenario's own section says how it loads; such records are compared in no pairs."""
    return bool(records) and all(is_trial(record.scenario) for record in records)


def _runtime(run: Run) -> str:
    condition = run.plan.condition
    return f"{condition.runtime} ({condition.accelerator})" if condition.accelerator else condition.runtime


def _target(name: str, target: Target) -> str:
    unread = "; no process was named (PID=), so its memory, CPU and threads were not measured"
    known = unread if target.pid is None else f", process {target.pid}"
    return (
        f"{name} is {target.url}{known}. Something else started it, and all rounds measure that one process: what "
        "differs between two starts of it is in no interval. Its answer is its own, and may be more work than 13 bytes."
    )


def _answer(cells: Cells, compared: Compared) -> list[Section]:
    """The first question that the run has pairs for, answered."""
    for kind, asked in QUESTIONS.items():
        told = answers(cells, findings(compared, kind))
        if told:
            bullets = [f"{answer.scenario} ({answer.wait}) · {text}" for answer in told for text in answer.texts]
            return [Section("Answer", [f"{asked.heading}. {asked.text}"], bullets=bullets)]
    return []


def _scenario(cells: Cells, scenario: str) -> Section:
    found = cells.of_scenario(scenario)
    section = Section(f"Scenario {scenario}", [_question(scenario, found)])
    levels = [level for level in cells.levels if level.scenario == scenario]
    for level in levels:
        title = f"{scenario} {level.label} · closed, c = {level.actual:,}"
        keys: tuple[str, ...] = WAITING if scenario == "sleep" else BUSY
        if level.emulated:
            keys, title = EMULATED, f"{title} · emulated host"
        if level is not levels[-1]:
            keys = tuple(key for key in keys if key != SLOPE)  # it is the same at all connection counts
        section.tables.append(cell_table(title, [row for row in found if row.tier == level.tier], keys))
    return section


def _question(scenario: str, found: Sequence[Row]) -> str:
    if scenario == "sleep":
        cost = (
            "Memory per waiting request is the slope of peak RSS over the tiers' connection counts from rest: the mean "
            "of the rounds with its interval, shown for entries that held every tier. Kernel socket memory is not in "
            "it."
        )
        if any(r.emulated for r in found):
            return f"{PACED} {cost}"
        wait = next((f"{r.delay_s:g} s" for r in found if r.delay_s), "for a while")
        return (
            f"Every request waits {wait}. A bounded pool serves at most threads ÷ wait requests a second; "
            f"`ceiling` names that bound where it applies. {cost}"
        )
    return "13 bytes, no wait. `≥` marks a lower bound: the server was not what limited the figure (see the flags)."


def _flags(found: Sequence[Row]) -> Section:
    used = {flag for row in found for flag, _ in row.flags}
    bullets = [f"{flag_letter(flag)} `{flag.value}`: {flag.text}" for flag in Flag if flag in used]
    if bullets:
        bullets.append(COUNT)
    if any(row.outliers for row in found):
        bullets.append(OUTLYING)
    return Section("What the flags mean", bullets=bullets or ["No cell was flagged."])


def _toolchains(run: Run) -> str:
    if run.plan.condition.runtime in IN_IMAGES:
        return "JDK and rustc: the images' own"
    return f"JDK {run.host.jdk.version if run.host.jdk else 'none'}, rustc {run.host.tools.rustc or 'none'}"


def _host(run: Run) -> Section:
    host, limits = run.host, run.host.limits
    return Section(
        "Host",
        bullets=[
            f"{host.cpu_model or 'unknown CPU'}, {run.cores}, {format_memory(host.memory_kb)}, "
            f"{host.virtualization or 'no virtualisation seen'}",
            f"{host.distribution or host.system}, kernel {host.kernel}, {host.libc or 'unknown libc'}",
            f"descriptors {limits.nofile_hard}, somaxconn {limits.somaxconn}, "
            f"ports {limits.port_low}-{limits.port_high}, max_map_count {limits.max_map_count}",
            f"{_toolchains(run)}, wrk {host.tools.wrk or 'none'}",
        ],
    )
