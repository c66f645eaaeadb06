"""heap: the smallest heap with which a JVM still holds and serves all connections, found by bisection."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.bench.responses import ResponseCheck
from zoo.bench.trial import TrialCell, unserved
from zoo.core.errors import RuntimeFailure
from zoo.core.record import Record, Trial
from zoo.core.run import Case, Program, Run
from zoo.core.scenario import HELD_WAITS, ProgramOptions, Scenario, sleeping_window
from zoo.core.trial_results import HeapResult, HeapTrial
from zoo.load.spec import LoadError
from zoo.report.charts.figure import Group, slug
from zoo.report.formatting import format_spread
from zoo.report.view import Columns, Kinds, View, dot_figure, dots, sum_column, trial_section
from zoo.report.wording import format_by_server, join_names
from zoo.stats.interval import mean_interval
from zoo.stats.summary import spread
from zoo.stats.trials import Found, LoadKey, each_result, list_loads

TIERS = ("25k",)
DELAY_S, QUICK_S = 10, 2
CONNECT_S = 3
TRIALS = 10
"""Approximate number of trials in a search."""


def program(asked: ProgramOptions) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    jvms = [e.id for e in asked.entries if not e.native]
    case = Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1", entries=jvms)
    duration_s = sleeping_window(delay_s, HELD_WAITS) + CONNECT_S
    return Program(cases=[case] if jvms else [], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


@dataclass(frozen=True)
class Search:
    """Result of a search, with all trials in the order they ran. `mb` is None if even the largest value failed."""

    mb: int | None
    trials: list[HeapTrial]

    @property
    def steady(self) -> bool:
        """Return False if some value worked although a value above it failed."""
        failed = max((trial.mb for trial in self.trials if not trial.worked), default=0)
        return all(trial.mb > failed for trial in self.trials if trial.worked)


def bisect_smallest(fault: Callable[[int], str], low: int, high: int, step: int = 1, confirmations: int = 2) -> Search:
    """Return the smallest of low, low + step, …, up to high, for which `fault` returned an empty string in every trial.

    Bisection assumes that if one value works, all larger values work. Near the heap limit that is not true: a trial may
    succeed by luck. So the value found has to work `confirmations` more times. If it fails once, the search excludes
    that value and all below it, and continues between it and the next larger value that worked. A value that failed by
    bad luck is not retried, so the result may be too large, but it is never a value that does not work.
    """
    if step < 1 or high < low:
        raise ValueError("a search needs a range and a step of at least 1")
    trials: list[HeapTrial] = []

    def try_value(index: int) -> bool:
        mb = low + index * step
        why = fault(mb)
        trials.append(HeapTrial(mb=mb, worked=not why, why=why))
        return not why

    last = (high - low) // step
    good: list[int] = [last] if try_value(last) else []  # descending
    out = -1  # the largest index that failed
    while good:
        while good[-1] - out > 1:
            middle = (good[-1] + out) // 2
            if try_value(middle):
                good.append(middle)
            else:
                out = middle
        if all(try_value(good[-1]) for _ in range(confirmations)):
            return Search(low + good[-1] * step, trials)
        out = good.pop()
    return Search(None, trials)


LEAST_MB, MOST_MB, STEP_MB = 16, 1_024, 8
HEAP_FAILURES = frozenset(
    {"crashed", "not_started", "contract", "generator_hung", "generator_failed", "agent_lost", "bad_responses"}
)
"""Failures that a heap that is too small can cause. Other failures are the harness's own."""


def measure_cell(cell: TrialCell) -> Trial:
    connections = cell.connections

    def fault(mb: int) -> str:
        cell.show_phase(f"trying -Xmx{mb}m")
        return _fault(cell, mb, connections.actual)

    found = bisect_smallest(fault, LEAST_MB, MOST_MB, STEP_MB)
    result = HeapResult(
        connections=connections.actual,
        delay_s=cell.block.case.wait_s,
        smallest_mb=found.mb,
        steady=found.steady,
        trials=found.trials,
    )
    return Trial(result=result, connections=connections)


def _fault(cell: TrialCell, mb: int, connections: int) -> str:
    """Return why this heap could not hold and serve all connections, or an empty string if it could."""
    try:
        with cell.warm_server(f"-Xmx{mb}m") as server:
            url = server.hosted.url + cell.block.case.path
            spec = cell.bench.spec(url, connections, cell.program.duration_s)
            check = ResponseCheck(server.hosted, spec, server.hosted.url + cell.block.case.warm_path)
            outcome = server.hosted.generator.run(spec)
            check.check(outcome)
    except (LoadError, RuntimeFailure) as error:
        if error.kind not in HEAP_FAILURES:
            raise
        return error.message
    return unserved(outcome, connections)


TEXT = (
    "The smallest -Xmx with which every connection is held and answered, found by bisection and "
    "confirmed twice. With less, the server exits, hangs or returns errors."
)


def _smallest(found: Found[HeapResult]) -> str:
    """Format the sizes found, as in `616`. A search that found none shows how far it went, as in `over 1,024`."""
    each = [result for _, result in found]
    words = [format_spread(known)] if (known := spread(r.smallest_mb for r in each)) else []
    if without := [r for r in each if r.smallest_mb is None]:
        words.append(f"over {_largest_tried(without):,}" + (f" in {len(without)} of {len(each)}" if words else ""))
    return ", ".join(words)


def _largest_tried(results: Sequence[HeapResult]) -> int:
    return max(trial.mb for result in results for trial in result.trials)


COLUMNS: Columns[HeapResult] = {
    "smallest -Xmx MB": _smallest,
    "trials": sum_column(lambda r: len(r.trials)),
    "unsteady searches": lambda found: f"{sum(not r.steady for _, r in found)} of {len(found)}",
}
SECTION = trial_section("heap", TEXT, HeapResult, COLUMNS, lambda _, level: f"{level[0]} · closed, c = {level[1]}")


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    figures = []
    for level in list_loads(records):
        values = _values(records, level)
        data = dots(
            kinds, values, mean_interval, {entry: "none is enough" for entry, seen in values.items() if not seen}
        )
        figures += dot_figure(slug("heap", *level), "Smallest heap", f"Smallest -Xmx, MB, {level[1]} connections", data)
    return [Group("", figures)] if figures else []


def _values(records: Sequence[Record], level: LoadKey) -> dict[str, list[float]]:
    found = each_result(records, level, HeapResult)
    return {entry: [float(r.smallest_mb) for r in each if r.smallest_mb] for entry, each in found.items()}


def answers(records: Sequence[Record]) -> list[str]:
    """Return the first sentences: the smallest heap of each entry, or how far a search without success went."""
    sentences = []
    for level in list_loads(records):
        found = each_result(records, level, HeapResult)
        values = _values(records, level)
        parts = [format_by_server({entry: statistics.median(each) for entry, each in values.items() if each})]
        if without := [entry for entry, each in values.items() if not each]:
            tried = min(_largest_tried(found[entry]) for entry in without)
            parts.append(f"over {tried:,} in {join_names(sorted(without))}")
        sentences.append(f"Smallest heap that holds {level[1]} connections, MB: {'; '.join(filter(None, parts))}.")
    return sentences


HEAP = Scenario(
    name="heap",
    title="the smallest heap with which every waiting request is held and answered",
    delay_s=float(DELAY_S),
    program=program,
    trial=measure_cell,
    trial_s=lambda program: TRIALS * (program.duration_s + 10),
    view=View("Smallest heap", SECTION, groups, answers),
    rounds=1,
)
