"""heap: bisection for the smallest heap that holds and serves all connections."""

from __future__ import annotations

from zoo.load.spec import LoadError
from zoo.measure.responses import ResponseCheck
from zoo.measure.trials.base import TrialCell, unserved
from zoo.measure.trials.bisection import smallest
from zoo.model.errors import RuntimeFailure
from zoo.model.record import Trial
from zoo.model.trial_results import HeapResult, HeapTrial

LEAST_MB, MOST_MB, STEP_MB = 16, 1_024, 8


TELLING = frozenset(
    {"crashed", "not_started", "contract", "generator_hung", "generator_failed", "agent_lost", "bad_responses"}
)
"""Failures that a heap can be the cause of; others are the harness's own."""


def trial(cell: TrialCell) -> Trial:
    trials: list[HeapTrial] = []
    connections = cell.connections

    def works(mb: int) -> bool:
        cell.tell(f"trying -Xmx{mb}m")
        why = _fault(cell, mb, connections.actual)
        trials.append(HeapTrial(mb=mb, worked=not why, why=why))
        cell.bench.reporter.tick(cell.program.duration_s)
        return not why

    found = smallest(works, LEAST_MB, MOST_MB, STEP_MB)
    result = HeapResult(
        connections=connections.actual,
        delay_s=cell.block.case.wait_s,
        smallest_mb=found.value,
        steady=found.steady,
        trials=trials,
    )
    return Trial(result=result, connections=connections)


def _fault(cell: TrialCell, mb: int, connections: int) -> str:
    """Why all connections were not held and served with this heap; empty when they were."""
    try:
        with cell.living(f"-Xmx{mb}m") as server:
            url = server.hosted.url + cell.block.case.path
            spec = cell.bench.spec(url, connections, cell.program.duration_s)
            check = ResponseCheck(server.hosted, spec, server.hosted.url + cell.block.case.warm_path)
            outcome = server.hosted.generator.run(spec)
            check.check(outcome)
    except (LoadError, RuntimeFailure) as error:
        if error.kind not in TELLING:
            raise
        return error.message
    return unserved(outcome, connections)
