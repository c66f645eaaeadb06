"""The command that shows the cells a bench would measure, and how long that takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli import checkout, options
from zoo.cli.display import console, display
from zoo.core import blocks, budget
from zoo.core import plan as request
from zoo.core.capacity import PlanError, parse_percent, parse_tier
from zoo.core.defaults import TIERS
from zoo.core.manifest import Catalog
from zoo.core.plan import BenchOptions
from zoo.core.record import RecordKey
from zoo.core.run import PlanFacts
from zoo.core.run_folder import Store
from zoo.host import facts
from zoo.reference import origin
from zoo.reference.runs import Reference
from zoo.report.formatting import format_duration
from zoo.report.section import Section
from zoo.report.text import planning, terminal
from zoo.runtime import conditions
from zoo.stats import extra_rounds
from zoo.stats.pairs import compare


@options.from_models
def plan_command(
    wish: BenchOptions,
    run: Annotated[
        Path | None,
        typer.Option(
            "--pilot",
            help="folder of the run from which the rounds for --precision are estimated; by default the newest",
        ),
    ] = None,
    generators: Annotated[
        int | None,
        typer.Option(
            "--generators", min=1, help="print instead what the server's host and this many generator hosts need"
        ),
    ] = None,
) -> None:
    """Print the cells and the duration of a run without measuring.

    Examples:
        zoo plan --server java-tomcat --scenario sleep --connections 1k --rounds 5
        zoo plan --precision 3% --pilot results/latest
        zoo plan --server rust-axum --connections 1M --generators 9
    """
    catalog = checkout.catalog()
    if generators is not None:
        terminal.print_sections([_host_section(wish, generators, catalog)], console)
        return
    if wish.precision is not None:
        folder = run or checkout.ROOT / "results" / "latest"
        terminal.print_sections(_rounds_sections(parse_percent(wish.precision), folder, catalog), console)
        return
    announce(options.make_plan(wish, catalog), catalog)


def _host_section(wish: BenchOptions, generators: int, catalog: Catalog) -> Section:
    """Return what the hosts need for the most connections, from the cost per connection in committed runs."""
    entries = {entry.id for entry in request.started_entries(options.make_plan(wish, catalog), catalog)}
    committed = Reference(checkout.ROOT, catalog).matching("scenarios/*")
    costs = {key: cost for key, (_, cost) in origin.usual_costs(committed).items() if key[0] in entries}
    most = max(parse_tier(name).connections for name in wish.tiers or TIERS)
    return planning.sizing_section(most, generators, costs)


def _rounds_sections(precision: float, folder: Path, catalog: Catalog) -> list[Section]:
    """Estimate the rounds and hours that a half-width takes, from the run in this folder.

    Raise `PlanError` if the run does not have the data for that.
    """
    store = Store.open(folder)
    run, records = store.run(), store.records()
    compared = compare(run.plan.entries, records, catalog.reference_id, run.plan.guests)
    needs = extra_rounds.find_needs(compared.pairs, precision)
    if not needs:
        raise PlanError(
            f"{folder} cannot show what a precision costs: it needs two rounds of one server's platform and virtual "
            "variants; name another run with --pilot"
        )
    profile = blocks.profile_of(run.plan)

    def cost(entries: Sequence[str]) -> float:
        twins = run.plan.twins if list(entries) == run.plan.entries else []
        one_round = run.plan.model_copy(update={"entries": list(entries), "rounds": 1, "twins": twins})
        return budget.estimate_seconds(blocks.blocks_of(one_round), profile, catalog)

    return [planning.rounds_section(run, needs, precision, cost)]


def announce(planned: PlanFacts, catalog: Catalog, done: frozenset[RecordKey] = frozenset()) -> None:
    """Print what will be measured, and how long it takes; `done` is what a resumed run has measured before."""
    planned_blocks, profile = blocks.blocks_of(planned), blocks.profile_of(planned)
    seconds = budget.estimate_seconds(planned_blocks, profile, catalog)
    condition = planned.condition
    cores = facts.describe_cores() if condition.runtime == "process" else None
    display.line(planning.format_announcement(planned, seconds, conditions.settings(condition), cores))
    if done and (left := blocks.remaining_work(planned_blocks, done)):
        left_s = budget.estimate_seconds(left, profile, catalog)
        display.line(f"resumed: about {format_duration(left_s)} of that is left")
