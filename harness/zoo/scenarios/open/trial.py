"""Measures a cell at a constant arrival rate."""

from __future__ import annotations

from dataclasses import fields

from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack
from zoo.measure.trials.base import TrialCell
from zoo.measure.warm_server import WarmServer
from zoo.model.flag import Flag
from zoo.model.record import Trial
from zoo.model.trial_results import OpenResult
from zoo.scenarios.open.analysis import account
from zoo.scenarios.open.spec import TIMEOUT_S


def measure_cell(cell: TrialCell) -> Trial:
    """Each request on a connection of its own."""
    case, duration_s = cell.block.case, cell.program.duration_s
    assert case.rate is not None
    with cell.living() as server:
        url = server.hosted.url + case.path
        return attacked(cell, server, Attack(url, duration_s, TIMEOUT_S, rate=case.rate, keep_alive=False))


def attacked(cell: TrialCell, server: WarmServer, attack: Attack, share: float | None = None) -> Trial:
    """The account of a load at a constant rate; `share` of the capacity that the rate is, where it is one."""
    assert attack.rate is not None
    cell.tell(f"measuring at {attack.rate:,}/s")
    with cell.watch(server) as watch:
        given = server.hosted.attacker.run(attack, watch.tick)
        watch.generator_cpu_s = given.cpu_s
    try:
        found = account(given.hits, attack.rate, attack.duration_s)
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
        histogram=cell.bench.store.write_raw(f"{cell.name}-histogram", found.answered.quantized().to_pairs()),
    )
    return watch.trial(result, found.ok, flags=[Flag.GENERATOR_BEHIND] if found.behind else [])
