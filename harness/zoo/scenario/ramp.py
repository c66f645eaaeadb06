"""ramp: all connections begin at once on a server at rest; how soon are all of them served?"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from zoo.load.vegeta import Attack, failures
from zoo.ramp import WINDOW_S, answers, ramp
from zoo.results import Case, Program, RampResult
from zoo.scenario.base import Asked, Scenario, within

if TYPE_CHECKING:
    from zoo.records import Trial
    from zoo.stage import Stage

DELAYS_S = (2,)
TIERS = ("500",)
DURATION_S, QUICK_S = 60, 8


def program(asked: Asked) -> Program:
    cases = [Case(name=f"{s}s", path=f"/sleep?ms={1000 * s}", wait_s=s, warm_path="/sleep?ms=1") for s in DELAYS_S]
    duration_s = within(asked, DURATION_S, QUICK_S)
    return Program(cases=cases, tiers=list(asked.tiers or TIERS), duration_s=duration_s)


def trial(stage: Stage) -> Trial:
    delay_s, duration_s, connections = stage.block.case.wait_s, stage.program.duration_s, stage.connections
    with stage.living() as server:
        stage.bench.clock.rest(stage.bench.profile.idle_s)
        attack = Attack(
            url=server.hosted.url + stage.block.case.path,
            duration_s=duration_s,
            timeout_s=duration_s + delay_s,  # a queue may take the whole load to come to its last request
            connections=connections.actual,
        )
        stage.tell("measuring")
        with stage.watch(server) as watch:
            attacked = server.hosted.attacker.run(attack, watch.tick)
            watch.generator_cpu_s = attacked.cpu_s
        times = answers(attacked.hits)
        found = ramp(times, connections.actual, delay_s, duration_s)
        result = RampResult(
            delay_s=delay_s,
            connections=connections.actual,
            duration_s=duration_s,
            window_s=WINDOW_S,
            **asdict(found),
            kept=found.kept,
            answered=len(times),
            failed=failures(attacked.hits),
            threads_t=watch.samples.t,
            threads=watch.samples.threads,
            cpu_s=attacked.cpu_s,
            version=attacked.version,
            answers=stage.bench.store.write_raw(f"{stage.name}-answers", [round(at, 4) for at in times]),
        )
        return watch.trial(result, len(times), connections)


RAMP = Scenario(
    name="ramp",
    title="all connections at once on a server at rest, every request waits",
    delay_s=DELAYS_S[0],
    settle=False,
    program=program,
    trial=trial,
    trial_s=lambda program: program.duration_s + program.cases[0].wait_s,
)
