"""Workload of `ramp`. Pure."""

from __future__ import annotations

from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds

DELAYS_S = (2,)
TIERS = ("500",)
DURATION_S, QUICK_S = 60, 8


def program(asked: ProgramOptions) -> Program:
    cases = [Case(name=f"{s}s", path=f"/sleep?ms={1000 * s}", wait_s=s, warm_path="/sleep?ms=1") for s in DELAYS_S]
    duration_s = load_seconds(asked, DURATION_S, QUICK_S)
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=duration_s)


SPEC = Scenario(
    name="ramp",
    title="all connections at once on a server at rest, every request waits",
    delay_s=DELAYS_S[0],
    program=program,
    trial_s=lambda program: program.duration_s + program.cases[0].wait_s,
)
