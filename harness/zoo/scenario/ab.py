"""ab: so many requests by ApacheBench, as the first article asked them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.load.ab import AbSpec
from zoo.results import AbResult, Case, Program
from zoo.scenario.base import Asked, Scenario

if TYPE_CHECKING:
    from zoo.records import Trial
    from zoo.stage import Stage

TIERS = ("100",)
REQUESTS, QUICK_REQUESTS = 100_000, 5_000


def program(asked: Asked) -> Program:
    requests = QUICK_REQUESTS if asked.quick else REQUESTS
    return Program(cases=[Case(path="/")], tiers=list(asked.tiers or TIERS), duration_s=15, repeats=requests)


def trial(stage: Stage) -> Trial:
    connections = stage.connections
    with stage.living() as server:
        stage.tell("measuring")
        spec = AbSpec(server.hosted.url + stage.block.case.path, stage.program.repeats, connections.actual)
        with stage.watch(server) as watch:
            found = server.hosted.benchmarker.run(spec, watch.tick)
            watch.generator_cpu_s = found.cpu_s
        result = AbResult(
            requests=found.requests,
            complete=found.complete,
            failed=found.failed,
            non_2xx=found.non_2xx,
            write_errors=found.write_errors,
            kept_alive=found.kept_alive,
            flawless=found.flawless,
            requests_per_s=found.requests_per_s,
            runtime_s=found.runtime_s,
            percentiles_us=found.percentiles_us,
            cpu_s=found.cpu_s,
            version=found.version,
        )
        return watch.trial(result, max(0, found.complete - found.failed - found.non_2xx), connections)


AB = Scenario(
    name="ab",
    title="ApacheBench, kept-alive connections, 13-byte answers",
    delay_s=0.0,
    settle=False,
    program=program,
    trial=trial,
)
