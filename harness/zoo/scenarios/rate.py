"""rate: how late are responses at a fixed rate that every compared entry can serve?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zoo.analysis.trials import levels, newest
from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack
from zoo.measure.responses import too_many
from zoo.measure.session import Idle
from zoo.measure.trials.base import TrialCell
from zoo.model.record import Record, Trial
from zoo.model.run import Case, Program
from zoo.model.samples import failures
from zoo.model.trial_results import OpenResult
from zoo.plan.scenario import Asked, Scenario, within
from zoo.report.text.wording import ranged
from zoo.report.view import Columns, View
from zoo.scenarios.open.trial import attacked
from zoo.scenarios.open.view import ARRIVAL_COLUMNS, arrival_section, groups, over_made

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


def _direct_mb(record: Record) -> float | None:
    known = record.memory.direct_used_kb if record.memory else None
    return None if known is None else known / 1024


COLUMNS: Columns[OpenResult] = {**ARRIVAL_COLUMNS, "direct buffers MB": over_made(_direct_mb)}


RATE = Scenario(
    name="rate",
    title="a constant arrival rate, a share of what the slowest entry can serve",
    program=program,
    calibrate=with_rates,
    trial=measure_cell,
    trial_s=lambda program: program.duration_s + WARM_S,
    view=View("Latency at fixed rates", arrival_section("rate", TEXT, COLUMNS), groups, answers),
)
