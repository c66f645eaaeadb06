"""What an earlier run on this machine tells a new one: how many turns a round should have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from zoo.analysis import turns
from zoo.analysis.pairs import compare
from zoo.analysis.two_runs import hardware
from zoo.catalog.manifest import Catalog
from zoo.host import facts
from zoo.model.run import PlanFacts, Run
from zoo.plan import blocks, budget
from zoo.plan.windows import TURN_S
from zoo.store.run_folder import Store
from zoo.store.writing import StoreError

LOOKED_AT = 10
"""The newest runs; an older one was measured on a machine that has changed since."""


def with_turns(planned: PlanFacts, results: Path, catalog: Catalog) -> PlanFacts:
    """The plan with the turns that the newest run of this machine asks for, where one tells."""
    start_s = budget.start_seconds(blocks.blocks_of(planned), blocks.profile_of(planned), catalog)
    if start_s is None:
        return planned
    for run, found in _newest(results, catalog):
        best = turns.best(found, start_s, TURN_S + budget.BETWEEN_S)
        asked = {tier: count for tier, count in best.items() if tier in planned.tiers}
        if asked:
            return planned.model_copy(update={"turns": asked, "turns_of": run.id})
    return planned


def _newest(results: Path, catalog: Catalog) -> Iterator[tuple[Run, dict[str, turns.Components]]]:
    folders = sorted(results.glob("*-full"), reverse=True)[:LOOKED_AT]
    if not folders:
        return  # to look at this machine takes a while
    here = hardware(facts.gather())
    for folder in folders:
        try:
            store = Store.open(folder)
            run, records = store.run(), store.records()
        except StoreError:
            continue  # it is for whoever opens it to say what is wrong with it
        if run.finished_at and run.plan.condition.runtime == "process" and hardware(run.host) == here:
            pairs = compare(run.plan.entries, records, catalog.reference_id, run.plan.guests).pairs
            yield run, turns.components(pairs)
