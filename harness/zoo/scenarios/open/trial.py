"""Measurement of one cell at a constant arrival rate."""

from __future__ import annotations

from dataclasses import fields

from zoo.bench.trial import TrialCell
from zoo.bench.warmup import WarmServer
from zoo.core.flag import Flag
from zoo.core.record import Trial
from zoo.core.trial_results import OpenResult
from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack
from zoo.scenarios.open.analysis import analyse
from zoo.scenarios.open.spec import TIMEOUT_S


def measure_cell(cell: TrialCell) -> Trial:
    """Measure with a new connection for each request."""
    case, duration_s = cell.block.case, cell.program.duration_s
    assert case.rate is not None
    with cell.warm_server() as server:
        url = server.hosted.url + case.path
        return measure_attack(cell, server, Attack(url, duration_s, TIMEOUT_S, rate=case.rate, keep_alive=False))


def measure_attack(cell: TrialCell, server: WarmServer, attack: Attack, share: float | None = None) -> Trial:
    """Send the load, analyse it, and return the trial. `share` is the rate as a share of the capacity, if it is one."""
    assert attack.rate is not None
    cell.show_phase(f"measuring at {attack.rate:,}/s")
    with cell.window(server) as window:
        given = server.hosted.attacker.run(attack)
        window.generator_cpu_s = given.total_cpu_s
    try:
        found = analyse(given.hits, attack.rate, attack.duration_s)
    except ValueError as error:
        raise LoadError("generator_failed", str(error)) from error
    result = OpenResult(
        rate=attack.rate,
        share=share,
        capacity_rps=cell.program.capacity_rps,
        delay_s=cell.block.case.wait_s,
        duration_s=attack.duration_s,
        timeout_s=attack.timeout_s,
        keep_alive=attack.keep_alive,
        **{field.name: getattr(found, field.name) for field in fields(found) if field.name != "answered"},
        cpu_s=given.cpu_s,
        version=given.version,
        histogram=cell.bench.store.write_raw(f"{cell.name}-histogram", found.answered.quantize().to_pairs()),
    )
    return cell.trial(server, window, result, found.ok, flags=[Flag.GENERATOR_BEHIND] if found.behind else [])
