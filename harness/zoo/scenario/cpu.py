"""cpu: requests that compute, alone or after a short wait, from few clients to many: what does a thread model add?"""

from __future__ import annotations

from collections.abc import Sequence

from zoo.calibrate import WORK_MS, rounds_for
from zoo.results import Case, Program
from zoo.scenario.base import Asked, Idle, Scenario, within

WAITS_MS = (0, 2)
TIERS = ("5", "10", "20", "35", "50", "100", "200")
DURATION_S, QUICK_S = 4, 2


def program(asked: Asked) -> Program:
    cases = [
        Case(name=f"{work:g}ms" + (f"+{wait}ms" if wait else ""), wait_s=wait / 1000, work_s=work / 1000)
        for wait in WAITS_MS
        for work in WORK_MS
    ]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=within(asked, DURATION_S, QUICK_S))


def calibrated(program: Program, entries: Sequence[Idle]) -> Program:
    """The rounds of each case, found on the first entry and asked of all."""
    with entries[0]() as hosted:
        seconds_a_round = hosted.instruments.seconds_a_round(hosted.url)
    return program.model_copy(update={"cases": [_calibrated(case, seconds_a_round) for case in program.cases]})


def _calibrated(case: Case, seconds_a_round: float) -> Case:
    rounds = rounds_for([1000 * case.work_s], seconds_a_round)[0]
    path = f"/cpu?rounds={rounds}"
    if case.wait_s:
        path += f"&ms={round(1000 * case.wait_s)}"
    return case.model_copy(update={"path": path, "warm_path": path})


CPU = Scenario(
    name="cpu",
    title="every request computes, some after a short wait",
    delay_s=0.0,
    settle=True,
    program=program,
    calibrate=calibrated,
)
