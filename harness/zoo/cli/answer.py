"""The command that answers in one paragraph whether a server should change its thread model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli import checkout
from zoo.cli.child_process import run_or_exit
from zoo.cli.display import console, display
from zoo.cli.json_output import print_json
from zoo.cli.options import Hosting, Results
from zoo.core.answer_runs import ARRIVING, COST, POOL_QUESTIONS, POOLS, QUESTIONS, WAITING, Question
from zoo.core.capacity import PlanError
from zoo.core.errors import UserError
from zoo.core.manifest import Catalog, Model
from zoo.core.option import format_options
from zoo.core.run_folder import Store
from zoo.reference import rerun
from zoo.report.formatting import format_duration
from zoo.report.summary import Summary
from zoo.report.text.answer import Found, paragraph, rounds_needed, sides_of
from zoo.scenarios.pool_size.spec import SETTING
from zoo.scenarios.pool_size.view import if_requests_wait


def answer_command(
    server: Annotated[
        str, typer.Argument(envvar="ZOO_SERVER", help="folder name of a server, in this checkout or in ZOO=folder")
    ],
    show: Annotated[bool, typer.Option("--show", help="print the last answer again without measuring")] = False,
    rounds: Annotated[
        int | None, typer.Option(min=2, help="continue the last answer until its cost has this many rounds")
    ] = None,
    results: Results = None,
    runtime: Hosting = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="print the last answer as JSON without measuring")] = False,
) -> None:
    """Recommend a pool size or a thread model for one server, after at most 15 minutes of measuring.

    Examples:
        zoo answer java-spring
        zoo answer java-spring --rounds 6
        zoo answer java-spring --json
        ZOO=../mine zoo answer my-server
    """
    catalog = checkout.catalog()
    compared(server, catalog)
    into = (results or checkout.ROOT / "results") / "answers" / server
    if rounds is not None:
        if run_or_exit(["bench", "--resume", "--rounds", str(rounds)], into / COST, {}) == 2:
            raise typer.Exit(2)
    elif not (show or as_json):
        _measure(server, catalog, runtime, into)
    found = _found(into)
    if not found:
        raise UserError(
            f"{server} has no answer yet, because its runs were not measured; run: make answer SERVER={server}"
        )
    waits, following = (if_requests_wait(found[POOLS].records) if POOLS in found else None) or ("", ())
    answer = paragraph(server, found, waits)
    if as_json:
        print_json("answer", server=server, answer=answer, afterwards=following, rounds_needed=rounds_needed(found))
        return
    display.line(f"\n{answer}")
    if following:
        display.line("\nAfter that change:")
        for one in following:
            display.line(f"- {one}")
    if needed := rounds_needed(found):
        display.line(f"\nfor a clearer answer: make answer SERVER={server} ROUNDS={needed}")
    console.print(f"\nreports: {checkout.format_path(into)}/*/latest/report.html")


def _measure(server: str, catalog: Catalog, runtime: str, into: Path) -> None:
    """Print the plan, then measure each question with the time left."""
    variants = compared(server, catalog)
    asked = [
        replace(one, options=replace(one.options, servers=[server], variants=variants, runtime=runtime))
        for one in questions(server, variants, catalog)
    ]
    seconds = [rerun.time_of_bench(one.options, {}, catalog, checkout.ROOT).seconds for one in asked]
    console.print(f"{server}: {len(asked)} questions, about {format_duration(sum(seconds))} in all")
    for one, took in zip(asked, seconds, strict=True):
        console.print(f"  about {format_duration(took)}: {one.text}")
    for number, question in enumerate(asked):
        left = format_duration(sum(seconds[number:]))
        display.line(f"\n{number + 1} of {len(asked)}, about {left} left: {question.text}")
        run_or_exit(["bench", *format_options(question.options)], into / question.name, {})


def compared(server: str, catalog: Catalog) -> list[str]:
    """Return the two variants that the answer compares; more would take longer than 15 minutes.

    Raise `PlanError` if the server has no two variants to switch between.
    """
    entries = {entry.id: entry.variant for entry in catalog.select([server])}
    sides = sides_of({name: variant.model for name, variant in entries.items()})
    if sides is None:
        raise PlanError(
            f"{server} has no choice of thread model: it needs a variant with a pool of platform threads and another "
            f"one; measure it with: make bench SERVER={server}"
        )
    return [entries[sides.pool].name, entries[sides.other].name]


def questions(server: str, variants: Sequence[str], catalog: Catalog) -> tuple[Question, ...]:
    """Return the questions: about pool sizes if the pool's size can be set and the other variant has virtual threads.

    Otherwise the pool is compared with the other variant as it is.
    """
    pool, other = (catalog.entry(f"{server}:{name}") for name in variants)
    sized = SETTING in pool.settings and other.variant.model is Model.VIRTUAL_THREAD
    return POOL_QUESTIONS if sized else QUESTIONS


def _found(into: Path) -> Found:
    """Return the newest run for each question that has one, even if the run is incomplete."""
    found: dict[str, Summary] = {}
    for name in (POOLS, WAITING, ARRIVING, COST):
        if (into / name / "latest" / "run.json").exists():
            store = Store.open(into / name / "latest")
            found[name] = Summary.of(store.run(), store.records())
    return found
