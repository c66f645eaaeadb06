"""Answers in one paragraph whether a server should change its thread model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.catalog.manifest import Catalog
from zoo.cli import checkout, matrix_runs
from zoo.cli.matrix_runs import Planned
from zoo.cli.mistakes import plainly
from zoo.cli.options import Hosting, Results
from zoo.cli.screen import console
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.plan.answer import ANSWER, COST
from zoo.plan.tier import PlanError
from zoo.report.formatting import format_duration
from zoo.report.text.answer import Found, paragraph, rounds_needed, sides_of
from zoo.store.run_folder import Store


@plainly()
def command(
    server: Annotated[str, typer.Argument(help="a server's folder name, of the zoo or of ZOO=folder")],
    show: Annotated[bool, typer.Option("--show", help="measure nothing; say what the last answer said")] = False,
    rounds: Annotated[
        int | None, typer.Option(min=2, help="go on with the last answer: so many rounds of its cost in all")
    ] = None,
    results: Results = None,
    runtime: Hosting = "auto",
) -> None:
    """Should this server switch to virtual threads? Measures for about ten minutes and answers in a paragraph.

    Example: zoo answer java-spring

    Example: zoo answer java-spring --rounds 6

    Example: ZOO=../mine zoo answer my-server
    """
    catalog = checkout.catalog()
    variants = compared(server, catalog)
    into = (results or checkout.ROOT / "results") / "answers" / server
    if rounds is not None:
        _go_on(into / COST, rounds)
    elif not show:
        parts = [part.model_copy(update={"variants": variants}) for part in ANSWER.parts]
        planned = [matrix_runs.planned(p, server, catalog, checkout.ROOT, runtime) for p in parts]
        console.print(f"{server}: three questions, about {format_duration(sum(p.seconds for p in planned))} in all")
        _measure(planned, server, into, runtime)
    found = _found(into)
    console.print(f"\n{paragraph(server, found)}", highlight=False)
    if needed := rounds_needed(found):
        console.print(f"\nwhat is open: make answer SERVER={server} ROUNDS={needed}", highlight=False)
    console.print(f"\nreports: {checkout.shown(into)}/*/latest/report.html")


def compared(server: str, catalog: Catalog) -> list[str]:
    """The two variants that the answer is about; others of the server would take it past the ten minutes. `PlanError`
    where there is nothing to switch between."""
    entries = {entry.id: entry.variant for entry in catalog.select([server])}
    sides = sides_of({name: variant.model for name, variant in entries.items()})
    if sides is None:
        raise PlanError(
            f"{server} has no pool of platform threads, or nothing beside it: no switch to ask about; what it serves "
            f"says: make bench SERVER={server}"
        )
    return [entries[sides.pool].name, entries[sides.other].name]


def _go_on(results: Path, rounds: int) -> None:
    words = ["bench", "--resume", "--rounds", str(rounds), "--results", str(results)]
    if matrix_runs.bench(words, {}) == 2:
        raise typer.Exit(2)


def _measure(planned: Sequence[Planned], server: str, into: Path, runtime: str) -> None:
    for number, one in enumerate(planned, start=1):
        console.print(
            f"\n{number} of {len(planned)}, about {format_duration(one.seconds)}: {one.part.asks}", highlight=False
        )
        try:
            matrix_runs.measure(one.part, server, into / one.part.name, runtime)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def _found(into: Path) -> Found:
    """Of each part the newest run, as far as it came."""
    found: dict[str, tuple[Run, list[Record]]] = {}
    for part in ANSWER.parts:
        if (into / part.name / "latest" / "run.json").exists():
            store = Store.open(into / part.name / "latest")
            found[part.name] = (store.run(), store.records())
    return found
