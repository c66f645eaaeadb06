"""The definition of a scenario, and the registry of the loaded ones. Pure.

`zoo.scenarios` fills the registry; the lower layers only look scenarios up here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.core.manifest import Entry
from zoo.core.record import Trial
from zoo.core.run import Program

HELD_WAITS = 3.0
"""Window length, in waits, for scenarios that do not read speed.

Each connection gets two responses, even though some first responses take 1.8 waits in a burst.
"""


@dataclass(frozen=True)
class ProgramOptions:
    """The command-line options that a scenario's program depends on; None or empty if not given."""

    entries: Sequence[Entry]
    quick: bool = False
    duration_s: int | None = None
    tiers: Sequence[str] = ()
    runtime: str = "process"
    jdk: str | None = None

    @property
    def jdk_major(self) -> int:
        """Return the JDK's feature release; 0 without a JDK."""
        return int((self.jdk or "0").partition(".")[0])


def load_seconds(options: ProgramOptions, full_s: int, quick_s: int) -> int:
    """Return the seconds of load: the given duration, otherwise the scenario's own."""
    return options.duration_s or (quick_s if options.quick else full_s)


@dataclass(frozen=True)
class Scenario:
    """A workload: its request, the server's wait, its warm-up, its measurement and its presentation.

    If `measures_throughput` is set, warm-up continues until throughput is steady.
    Otherwise a short, fixed warm-up only compiles the code. `speed` is False if the result does not depend on the
    machine's speed, so that an emulated host can produce it. If `holds` is set, a connection is held long enough to
    measure what it costs.

    `program` gives a scenario its own cases and connection counts. `calibrate` fills in their empty paths and rates
    before a run begins; its arguments are a program and, for each entry, a function that starts it (`bench.session`).
    If a cell is more than windows of wrk, `trial` measures it, given a `bench.trial.TrialCell`. `trial_s` then
    estimates its duration in seconds, including start and warm-up. `view` is a `report.view.View`, for a scenario with
    its own section in a report. `rounds` is the default number of rounds. If `once` is set, one round is enough next to
    other scenarios. `command` names the command that measures the scenario if it is not `zoo bench`.
    """

    name: str
    title: str
    delay_s: float = 0.0
    measures_throughput: bool = False
    speed: bool = True
    holds: bool = False
    program: Callable[[ProgramOptions], Program] | None = None
    calibrate: Callable[..., Program] | None = None
    trial: Callable[..., Trial] | None = None
    trial_s: Callable[[Program], float] = lambda program: program.duration_s
    view: object = None
    rounds: int | None = None
    once: bool = False
    command: str = ""

    def path(self, delay_s: float, home: str = "/") -> str:
        """Return the request target; `home` is the path of the server's plain response."""
        return f"/sleep?ms={round(delay_s * 1000)}" if self.delay_s else home

    def warm_path(self, home: str = "/") -> str:
        """Return the request target of warm-up: the same code, without the long wait."""
        return "/sleep?ms=1" if self.delay_s else home


def sleeping_window(delay_s: float, waits: float) -> int:
    """Return the length of a window in whole seconds."""
    return math.ceil(delay_s * waits)


SCENARIOS: dict[str, Scenario] = {}
"""The loaded scenarios by name.

Records of an earlier run may have other scenarios; reports show them as plain loads.
"""

DEFAULT = ("hello", "sleep")
"""The scenarios of a run that does not name any."""


def bench_scenarios() -> list[str]:
    """Return the names of the scenarios that `zoo bench` measures."""
    return [name for name, scenario in SCENARIOS.items() if not scenario.command]


def is_trial(name: str) -> bool:
    """Return True if the scenario's records have their own figures, and therefore no row in the tables of loads."""
    return name in SCENARIOS and SCENARIOS[name].trial is not None


def holds_connections(name: str) -> bool:
    """Return True if the scenario measures the memory per waiting request."""
    return name in SCENARIOS and SCENARIOS[name].holds
