"""Answers in one paragraph whether a server should change its thread model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from zoo.catalog.manifest import Catalog
from zoo.cli import checkout
from zoo.cli.child_process import run_or_exit
from zoo.cli.options import Hosting, Results
from zoo.cli.screen import console
from zoo.model.option import words
from zoo.plan.answer import COST, QUESTIONS
from zoo.plan.capacity import PlanError
from zoo.reference import rerun
from zoo.report.formatting import format_duration
from zoo.report.summary import Summary
from zoo.report.text.answer import Found, paragraph, rounds_needed, sides_of
from zoo.store.run_folder import Store


def command(
    server: Annotated[
        str, typer.Argument(envvar="ZOO_SERVER", help="a server's folder name, of the zoo or of ZOO=folder")
    ],
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
        if run_or_exit(["bench", "--resume", "--rounds", str(rounds)], into / COST, {}) == 2:
            raise typer.Exit(2)
    elif not show:
        asked = [
            replace(question, wish=replace(question.wish, servers=[server], variants=variants, runtime=runtime))
            for question in QUESTIONS
        ]
        seconds = [rerun.time_of_bench(one.wish, {}, catalog, checkout.ROOT).seconds for one in asked]
        console.print(f"{server}: three questions, about {format_duration(sum(seconds))} in all")
        for number, (one, took) in enumerate(zip(asked, seconds, strict=True), start=1):
            console.print(f"\n{number} of {len(asked)}, about {format_duration(took)}: {one.asks}", highlight=False)
            run_or_exit(["bench", *words(one.wish)], into / one.name, {})
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


def _found(into: Path) -> Found:
    """The newest run for each question, as far as it came."""
    found: dict[str, Summary] = {}
    for question in QUESTIONS:
        if (into / question.name / "latest" / "run.json").exists():
            store = Store.open(into / question.name / "latest")
            found[question.name] = Summary.of(store.run(), store.records())
    return found
