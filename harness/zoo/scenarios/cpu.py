"""cpu: requests that compute, alone or after a short wait, from few clients to many: what does a thread model add?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from zoo.measure.session import Idle
from zoo.model.run import Case, Program
from zoo.plan.scenario import Asked, Scenario, within
from zoo.report.sweeps import sweep_view

WORK_MS = (0.1, 0.5, 2.0, 5.0)
WAITS_MS = (0, 2)
TIERS = ("5", "10", "20", "35", "50", "100", "200")
DURATION_S, QUICK_S = 4, 2
TEXT = (
    "Work of about so many milliseconds by rounds of SHA-256, the same for all entries, some after a wait (`5ms+2ms`: "
    "5 ms of work after 2 ms). Requests a second by the number of connections; context switches of the server's "
    "threads and their moves from one CPU to another, where threads that ended took no more than 10 % along unseen."
)


def program(asked: Asked) -> Program:
    cases = [
        Case(name=f"{work:g}ms" + (f"+{wait}ms" if wait else ""), wait_s=wait / 1000, work_s=work / 1000)
        for wait in WAITS_MS
        for work in WORK_MS
    ]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=within(asked, DURATION_S, QUICK_S))


def with_rounds(program: Program, entries: Sequence[Idle]) -> Program:
    """Fill in the rounds of each case, found on the first entry and the same for all."""
    with entries[0]() as hosted:
        seconds_a_round = hosted.instruments.seconds_a_round(hosted.url)
    return program.model_copy(update={"cases": [_with_rounds(case, seconds_a_round) for case in program.cases]})


def _with_rounds(case: Case, seconds_a_round: float) -> Case:
    path = f"/cpu?rounds={rounds_for(case.work_s, seconds_a_round)}"
    if case.wait_s:
        path += f"&ms={round(1000 * case.wait_s)}"
    return case.model_copy(update={"path": path, "warm_path": path})


def rounds_for(work_s: float, seconds_a_round: float) -> int:
    """Return how many rounds take about so long, to two significant digits and at least 1."""
    rounds = work_s / seconds_a_round
    unit: int = 10 ** max(0, math.floor(math.log10(max(rounds, 1))) - 1)
    return max(1, round(rounds / unit) * unit)


CPU = Scenario(
    name="cpu",
    title="every request computes, some after a short wait",
    settle=True,
    program=program,
    view=sweep_view("cpu", "Work of the processor", TEXT),
    calibrate=with_rounds,
)
