"""heap: the smallest heap with which a JVM still holds and serves all connections, found by bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.analysis.stats.interval import of_mean
from zoo.analysis.summary import spread
from zoo.analysis.trials import Found, LoadKey, each_result, levels
from zoo.load.spec import LoadError
from zoo.measure.responses import ResponseCheck
from zoo.measure.trials.base import TrialCell, unserved
from zoo.model.errors import RuntimeFailure
from zoo.model.record import Record, Trial
from zoo.model.run import Case, Program, Run
from zoo.model.trial_results import HeapResult, HeapTrial
from zoo.plan.scenario import HELD_WAITS, Asked, Scenario, sleeping_window
from zoo.report.charts.figure import Group, slug
from zoo.report.formatting import format_spread
from zoo.report.view import Columns, Kinds, View, dot_figure, dots, median_answers, total, trial_section

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


@dataclass(frozen=True)
class Search:
    """`mb` is None when even the largest did not work. All trials in the order they were made."""

    mb: int | None
    trials: list[HeapTrial]

    @property
    def steady(self) -> bool:
        """False when a value worked that is not above every one that failed."""
        failed = max((trial.mb for trial in self.trials if not trial.worked), default=0)
        return all(trial.mb > failed for trial in self.trials if trial.worked)


def smallest(fault: Callable[[int], str], low: int, high: int, step: int = 1, confirmations: int = 2) -> Search:
    """Return the smallest of low, low + step, ..., at most high, at which `fault` gave no reason in any trial.

    Bisection takes for granted that what works at a value works above it. Near the limit of a heap that is not so: a
    trial may succeed by luck. So the value found has to work `confirmations` times more. If it fails once, that value
    and all below it are out, and the search goes on between it and the next larger one that has worked. A value that
    failed by bad luck is not tried again: the answer is then too large, never one that does not work.
    """
    if step < 1 or high < low:
        raise ValueError("a search needs a range and a step of at least 1")
    trials: list[HeapTrial] = []

    def tried(index: int) -> bool:
        mb = low + index * step
        why = fault(mb)
        trials.append(HeapTrial(mb=mb, worked=not why, why=why))
        return not why

    last = (high - low) // step
    good: list[int] = [last] if tried(last) else []  # falling: each is below those before it
    out = -1  # the largest index that failed
    while good:
        while good[-1] - out > 1:
            middle = (good[-1] + out) // 2
            if tried(middle):
                good.append(middle)
            else:
                out = middle
        if all(tried(good[-1]) for _ in range(confirmations)):
            return Search(low + good[-1] * step, trials)
        out = good.pop()
    return Search(None, trials)


LEAST_MB, MOST_MB, STEP_MB = 16, 1_024, 8
TELLING = frozenset(
    {"crashed", "not_started", "contract", "generator_hung", "generator_failed", "agent_lost", "bad_responses"}
)
"""Failures that a heap can be the cause of; others are the harness's own."""


def measure_cell(cell: TrialCell) -> Trial:
    connections = cell.connections

    def fault(mb: int) -> str:
        cell.tell(f"trying -Xmx{mb}m")
        why = _fault(cell, mb, connections.actual)
        cell.bench.reporter.tick(cell.program.duration_s)
        return why

    found = smallest(fault, LEAST_MB, MOST_MB, STEP_MB)
    result = HeapResult(
        connections=connections.actual,
        delay_s=cell.block.case.wait_s,
        smallest_mb=found.mb,
        steady=found.steady,
        trials=found.trials,
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


TEXT = (
    "The smallest -Xmx with which every connection is held and served, by bisection; it had to do so two more times. "
    "Below it the server ends, hangs or answers with errors."
)


def _smallest(found: Found[HeapResult]) -> str:
    """`616`; a search that found none shows how far it went: `over 1,024`."""
    each = [result for _, result in found]
    words = [format_spread(known)] if (known := spread(r.smallest_mb for r in each)) else []
    if without := [r for r in each if r.smallest_mb is None]:
        tried = max(trial.mb for r in without for trial in r.trials)
        words.append(f"over {tried:,}" + (f" in {len(without)} of {len(each)}" if words else ""))
    return ", ".join(words)


COLUMNS: Columns[HeapResult] = {
    "smallest -Xmx MB": _smallest,
    "trials": total(lambda r: len(r.trials)),
    "searches that were unsteady": lambda found: f"{sum(not r.steady for _, r in found)} of {len(found)}",
}
SECTION = trial_section("heap", TEXT, HeapResult, COLUMNS, lambda _, level: f"{level[0]} · closed, c = {level[1]}")


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    figures = []
    for level in levels(records):
        values = _values(records, level)
        data = dots(kinds, values, of_mean, {entry: "none does" for entry, seen in values.items() if not seen})
        figures += dot_figure(
            slug("heap", *level), "The smallest heap", f"Smallest -Xmx, MB, {level[1]} connections", data
        )
    return [Group("", figures)] if figures else []


def _values(records: Sequence[Record], level: LoadKey) -> dict[str, list[float]]:
    found = each_result(records, level, HeapResult)
    return {entry: [float(r.smallest_mb) for r in each if r.smallest_mb] for entry, each in found.items()}


ANSWERS = median_answers(_values, lambda level: f"Smallest heap that holds {level[1]} connections, MB")
HEAP = Scenario(
    name="heap",
    title="the smallest heap with which every waiting request is held and served",
    delay_s=float(DELAY_S),
    program=program,
    trial=measure_cell,
    trial_s=lambda program: TRIALS * (program.duration_s + 10),
    view=View("The smallest heap", SECTION, groups, ANSWERS),
    rounds=1,
)
