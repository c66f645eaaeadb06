"""scale: twice as many held connections each time, until memory or a limit says stop; which of them was it?"""

from __future__ import annotations

from zoo.model.program import Case, Program
from zoo.scenarios.base import HELD_WAITS, Asked, Scenario, sleeping_window

TIERS = ("400k",)
DELAY_S, QUICK_S = 10, 2
CONNECT_S = 10


def program(asked: Asked) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    case = Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1")
    duration_s = sleeping_window(delay_s, HELD_WAITS) + CONNECT_S
    return Program(cases=[case], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


SCALE = Scenario(
    name="scale",
    title="twice as many held connections each time, until something says stop",
    delay_s=float(DELAY_S),
    settle=False,
    program=program,
    trial="scale",
    trial_s=lambda program: 5 * (program.duration_s + 3),
    rounds=1,
)
