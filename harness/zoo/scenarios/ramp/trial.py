"""Measurement of one cell of `ramp`."""

from __future__ import annotations

from dataclasses import asdict

from zoo.bench.trial import TrialCell
from zoo.core.record import Trial
from zoo.core.samples import count_failures
from zoo.core.trial_results import RampResult
from zoo.load.vegeta import Attack
from zoo.scenarios.ramp.analysis import WINDOW_S, answers, ramp


def measure_cell(cell: TrialCell) -> Trial:
    delay_s, duration_s, connections = cell.block.case.wait_s, cell.program.duration_s, cell.connections
    with cell.warm_server() as server:
        cell.bench.clock.rest(cell.bench.profile.idle_s)
        attack = Attack(
            url=server.hosted.url + cell.block.case.path,
            duration_s=duration_s,
            timeout_s=duration_s + delay_s,  # the last request in a queue may wait as long as the load lasts
            connections=connections.actual,
        )
        cell.show_phase("measuring")
        with cell.window(server) as window:
            attacked = server.hosted.attacker.run(attack)
            window.generator_cpu_s = attacked.total_cpu_s
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
            failed=count_failures(attacked.hits),
            threads_t=window.samples.t,
            threads=window.samples.threads,
            cpu_s=attacked.cpu_s,
            version=attacked.version,
            answers=cell.bench.store.write_raw(f"{cell.name}-answers", [round(at, 4) for at in times]),
        )
        return cell.trial(server, window, result, len(times), connections)
