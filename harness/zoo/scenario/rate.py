"""rate: how late are answers at a fixed rate that every compared entry can serve?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zoo.load.vegeta import Attack
from zoo.results import Case, Program
from zoo.scenario.base import Asked, Idle, Scenario, within
from zoo.scenario.open import attacked

if TYPE_CHECKING:
    from zoo.records import Trial
    from zoo.stage import Stage

SHARES = (0.5, 0.7, 0.77, 0.9)
"""Of the capacity; one is a tenth more than another."""
TIERS = ("1k",)
DURATION_S, QUICK_S = 30, 4
WARM_S = 10.0
TIMEOUT_S = 10.0
USERS = 64
"""So many ask for an entry's capacity, each again when it is answered."""


def program(asked: Asked) -> Program:
    cases = [Case(name=f"{round(100 * share)}pct", path="/") for share in SHARES]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=within(asked, DURATION_S, QUICK_S))


def calibrated(program: Program, entries: Sequence[Idle]) -> Program:
    """The rates, from the capacity of the slowest entry under the generator that will make them."""
    capacity_rps = min(_capacity(entry) for entry in entries)
    rates = [max(1, int(share * capacity_rps)) for share in SHARES]
    cases = [case.model_copy(update={"rate": rates[_place(case)]}) for case in program.cases]
    return program.model_copy(update={"capacity_rps": capacity_rps, "cases": cases})


def trial(stage: Stage) -> Trial:
    case = stage.block.case
    with stage.living() as server:
        attack = Attack(
            url=server.hosted.url + case.path,
            duration_s=stage.program.duration_s,
            timeout_s=TIMEOUT_S,
            rate=case.rate,
            connections=stage.connections.actual,
        )
        stage.tell("warm-up at the rate")
        server.hosted.attacker.run(replace(attack, duration_s=WARM_S))
        return attacked(stage, server, attack, SHARES[_place(case)])


def _place(case: Case) -> int:
    return [f"{round(100 * share)}pct" for share in SHARES].index(case.name)


def _capacity(entry: Idle) -> float:
    """Good answers a second to users who ask again at once, after as many for warm-up."""
    with entry() as hosted:
        attack = Attack(hosted.url + "/", WARM_S / 2, TIMEOUT_S, connections=USERS)
        hosted.attacker.run(attack)
        given = hosted.attacker.run(attack)
    good = sum(len(one.sent_us) - sum(map(len, one.failed.values())) for one in given.hits)
    return good / attack.duration_s


RATE = Scenario(
    name="rate",
    title="a constant arrival rate, a share of what the slowest entry can serve",
    delay_s=0.0,
    settle=False,
    program=program,
    calibrate=calibrated,
    trial=trial,
    trial_s=lambda program: program.duration_s + WARM_S,
)
