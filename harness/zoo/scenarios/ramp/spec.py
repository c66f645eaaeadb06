"""The workload of `ramp`. Pure."""

from __future__ import annotations

from zoo.model.run import Case, Program
from zoo.plan.scenario import Asked, Scenario, within

DELAYS_S = (2,)
TIERS = ("500",)
DURATION_S, QUICK_S = 60, 8


def program(asked: Asked) -> Program:
    cases = [Case(name=f"{s}s", path=f"/sleep?ms={1000 * s}", wait_s=s, warm_path="/sleep?ms=1") for s in DELAYS_S]
    duration_s = within(asked, DURATION_S, QUICK_S)
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=duration_s)


SPEC = Scenario(
    name="ramp",
    title="all connections at once on a server at rest, every request waits",
    delay_s=DELAYS_S[0],
    program=program,
    trial_s=lambda program: program.duration_s + program.cases[0].wait_s,
)
