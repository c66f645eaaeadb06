"""Workload of `open`. Pure."""

from __future__ import annotations

from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds

RATE, DELAY_S = 400, 4
DURATION_S, QUICK_S = 60, 5
TIMEOUT_S = 60.0


def program(asked: ProgramOptions) -> Program:
    duration_s = load_seconds(asked, DURATION_S, QUICK_S)
    case = Case(
        name=f"{RATE}ps-{DELAY_S}s",
        path=f"/sleep?ms={1000 * DELAY_S}",
        wait_s=DELAY_S,
        warm_path="/sleep?ms=1",
        rate=RATE,
    )
    users = RATE * duration_s
    tier = str(users) if users % 1000 else f"{users // 1000}k"
    return Program(cases=[case], tiers=[tier], duration_s=duration_s)


SPEC = Scenario(
    name="open",
    title="a constant arrival rate, a new connection for each request, every request waits",
    delay_s=float(DELAY_S),
    program=program,
    trial_s=lambda program: program.duration_s + TIMEOUT_S / 2,
)
