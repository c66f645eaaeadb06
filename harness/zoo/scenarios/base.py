"""The form of a scenario: what is asked, not how it is carried out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.catalog.manifest import Entry
from zoo.model.program import Program

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
    """What is asked: a request, how long the server is told to wait, and how it is warmed up.

    `delay_s` is the wait asked for in each request; `settle` says whether warm-up goes on until throughput is
    steady (it is what the scenario measures) or is a fixed, short one that only gets the code compiled. `speed` is
    False where the answer does not depend on how fast the machine is, so that an emulated host can give it too.
    `holds`: a connection is held long enough to ask what it costs.

    `program` gives a scenario cases and connection counts of its own. Their empty paths and rates are filled in before
    a run begins by the `calibration` of that name in `measure.calibration`. Where a cell is more than windows of wrk,
    the `trial` of that name in `measure.trials` carries it out; `trial_s` is then its estimated time in seconds, with
    start and warm-up. `rounds` are those that a scenario needs when none are asked for; `once`: beside others one round
    answers it.
    """

    name: str
    title: str
    delay_s: float
    settle: bool
    speed: bool = True
    holds: bool = False
    program: Callable[[Asked], Program] | None = None
    calibration: str | None = None
    trial: str | None = None
    trial_s: Callable[[Program], float] = lambda program: program.duration_s
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
