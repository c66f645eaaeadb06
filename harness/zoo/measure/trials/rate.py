"""rate: a constant arrival rate over kept connections."""

from __future__ import annotations

from dataclasses import replace

from zoo.load.vegeta import Attack
from zoo.measure.trials.base import TrialCell
from zoo.measure.trials.open import attacked
from zoo.model.record import Trial
from zoo.scenarios.rate import TIMEOUT_S, WARM_S, share_of


def trial(cell: TrialCell) -> Trial:
    case = cell.block.case
    with cell.living() as server:
        attack = Attack(
            url=server.hosted.url + case.path,
            duration_s=cell.program.duration_s,
            timeout_s=TIMEOUT_S,
            rate=case.rate,
            connections=cell.connections.actual,
        )
        cell.tell("warm-up at the rate")
        server.hosted.attacker.run(replace(attack, duration_s=WARM_S))
        return attacked(cell, server, attack, share_of(case))
