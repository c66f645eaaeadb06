"""Which cells a bench would measure, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.analysis import extra_rounds
from zoo.analysis.pairs import compare
from zoo.catalog.manifest import Catalog
from zoo.cli import checkout, options
from zoo.cli.screen import console
from zoo.host import facts
from zoo.model.run import PlanFacts
from zoo.plan import blocks, budget, request
from zoo.plan.capacity import PlanError, percent, tier
from zoo.plan.defaults import TIERS
from zoo.plan.request import Wish
from zoo.reference import origin
from zoo.reference.runs import Reference
from zoo.report.section import Section
from zoo.report.text import planning, terminal
from zoo.runtime import conditions
from zoo.store.run_folder import Store


@options.from_models
def command(
    wish: Wish,
    run: Annotated[
        Path | None,
        typer.Option("--pilot", help="a run's folder, which says what the precision costs; the newest without it"),
    ] = None,
    generators: Annotated[
        int | None,
        typer.Option("--generators", min=1, help="say what the server's host and each of so many others need, instead"),
    ] = None,
) -> None:
    """Which cells a bench would measure and how long that takes, without measuring.

    Example: zoo plan --server java-tomcat --scenario sleep --tiers 1k --rounds 5

    Example: zoo plan --precision 3% --pilot results/latest

    Example: zoo plan --server rust-axum --tiers 1M --generators 9
    """
    catalog = checkout.catalog()
    if generators is not None:
        terminal.show([_hosts(wish, generators, catalog)], console)
        return
    if wish.precision is not None:
        folder = run or checkout.ROOT / "results" / "latest"
        terminal.show(_rounds_for(percent(wish.precision), folder, catalog), console)
        return
    announce(options.planned_of(wish, catalog), catalog)


def _hosts(wish: Wish, generators: int, catalog: Catalog) -> Section:
    """What the hosts of the highest tier need, by what a held connection cost in committed runs."""
    entries = {entry.id for entry in request.entries_of(options.planned_of(wish, catalog), catalog)}
    committed = Reference(checkout.ROOT, catalog).matching("scenarios/*")
    costs = {key: cost for key, (_, cost) in origin.usual(committed).items() if key[0] in entries}
    most = max(tier(name).connections for name in wish.tiers or TIERS)
    return planning.sizing(most, generators, costs)


def _rounds_for(wanted: float, folder: Path, catalog: Catalog) -> list[Section]:
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


def announce(planned: PlanFacts, catalog: Catalog) -> None:
    """Tell what will be measured, and how long it takes."""
    seconds = budget.seconds(blocks.blocks_of(planned), blocks.profile_of(planned), catalog)
    condition = planned.condition
    cores = facts.cores() if condition.runtime == "process" else None
    console.print(planning.announcement(planned, seconds, conditions.settings(condition), cores), markup=False)
