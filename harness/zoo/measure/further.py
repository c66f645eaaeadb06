"""Decides how many rounds to add until the named pairs are precise enough, within the budget. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.analysis.pairs import compare
from zoo.analysis.pilot import further_rounds
from zoo.catalog.manifest import Catalog
from zoo.model.errors import BenchError
from zoo.model.record import Record
from zoo.model.run import PlanFacts, Run
from zoo.plan.blocks import blocks_of, profile_of
from zoo.plan.budget import seconds
from zoo.plan.scenario import SCENARIOS

AT_ONCE = 3
"""Then the noise is estimated anew: three rounds tell little of it."""


@dataclass(frozen=True)
class More:
    """Rounds to add, none where the run is at its end; `text` tells why."""

    rounds: int
    text: str = ""


def rounds(run: Run, records: Sequence[Record], catalog: Catalog) -> More:
    """What a finished run needs beyond its rounds, as far as the budget allows."""
    planned = run.plan
    if planned.precision is None or planned.budget_s is None:
        return More(0)
    pairs = compare(planned.entries, records, catalog.reference_id, planned.guests).pairs
    wanted = further_rounds(pairs, planned.precision, planned.rounds)
    aim = f"±{100 * planned.precision:g} %"
    if not wanted:
        return More(0, f"{planned.rounds} rounds: throughput is known to {aim}")
    chosen = min(wanted, AT_ONCE)
    while chosen and _seconds(added(planned, chosen), catalog) > planned.budget_s:
        chosen -= 1
    minutes = planned.budget_s / 60
    if not chosen:
        over = f"over the budget of {minutes:.0f} min"
        return More(0, f"{planned.rounds} rounds; {aim} would take about {wanted} more, {over}")
    return More(chosen, f"{planned.rounds} rounds; {aim} needs about {wanted} more, {chosen} of them follow")


def added(planned: PlanFacts, more: int) -> PlanFacts:
    """The plan with further rounds of what measures throughput; the rest keeps its own."""
    kept = {name: planned.rounds_in(name) for name in planned.scenarios if not SCENARIOS[name].settle}
    return planned.model_copy(update={"rounds": planned.rounds + more, "rounds_of": kept})


def lengthened(planned: PlanFacts, rounds: int) -> PlanFacts:
    """The plan with so many rounds in all, of throughput where any is measured, else of everything; `BenchError` where
    it has as many."""
    if rounds <= planned.rounds:
        raise BenchError(f"the run has {planned.rounds} round(s) already; name how many it shall have in all")
    if any(SCENARIOS[name].settle for name in planned.scenarios):
        return added(planned, rounds - planned.rounds)
    return planned.model_copy(update={"rounds": rounds, "rounds_of": {}})


def _seconds(planned: PlanFacts, catalog: Catalog) -> float:
    return seconds(blocks_of(planned), profile_of(planned), catalog)
