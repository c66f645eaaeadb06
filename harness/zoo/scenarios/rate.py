"""rate: latency at a fixed request rate that every compared entry can serve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zoo.bench.responses import exceeds_bad_limit
from zoo.bench.session import Idle
from zoo.bench.trial import TrialCell
from zoo.core.record import Record, Trial
from zoo.core.run import Case, Program
from zoo.core.samples import count_failures
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds
from zoo.core.trial_results import OpenResult
from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack
from zoo.report.view import Columns, View
from zoo.report.wording import format_by_server
from zoo.scenarios.open.trial import measure_attack
from zoo.scenarios.open.view import ARRIVAL_COLUMNS, arrival_section, groups, over_made
from zoo.stats.trials import list_loads, newest_results

SHARES = (0.2, 0.22, 0.5, 0.7, 0.9)
"""Fractions of the capacity. 0.22 is 10% more than 0.2.

On cores that server and generator share, the generator keeps only low rates: where both are busy, it sends late.
"""
TIERS = ("1k",)
DURATION_S, QUICK_S = 30, 4
WARM_S = 10.0
TIMEOUT_S = 10.0
USERS = 64
"""Number of clients that measure an entry's capacity. Each sends its next request when its response arrives."""


def program(asked: ProgramOptions) -> Program:
    cases = [Case(name=f"{round(100 * share)}pct", path="/") for share in SHARES]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=load_seconds(asked, DURATION_S, QUICK_S))


def share_of(case: Case) -> float:
    return next(share for share in SHARES if case.name == f"{round(100 * share)}pct")


def calibrate_rates(program: Program, entries: Sequence[Idle]) -> Program:
    """Set the rates from the capacity of the slowest entry, measured with the generator that will send the load."""
    capacity_rps = min(_capacity(entry) for entry in entries)
    cases = [case.model_copy(update={"rate": max(1, int(share_of(case) * capacity_rps))}) for case in program.cases]
    return program.model_copy(update={"capacity_rps": capacity_rps, "cases": cases})


def _capacity(entry: Idle) -> float:
    """Return the good responses per second that clients without think time get, after a warm-up of the same length."""
    with entry() as hosted:
        attack = Attack(hosted.url + "/", WARM_S / 2, TIMEOUT_S, connections=USERS)
        hosted.attacker.run(attack)
        given = hosted.attacker.run(attack)
    sent = sum(len(one.sent_us) for one in given.hits)
    failed = count_failures(given.hits)
    bad = sum(failed.values())
    if exceeds_bad_limit(bad, sent):
        raise LoadError("bad_responses", f"{bad:,} of {sent:,} responses were bad: {', '.join(failed)}")
    return (sent - bad) / attack.duration_s


def measure_cell(cell: TrialCell) -> Trial:
    case = cell.block.case
    with cell.warm_server() as server:
        attack = Attack(
            url=server.hosted.url + case.path,
            duration_s=cell.program.duration_s,
            timeout_s=TIMEOUT_S,
            rate=case.rate,
            connections=cell.connections.actual,
        )
        cell.show_phase("warm-up at the rate")
        server.hosted.attacker.run(replace(attack, duration_s=WARM_S))
        return measure_attack(cell, server, attack, share_of(case))


TEXT = (
    "Requests arrive at a constant rate on kept-alive connections: a share of what the slowest entry "
    "of this run can serve with the same generator. Quantiles cover all requests, from the time when "
    "each was due. vegeta's timer has a granularity of about 1 ms, so smaller differences between "
    "two servers mean nothing."
)


def answers(records: Sequence[Record]) -> list[str]:
    made = []
    for level in list_loads(records):
        found = newest_results([record for record in records if (record.workload, record.tier) == level])
        late = {e: r.latency.p99_us / 1000 for e, r in found.items() if r.latency.p99_us is not None}
        if late:
            rate = next(iter(found.values())).rate
            made.append(f"p99 latency at {rate:,} requests per second, ms: {format_by_server(late)}.")
    return made


def _direct_mb(record: Record) -> float | None:
    known = record.memory.direct_used_kb if record.memory else None
    return None if known is None else known / 1024


COLUMNS: Columns[OpenResult] = {**ARRIVAL_COLUMNS, "direct buffers MB": over_made(_direct_mb)}


RATE = Scenario(
    name="rate",
    title="a constant arrival rate, a share of what the slowest entry can serve",
    program=program,
    calibrate=calibrate_rates,
    trial=measure_cell,
    trial_s=lambda program: program.duration_s + WARM_S,
    view=View("Latency at fixed rates", arrival_section("rate", TEXT, COLUMNS), groups, answers),
)
