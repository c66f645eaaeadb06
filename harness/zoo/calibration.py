"""Finds out what a plan leaves open before a run begins: the rounds of work, the rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from rich.console import Console

from zoo.catalog import Entry
from zoo.records import PlanFacts, stem
from zoo.runtime.base import Hosted, Launch, Runtime
from zoo.scenario import SCENARIOS
from zoo.store import Store
from zoo.timing import BACKLOG_GRACE_S


def calibrated(
    planned: PlanFacts, entries: Sequence[Entry], runtime: Runtime, store: Store, console: Console
) -> PlanFacts:
    """The plan with all paths and rates filled in; each scenario does so once, and for all entries alike.

    `RuntimeFailure` or `LoadError` when it cannot.
    """
    quickest = sorted(entries, key=lambda entry: not entry.native)
    programs = dict(planned.programs)
    for name, program in planned.programs.items():
        fill = SCENARIOS[name].calibrate
        if fill is None or program.calibrated:
            continue
        with console.status(f"calibrating {name}"):
            filled = fill(program, [partial(_started, runtime, entry, planned, store) for entry in quickest])
        programs[name] = filled.model_copy(update={"calibrated": True})
    return planned.model_copy(update={"programs": programs})


@contextmanager
def _started(runtime: Runtime, entry: Entry, planned: PlanFacts, store: Store) -> Iterator[Hosted]:
    condition = planned.condition
    log = store.raw / f"{stem(entry.id, 'calibration')}.log"
    hosted = runtime.start(Launch(entry, log, condition.env, tuple(condition.jvm_flags), condition.cpus))
    try:
        yield hosted
    finally:
        hosted.stop(BACKLOG_GRACE_S)
