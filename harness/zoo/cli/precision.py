"""What a wanted precision costs, from a pilot run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zoo.analysis import extra_rounds
from zoo.analysis.pairs import compare
from zoo.catalog.manifest import Catalog
from zoo.plan import blocks, budget
from zoo.plan.capacity import PlanError
from zoo.report.section import Section
from zoo.report.text import planning
from zoo.store.run_folder import Store


def precision(wanted: float, folder: Path, catalog: Catalog) -> list[Section]:
    """Rounds and hours that a half-width costs, from the run in this folder; `PlanError` when it cannot tell."""
    store = Store.open(folder)
    run, records = store.run(), store.records()
    compared = compare(run.plan.entries, records, catalog.reference_id, run.plan.guests)
    found = extra_rounds.needs(compared.pairs, wanted)
    if not found:
        raise PlanError(f"{folder}: a pilot needs two rounds of the platform and virtual variants of one server")
    profile = blocks.profile_of(run.plan)

    def cost(entries: Sequence[str]) -> float:
        twins = run.plan.twins if list(entries) == run.plan.entries else []
        once = run.plan.model_copy(update={"entries": list(entries), "rounds": 1, "twins": twins})
        return budget.seconds(blocks.blocks_of(once), profile, catalog)

    return [planning.rounds_needed(run, found, wanted, cost)]
