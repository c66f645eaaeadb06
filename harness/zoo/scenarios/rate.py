"""rate: how late are answers at a fixed rate that every compared entry can serve?"""

from __future__ import annotations

from zoo.model.program import Case, Program
from zoo.scenarios.base import Asked, Scenario, within

SHARES = (0.5, 0.7, 0.77, 0.9)
"""Of the capacity; one is a tenth more than another."""
TIERS = ("1k",)
DURATION_S, QUICK_S = 30, 4
WARM_S = 10.0
TIMEOUT_S = 10.0


def program(asked: Asked) -> Program:
    cases = [Case(name=f"{round(100 * share)}pct", path="/") for share in SHARES]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=within(asked, DURATION_S, QUICK_S))


def share_of(case: Case) -> float:
    """Of the capacity that the case asks for."""
    return SHARES[[f"{round(100 * share)}pct" for share in SHARES].index(case.name)]


RATE = Scenario(
    name="rate",
    title="a constant arrival rate, a share of what the slowest entry can serve",
    delay_s=0.0,
    settle=False,
    program=program,
    calibration="rates",
    trial="rate",
    trial_s=lambda program: program.duration_s + WARM_S,
)
