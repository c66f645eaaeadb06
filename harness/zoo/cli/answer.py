"""The command that answers whether a server should change its thread model."""

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
from zoo.cli.options import Hosting, Results, split
from zoo.core.answer_runs import COST, PARTS, POOL_QUESTIONS, QUESTIONS, Question
from zoo.core.capacity import PlanError
from zoo.core.errors import UserError
from zoo.core.manifest import Catalog, Model
from zoo.core.option import format_options
from zoo.reference import answers, rerun
from zoo.report.answer import Variants
from zoo.report.formatting import format_duration
from zoo.report.text.answer import render_lines
from zoo.scenarios.pool_size.spec import SETTING


def answer_command(
    server: Annotated[
        str, typer.Argument(envvar="ZOO_SERVER", help="folder name of a server, in this checkout or in ZOO=folder")
    ],
    show: Annotated[bool, typer.Option("--show", help="print the last answer again without measuring")] = False,
    rounds: Annotated[
        int | None, typer.Option(min=2, help="continue the last answer until its cost has this many rounds")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", callback=split(convert=Path), help="answer from these runs' folders without measuring"),
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
        zoo answer java-spring --run results/reference/bench-all
        ZOO=../mine zoo answer my-server
    """
    catalog = checkout.catalog()
    sides = variants_of(server, catalog)
    into = (results or checkout.ROOT / "results") / "answers" / server
    if rounds is not None:
        if run_or_exit(["bench", "--resume", "--rounds", str(rounds)], into / COST, {}) == 2:
            raise typer.Exit(2)
    elif not (show or as_json or run):
        _measure(server, catalog, runtime, into)
    found = answers.read_found(run or list_folders(into))
    if not found:
        raise UserError(
            f"{server} has no answer yet, because its runs were not measured; run: make answer SERVER={server}"
        )
    answer = answers.read_answer(sides, found, answers.committed_runs(checkout.ROOT, catalog), catalog)
    page = answers.write_answer(answer, into)
    if as_json:
        print_json(
            "answer",
            server=server,
            answer=answer.text,
            afterwards=answer.block("waiting").notes,
            rounds_needed=answer.rounds_needed,
            result=answer,
        )
        return
    display.line("")
    for line in render_lines(answer):
        display.line(line)
    console.print(f"\nanswer: {checkout.format_path(page)}")
    if not run:
        console.print(f"reports: {checkout.format_path(into)}/*/latest/report.html")


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


def variants_of(server: str, catalog: Catalog) -> Variants:
    """Return the two variants that the answer compares; more would take longer than 15 minutes.

    Raise `PlanError` if the server has no two variants to switch between.
    """
    sides = answers.server_sides(server, catalog)
    if sides is None:
        raise PlanError(
            f"{server} has no choice of thread model: it needs a variant with a pool of platform threads and another "
            f"one; measure it with: make bench SERVER={server}"
        )
    return sides


def compared(server: str, catalog: Catalog) -> list[str]:
    """Return the names of the two variants that the answer compares."""
    return [catalog.entry(entry).variant.name for entry in variants_of(server, catalog)]


def questions(server: str, variants: Sequence[str], catalog: Catalog) -> tuple[Question, ...]:
    """Return the questions: about pool sizes if the pool's size can be set and the other variant has virtual threads.

    Otherwise the pool is compared with the other variant as it is.
    """
    pool, other = (catalog.entry(f"{server}:{name}") for name in variants)
    sized = SETTING in pool.settings and other.variant.model is Model.VIRTUAL_THREAD
    return POOL_QUESTIONS if sized else QUESTIONS


def list_folders(into: Path) -> list[Path]:
    """Return the newest run for each question that has one, even if the run is incomplete."""
    folders = [into / name / "latest" for name in dict.fromkeys(PARTS.values())]
    return [folder for folder in folders if (folder / "run.json").exists()]
