"""heap: the smallest heap with which a JVM still holds and serves all connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.load.base import LoadError
from zoo.records import Trial
from zoo.results import Case, HeapResult, HeapTrial, Program
from zoo.runtime.base import RuntimeFailure
from zoo.scenario.base import HELD_WAITS, Asked, Scenario, sleeping_window, unserved
from zoo.smallest import smallest

if TYPE_CHECKING:
    from zoo.stage import Stage

TIERS = ("25k",)
DELAY_S, QUICK_S = 10, 2
CONNECT_S = 3
LEAST_MB, MOST_MB, STEP_MB = 16, 1_024, 8
TRIALS = 10
"""About so many that a search takes."""

TELLING = frozenset({"crashed", "not_started", "contract", "generator_hung", "generator_failed", "agent_lost"})
"""Failures that a heap can be the cause of; others are the harness's own."""


def program(asked: Asked) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    jvms = [e.id for e in asked.entries if not e.native]
    case = Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1", entries=jvms)
    duration_s = sleeping_window(delay_s, HELD_WAITS) + CONNECT_S
    return Program(cases=[case] if jvms else [], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


def trial(stage: Stage) -> Trial:
    trials: list[HeapTrial] = []
    connections = stage.connections

    def works(mb: int) -> bool:
        stage.tell(f"trying -Xmx{mb}m")
        why = _fault(stage, mb, connections.actual)
        trials.append(HeapTrial(mb=mb, worked=not why, why=why))
        stage.bench.reporter.tick(stage.program.duration_s)
        return not why

    found = smallest(works, LEAST_MB, MOST_MB, STEP_MB)
    result = HeapResult(
        connections=connections.actual,
        delay_s=stage.block.case.wait_s,
        smallest_mb=found.value,
        steady=found.steady,
        trials=trials,
    )
    return Trial(result=result, connections=connections)


def _fault(stage: Stage, mb: int, connections: int) -> str:
    """Why all connections were not held and served with this heap; empty when they were."""
    try:
        with stage.living(f"-Xmx{mb}m") as server:
            url = server.hosted.url + stage.block.case.path
            spec = stage.bench.spec(url, connections, stage.program.duration_s)
            outcome = server.hosted.generator.run(spec)
    except (LoadError, RuntimeFailure) as error:
        if error.kind not in TELLING:
            raise
        return error.message
    return unserved(outcome, connections)


HEAP = Scenario(
    name="heap",
    title="the smallest heap with which every waiting request is held and served",
    delay_s=float(DELAY_S),
    settle=False,
    program=program,
    trial=trial,
    trial_s=lambda program: TRIALS * (program.duration_s + 10),
    rounds=1,
)
