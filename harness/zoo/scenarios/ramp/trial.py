"""Measures a cell of `ramp`."""

from __future__ import annotations

from dataclasses import asdict

from zoo.load.vegeta import Attack
from zoo.measure.trials.base import TrialCell
from zoo.model.record import Trial
from zoo.model.samples import failures
from zoo.model.trial_results import RampResult
from zoo.scenarios.ramp.analysis import WINDOW_S, answers, ramp


def measure_cell(cell: TrialCell) -> Trial:
    delay_s, duration_s, connections = cell.block.case.wait_s, cell.program.duration_s, cell.connections
    with cell.living() as server:
        cell.bench.clock.rest(cell.bench.profile.idle_s)
        attack = Attack(
            url=server.hosted.url + cell.block.case.path,
            duration_s=duration_s,
            timeout_s=duration_s + delay_s,  # a queue may take the whole load to come to its last request
            connections=connections.actual,
        )
        cell.tell("measuring")
        with cell.watch(server) as watch:
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
            answers=cell.bench.store.write_raw(f"{cell.name}-answers", [round(at, 4) for at in times]),
        )
        return watch.trial(result, len(times), connections)
