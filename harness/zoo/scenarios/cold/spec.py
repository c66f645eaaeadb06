"""Workload of `cold`. Pure."""

from __future__ import annotations

from zoo.core.run import Case, Program
from zoo.core.scenario import ProgramOptions, Scenario, load_seconds
from zoo.scenarios.startup.spec import AOT_SINCE, Start

TIERS = ("100",)
DURATION_S, QUICK_S = 60, 10
OTHER_S = 60
"""Approximate time of a cell in addition to its load: start, warm-up, the window of the steady rate."""


def program(options: ProgramOptions) -> Program:
    """Return the program. It uses an ahead-of-time cache for JVMs that the harness starts as processes."""
    jvms = [e.id for e in options.entries if not e.native]
    cases = [Case(name=Start.DEFAULT)]
    if jvms and options.runtime == "process" and options.jdk_major >= AOT_SINCE:
        cases.append(Case(name=Start.AOT, entries=jvms))
    return Program(
        cases=cases, tiers=list(options.tiers or TIERS), duration_s=load_seconds(options, DURATION_S, QUICK_S)
    )


SPEC = Scenario(
    name="cold",
    title="full load from the moment the server listens",
    program=program,
    trial_s=lambda program: OTHER_S + program.duration_s,
)
