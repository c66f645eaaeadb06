"""heap: the smallest heap with which a JVM still holds and serves all connections."""

from __future__ import annotations

from zoo.model.program import Case, Program
from zoo.scenarios.base import HELD_WAITS, Asked, Scenario, sleeping_window

TIERS = ("25k",)
DELAY_S, QUICK_S = 10, 2
CONNECT_S = 3
TRIALS = 10
"""About so many that a search takes."""


def program(asked: Asked) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    jvms = [e.id for e in asked.entries if not e.native]
    case = Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1", entries=jvms)
    duration_s = sleeping_window(delay_s, HELD_WAITS) + CONNECT_S
    return Program(cases=[case] if jvms else [], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


HEAP = Scenario(
    name="heap",
    title="the smallest heap with which every waiting request is held and served",
    delay_s=float(DELAY_S),
    settle=False,
    program=program,
    trial="heap",
    trial_s=lambda program: TRIALS * (program.duration_s + 10),
    rounds=1,
)
