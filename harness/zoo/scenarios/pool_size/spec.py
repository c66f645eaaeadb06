"""Workload of `pool-size`. Pure."""

from __future__ import annotations

from enum import StrEnum

from zoo.core.manifest import Model
from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds

TIERS = ("1k", "5k", "10k", "25k")
"""Numbers of requests; the last one runs at the largest number that the host holds."""

DELAY_S, QUICK_S = 10, 2
TIMEOUT_WAITS = 2.5
"""Client timeout, in waits. A pool then serves two waits of requests, and the rest count as unserved."""

SETTING = "MAX_THREADS"
OTHER_S = 80
"""Approximate time of a cell in addition to its waits: two starts, their warm-ups, and a window of `hello`."""


class PoolChoice(StrEnum):
    """Number of threads that take requests."""

    CURRENT = "current"  # the server's own default, or MAX_THREADS= of the run
    HALF = "half"  # half as many as requests
    ALL = "all"  # as many as requests
    VIRTUAL = "virtual"  # no pool

    def threads(self, requests: int) -> int | None:
        """Return the pool's size; None if the scenario does not set it."""
        return {PoolChoice.HALF: max(1, requests // 2), PoolChoice.ALL: requests}.get(self)


def program(asked: ProgramOptions) -> Program:
    delay_s = load_seconds(asked, DELAY_S, QUICK_S)
    pools = [e.id for e in asked.entries if e.variant.model is Model.PLATFORM_THREAD and SETTING in e.settings]
    virtual = [e.id for e in asked.entries if e.variant.model is Model.VIRTUAL_THREAD]
    cases = [
        Case(name=size, path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1", entries=entries)
        for size in PoolChoice
        if (entries := virtual if size is PoolChoice.VIRTUAL else pools)
    ]
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=delay_s)


SPEC = Scenario(
    name="pool-size",
    title="all requests wait at once, by the size of the pool",
    delay_s=float(DELAY_S),
    program=program,
    trial_s=lambda program: OTHER_S + (1 + TIMEOUT_WAITS) * program.duration_s,
    rounds=1,
)
