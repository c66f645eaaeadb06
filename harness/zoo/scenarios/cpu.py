"""cpu: requests that compute, some after a short wait, from few clients to many. What does the thread model cost?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from zoo.bench.session import Idle
from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds
from zoo.report.sweeps import sweep_view

WORK_MS = (0.1, 0.5, 2.0, 5.0)
WAITS_MS = (0, 2)
TIERS = ("5", "10", "20", "35", "50", "100", "200")
DURATION_S, QUICK_S = 4, 2
TEXT = (
    "Each request computes SHA-256 for about the given time, with the same number of rounds for all entries, some "
    "after a wait (`5ms+2ms`: 5 ms of work after 2 ms). The tables have requests per second by number of connections, "
    "context switches of the server's threads, and their migrations between CPUs. Switches and migrations are shown "
    "only if at most 10% of them may have been missed because threads ended."
)


def program(asked: ProgramOptions) -> Program:
    cases = [
        Case(name=f"{work:g}ms" + (f"+{wait}ms" if wait else ""), wait_s=wait / 1000, work_s=work / 1000)
        for wait in WAITS_MS
        for work in WORK_MS
    ]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=load_seconds(asked, DURATION_S, QUICK_S))


def calibrate_rounds(program: Program, entries: Sequence[Idle]) -> Program:
    """Fill in the number of rounds for each case. It is calibrated on the first entry and the same for all."""
    with entries[0]() as hosted:
        seconds_per_round = hosted.instruments.seconds_per_round(hosted.url)
    return program.model_copy(update={"cases": [_set_rounds(case, seconds_per_round) for case in program.cases]})


def _set_rounds(case: Case, seconds_per_round: float) -> Case:
    path = f"/cpu?rounds={rounds_for(case.work_s, seconds_per_round)}"
    if case.wait_s:
        path += f"&ms={round(1000 * case.wait_s)}"
    return case.model_copy(update={"path": path, "warm_path": path})


def rounds_for(work_s: float, seconds_per_round: float) -> int:
    """Return how many rounds take about `work_s` seconds, rounded to two significant digits and at least 1."""
    rounds = work_s / seconds_per_round
    unit: int = 10 ** max(0, math.floor(math.log10(max(rounds, 1))) - 1)
    return max(1, round(rounds / unit) * unit)


CPU = Scenario(
    name="cpu",
    title="every request computes, some after a short wait",
    measures_throughput=True,
    program=program,
    view=sweep_view("cpu", "CPU work", TEXT),
    calibrate=calibrate_rounds,
)
