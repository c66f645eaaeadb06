"""cpu: requests that compute, alone or after a short wait, from few clients to many: what does a thread model add?"""

from __future__ import annotations

from zoo.model.program import Case, Program
from zoo.scenarios.base import Asked, Scenario, within

WORK_MS = (0.1, 0.5, 2.0, 5.0)
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


CPU = Scenario(
    name="cpu",
    title="every request computes, some after a short wait",
    delay_s=0.0,
    settle=True,
    program=program,
    calibration="rounds",
)
