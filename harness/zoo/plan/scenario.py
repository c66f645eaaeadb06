"""The form of a scenario, and the registry of those that are loaded. Pure.

`zoo.scenarios` fills the registry; the lower layers only look scenarios up here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.catalog.manifest import Entry
from zoo.model.record import Trial
from zoo.model.run import Program

HELD_WAITS = 3.0
"""Where no speed is read: two answers for each connection, though in a burst the first of some take 1.8 waits."""


@dataclass(frozen=True)
class Asked:
    """What of a command line a scenario's program depends on; None and empty: not said."""

    entries: Sequence[Entry]
    quick: bool = False
    duration_s: int | None = None
    tiers: Sequence[str] = ()
    runtime: str = "process"
    jdk: str | None = None

    @property
    def jdk_major(self) -> int:
        """0 without a JDK."""
        return int((self.jdk or "0").partition(".")[0])


def within(asked: Asked, full_s: int, quick_s: int) -> int:
    """Seconds of load: those asked for, else the scenario's own."""
    return asked.duration_s or (quick_s if asked.quick else full_s)


@dataclass(frozen=True)
class Scenario:
    """A workload: its request, how long the server waits, how it is warmed up, and how it is measured and shown.

    `settle`: warm-up goes on until throughput is steady, because the scenario measures it; otherwise a short, fixed
    warm-up only gets the code compiled. `speed` is False where the result does not depend on the machine's speed, so
    that an emulated host can give it. `holds`: a connection is held long enough to measure what it costs.

    `program` gives a scenario its own cases and connection counts. `calibrate` fills in their empty paths and rates
    before a run begins, from a program and a function for each entry that starts it (`measure.session`). Where a
    cell is more than windows of wrk, `trial` measures it, from a `measure.trials.base.TrialCell`; `trial_s` is then its
    estimated time in seconds, start and warm-up included. `view` is a `report.view.View`, for a scenario with its own
    section in a report. `rounds`: how many the scenario needs if none are asked for; `once`: next to other scenarios
    one round is enough.
    """

    name: str
    title: str
    delay_s: float = 0.0
    settle: bool = False
    speed: bool = True
    holds: bool = False
    program: Callable[[Asked], Program] | None = None
    calibrate: Callable[..., Program] | None = None
    trial: Callable[..., Trial] | None = None
    trial_s: Callable[[Program], float] = lambda program: program.duration_s
    view: object = None
    rounds: int | None = None
    once: bool = False

    def path(self, delay_s: float, home: str = "/") -> str:
        """The request target; `home` is where the server gives its plain answer."""
        return f"/sleep?ms={round(delay_s * 1000)}" if self.delay_s else home

    def warm_path(self, home: str = "/") -> str:
        """The request target of warm-up: the same code, without the long wait."""
        return "/sleep?ms=1" if self.delay_s else home


def sleeping_window(delay_s: float, waits: float) -> int:
    """Whole seconds."""
    return math.ceil(delay_s * waits)


SCENARIOS: dict[str, Scenario] = {}
"""The loaded scenarios by name. An earlier run may have records of others: these are shown as plain loads."""

DEFAULT = ("hello", "sleep")
"""The scenarios of a run that names none."""


def is_trial(name: str) -> bool:
    """Return whether the scenario's records have their own figures, and so no row in the tables of loads."""
    return name in SCENARIOS and SCENARIOS[name].trial is not None


def holds(name: str) -> bool:
    """Return whether the scenario measures what a held connection costs."""
    return name in SCENARIOS and SCENARIOS[name].holds
