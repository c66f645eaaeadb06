"""startup: from the start of a process to its first good answer, and the memory it then has at rest."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from zoo import startup
from zoo.instruments import known
from zoo.records import Trial
from zoo.results import Case, Program, StartupResult
from zoo.runtime.base import RuntimeFailure
from zoo.scenario.base import Asked, Scenario
from zoo.startup import REST_S, RESTS, STARTS, Start, Started, Startup

if TYPE_CHECKING:
    from zoo.stage import Stage

QUICK_STARTS = 3
START_S = 2.5
AOT_SINCE = 25


def program(asked: Asked) -> Program:
    """Archives are for JVMs, and are recorded where the harness starts the process itself."""
    jvms = [e.id for e in asked.entries if not e.native]
    ways = [Start.CDS, Start.AOT] if asked.jdk_major >= AOT_SINCE else [Start.CDS]
    cases = [Case(name=Start.DEFAULT)]
    if jvms and asked.runtime == "process":
        cases += [Case(name=way, entries=jvms) for way in ways]
    return Program(cases=cases, tiers=["1"], duration_s=REST_S, repeats=QUICK_STARTS if asked.quick else STARTS)


def trial(stage: Stage) -> Trial:
    way, starts = Start(stage.block.case.name), stage.program.repeats
    stage.tell(f"{starts} starts")
    if stage.runtime.name == "container":
        found = _contained(stage, way, starts)
    else:
        with tempfile.TemporaryDirectory(prefix="zoo-archives-") as archives:
            found = startup.measure(stage.launch(), stage.runtime.jdk, way, Path(archives), starts)
    rested = [start for start in found.starts if start.rss_kb is not None]
    result = StartupResult(
        way=way,
        first_answer_s=[start.first_answer_s for start in found.starts],
        rss_kb=[start.rss_kb for start in rested if start.rss_kb is not None],
        anon_kb=[start.anon_kb for start in rested if start.anon_kb is not None],
        rest_s=REST_S,
        archive_kb=found.archive_kb,
    )
    return Trial(result=result)


def _contained(stage: Stage, way: Start, starts: int) -> Startup:
    """From the command that starts a container to the line that says its server listens."""
    if way is not Start.DEFAULT:
        raise RuntimeFailure("no_archive", "archives are recorded for processes only, not in containers")
    made = []
    for number in range(starts):
        hosted = stage.runtime.start(stage.launch())
        ready_s = hosted.ready_s
        assert ready_s is not None
        try:
            if number >= RESTS:
                made.append(Started(ready_s, None, None))
                continue
            stage.bench.clock.rest(REST_S)
            seen = known(hosted.instruments.snapshot(hosted.pid, deep=True))
            made.append(Started(ready_s, seen.rss_kb, seen.anon_kb))
        except ProcessLookupError:
            raise RuntimeFailure("crashed", "ended while it was at rest", hosted.log_tail()) from None
        finally:
            hosted.stop()
    return Startup(way, made, None)


STARTUP = Scenario(
    name="startup",
    title="starts, each to its first good answer",
    delay_s=0.0,
    settle=False,
    program=program,
    trial=trial,
    trial_s=lambda program: program.repeats * START_S + min(RESTS, program.repeats) * (REST_S + 1),
    rounds=1,
)
