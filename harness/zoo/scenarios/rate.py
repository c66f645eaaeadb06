"""rate: how late are responses at a fixed rate that every compared entry can serve?"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from zoo.analysis.stats import student_ratio
from zoo.analysis.summary import spread
from zoo.analysis.trials import levels, newest, peak_mb, rate_made, results
from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack
from zoo.measure.responses import too_many
from zoo.measure.session import Idle
from zoo.measure.trials.base import TrialCell
from zoo.model.record import Record, Trial
from zoo.model.run import Case, Program, Run
from zoo.model.samples import failures
from zoo.model.trial_results import OpenResult
from zoo.plan.scenario import Asked, Scenario, within
from zoo.report.cells import variant
from zoo.report.columns import title_of
from zoo.report.formatting import format_interval, format_percent, format_spread
from zoo.report.section import Table
from zoo.report.text.markdown import render_table
from zoo.report.text.wording import ranged
from zoo.report.view import View
from zoo.scenarios.open.trial import attacked
from zoo.scenarios.open.view import arrival_section, groups

SHARES = (0.5, 0.7, 0.77, 0.9)
"""Of the capacity; one is a tenth more than another."""
TIERS = ("1k",)
DURATION_S, QUICK_S = 30, 4
WARM_S = 10.0
TIMEOUT_S = 10.0
USERS = 64
"""So many clients measure an entry's capacity; each sends its next request when it has its response."""


def program(asked: Asked) -> Program:
    cases = [Case(name=f"{round(100 * share)}pct", path="/") for share in SHARES]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=within(asked, DURATION_S, QUICK_S))


def share_of(case: Case) -> float:
    return next(share for share in SHARES if case.name == f"{round(100 * share)}pct")


def with_rates(program: Program, entries: Sequence[Idle]) -> Program:
    """The rates, from the capacity of the slowest entry under the generator that will make them."""
    capacity_rps = min(_capacity(entry) for entry in entries)
    cases = [case.model_copy(update={"rate": max(1, int(share_of(case) * capacity_rps))}) for case in program.cases]
    return program.model_copy(update={"capacity_rps": capacity_rps, "cases": cases})


def _capacity(entry: Idle) -> float:
    """Good answers a second to users who ask again at once, after as many for warm-up."""
    with entry() as hosted:
        attack = Attack(hosted.url + "/", WARM_S / 2, TIMEOUT_S, connections=USERS)
        hosted.attacker.run(attack)
        given = hosted.attacker.run(attack)
    sent = sum(len(one.sent_us) for one in given.hits)
    failed = failures(given.hits)
    bad = sum(failed.values())
    if too_many(bad, sent):
        raise LoadError("bad_responses", f"{bad:,} of {sent:,} responses were bad: {', '.join(failed)}")
    return (sent - bad) / attack.duration_s


def measure_cell(cell: TrialCell) -> Trial:
    case = cell.block.case
    with cell.living() as server:
        attack = Attack(
            url=server.hosted.url + case.path,
            duration_s=cell.program.duration_s,
            timeout_s=TIMEOUT_S,
            rate=case.rate,
            connections=cell.connections.actual,
        )
        cell.tell("warm-up at the rate")
        server.hosted.attacker.run(replace(attack, duration_s=WARM_S))
        return attacked(cell, server, attack, share_of(case))


TEXT = (
    "Requests come at a constant rate on kept-alive connections: a share of what the slowest entry of this run "
    "can serve under the same generator. Quantiles are over all requests, from when each was due. vegeta wakes within "
    "about 1 ms, so that much of each quantile is its own: a smaller difference between two servers shows nothing."
)


def answers(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        found = newest([record for record in records if (record.asked, record.tier) == level])
        late = {e: r.latency.p99_us / 1000 for e, r in found.items() if r.latency.p99_us is not None}
        if late:
            rate = next(iter(found.values())).rate
            made.append(f"p99 at {rate:,} requests a second, ms: {ranged(late)}.")
    return made


ReadMemory = Callable[[Record], float | None]


def _direct_mb(record: Record) -> float | None:
    known = record.memory.direct_used_kb if record.memory else None
    return None if known is None else known / 1024


READ_MB = (peak_mb, _direct_mb)


def study(run: Run, records: Sequence[Record]) -> list[str]:
    """Return memory at two constant rates, and how much of it is in direct buffers."""
    body: list[list[str]] = []
    sentences = []
    for entry, steps in _steps(records).items():
        body += [
            [variant(entry), f"{rate:,}", *(format_spread(spread(map(read, seen.values()))) for read in READ_MB)]
            for rate, seen in steps.items()
        ]
        low, high = min(steps), max(steps)
        peak, direct = (_change(steps[low], steps[high], read) for read in READ_MB)
        sentences.append(
            f"From {low:,} to {high:,} requests a second, the peak of `{variant(entry)}` is {peak}, "
            f"its direct buffers {direct}."
        )
    columns = ["variant", "requests a second", title_of("rss_peak_mb"), "direct buffers MB"]
    text = " ".join([*sentences, *_late(records), *_not_made(records)])
    return [text, render_table(Table("", columns, body))]


def _steps(records: Sequence[Record]) -> dict[str, dict[int, dict[int, Record]]]:
    """By entry and rate, the rounds in which the generator made it."""
    found: dict[str, dict[int, dict[int, Record]]] = {}
    for record, result in _opened(records):
        seen = found.setdefault(record.entry, {}).setdefault(result.rate, {})
        if rate_made(result):
            seen[record.round] = record
    return {entry: dict(sorted(steps.items())) for entry, steps in sorted(found.items())}


def _late(records: Sequence[Record]) -> list[str]:
    found = _opened(records)
    late_ms = [result.lag.p99_us / 1000 for _, result in found if result.behind and rate_made(result)]
    if not late_ms:
        return []
    return [
        f"In {len(late_ms)} of {len(found)} cells the generator made the rate but sent one request in a hundred "
        f"{statistics.median(late_ms):.1f} ms late or more (at worst {max(late_ms):.1f}): there are no latencies, but "
        "memory is told."
    ]


def _not_made(records: Sequence[Record]) -> list[str]:
    return [
        f"`{variant(record.entry)}` at {result.rate:,} requests a second, round {record.round}: "
        f"no data, {result.behind}."
        for record, result in _opened(records)
        if not rate_made(result)
    ]


def _opened(records: Sequence[Record]) -> list[tuple[Record, OpenResult]]:
    return [one for level in levels(records) for of in results(records, level, OpenResult).values() for one in of]


def _change(less: Mapping[int, Record], more: Mapping[int, Record], read: ReadMemory) -> str:
    """`12 % smaller [20 % smaller, 3 % smaller]`, from the rounds that have both."""
    both = [(read(less[n]), read(more[n])) for n in sorted(less.keys() & more.keys())]
    known = [math.log(b / a) for a, b in both if a and b]
    return format_interval(student_ratio(known), _percent) if known else "not known"


def _percent(ratio: float) -> str:
    return f"{format_percent(abs(ratio - 1))} {'larger' if ratio >= 1 else 'smaller'}"


RATE = Scenario(
    name="rate",
    title="a constant arrival rate, a share of what the slowest entry can serve",
    program=program,
    calibrate=with_rates,
    trial=measure_cell,
    trial_s=lambda program: program.duration_s + WARM_S,
    view=View("Latency at fixed rates", arrival_section("rate", TEXT), groups, answers, study),
)
