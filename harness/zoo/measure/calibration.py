"""Fills in the paths and rates that a plan leaves open, before its first cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from zoo.catalog.manifest import Entry
from zoo.model.record import stem
from zoo.model.run import PlanFacts
from zoo.plan.scenario import SCENARIOS
from zoo.plan.windows import BACKLOG_GRACE_S
from zoo.runtime.base import Hosted, Launch, Runtime
from zoo.store.run_folder import Store

Idle = Callable[[], AbstractContextManager[Hosted]]
"""Starts an entry of the run for as long as the context lasts."""

Busy = Callable[[str], AbstractContextManager[object]]
"""Tells a person what goes on for as long as the context lasts."""


def calibrated(planned: PlanFacts, entries: Sequence[Entry], runtime: Runtime, store: Store, busy: Busy) -> PlanFacts:
    """The plan with all paths and rates filled in; each scenario does so once, and for all entries alike.

    `RuntimeFailure` or `LoadError` when it cannot.
    """
    quickest = sorted(entries, key=lambda entry: not entry.native)
    programs = dict(planned.programs)
    for name, program in planned.programs.items():
        calibrate = SCENARIOS[name].calibrate
        if calibrate is None or program.calibrated:
            continue
        with busy(f"calibrating {name}"):
            idle = [partial(_started, runtime, entry, planned, store) for entry in quickest]
            filled = calibrate(program, idle)
        programs[name] = filled.model_copy(update={"calibrated": True})
    return planned.model_copy(update={"programs": programs})


@contextmanager
def _started(runtime: Runtime, entry: Entry, planned: PlanFacts, store: Store) -> Iterator[Hosted]:
    condition = planned.condition
    log = store.raw / f"{stem(entry.id, 'calibration')}.log"
    flags = tuple(condition.jvm_flags)
    hosted = runtime.start(Launch(entry, log, entry.settings_of(condition.env), flags, condition.cpus, condition.cores))
    try:
        yield hosted
    finally:
        hosted.stop(BACKLOG_GRACE_S)
