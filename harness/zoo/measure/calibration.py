"""Finds out what a plan leaves open, before its first cell: the rounds of `/cpu`, the rates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from zoo.analysis.responses import too_many
from zoo.catalog.manifest import Entry
from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack
from zoo.model.hits import failures
from zoo.model.program import Case, Program
from zoo.model.record import stem
from zoo.model.run import PlanFacts
from zoo.plan.windows import BACKLOG_GRACE_S
from zoo.runtime.base import Hosted, Launch, Runtime
from zoo.scenarios import SCENARIOS
from zoo.scenarios.rate import TIMEOUT_S, WARM_S, share_of
from zoo.store.run_folder import Store

USERS = 64
"""So many ask for an entry's capacity, each again when it is answered."""

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
        found_out = SCENARIOS[name].calibration
        if found_out is None or program.calibrated:
            continue
        with busy(f"calibrating {name}"):
            idle = [partial(_started, runtime, entry, planned, store) for entry in quickest]
            filled = CALIBRATIONS[found_out](program, idle)
        programs[name] = filled.model_copy(update={"calibrated": True})
    return planned.model_copy(update={"programs": programs})


def with_rounds(program: Program, entries: Sequence[Idle]) -> Program:
    """The rounds of each case, found on the first entry and asked of all."""
    with entries[0]() as hosted:
        seconds_a_round = hosted.instruments.seconds_a_round(hosted.url)
    return program.model_copy(update={"cases": [_with_rounds(case, seconds_a_round) for case in program.cases]})


def with_rates(program: Program, entries: Sequence[Idle]) -> Program:
    """The rates, from the capacity of the slowest entry under the generator that will make them."""
    capacity_rps = min(_capacity(entry) for entry in entries)
    cases = [case.model_copy(update={"rate": max(1, int(share_of(case) * capacity_rps))}) for case in program.cases]
    return program.model_copy(update={"capacity_rps": capacity_rps, "cases": cases})


CALIBRATIONS: Mapping[str, Callable[[Program, Sequence[Idle]], Program]] = {
    "rounds": with_rounds,
    "rates": with_rates,
}
"""By the name that a scenario gives."""


def rounds_for(work_ms: Sequence[float], seconds_a_round: float) -> list[int]:
    """To two significant digits, at least 1: work of about so many milliseconds, by round numbers. Pure."""
    return [_rounded(ms / 1000 / seconds_a_round) for ms in work_ms]


def _with_rounds(case: Case, seconds_a_round: float) -> Case:
    rounds = rounds_for([1000 * case.work_s], seconds_a_round)[0]
    path = f"/cpu?rounds={rounds}"
    if case.wait_s:
        path += f"&ms={round(1000 * case.wait_s)}"
    return case.model_copy(update={"path": path, "warm_path": path})


def _rounded(rounds: float) -> int:
    unit: int = 10 ** max(0, math.floor(math.log10(max(rounds, 1))) - 1)
    return max(1, round(rounds / unit) * unit)


def _capacity(entry: Idle) -> float:
    """Good answers a second to users who ask again at once, after as many for warm-up."""
    with entry() as hosted:
        attack = Attack(hosted.url + "/", WARM_S / 2, TIMEOUT_S, connections=USERS)
        hosted.attacker.run(attack)
        given = hosted.attacker.run(attack)
    sent = sum(len(one.sent_us) for one in given.hits)
    failed = failures(given.hits)
    bad = sum(failed.values())
    if too_many(bad, sent):
        raise LoadError("bad_responses", f"{bad:,} of {sent:,} responses were bad: {', '.join(failed)}")
    return (sent - bad) / attack.duration_s


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
