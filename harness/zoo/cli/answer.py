"""Answers in one paragraph whether a server should change its thread model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli import checkout, matrix_runs
from zoo.cli.matrix_runs import Planned
from zoo.cli.mistakes import plainly
from zoo.cli.options import Hosting, Results
from zoo.cli.screen import console
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.plan.answer import ANSWER
from zoo.report.text.answer import Found, paragraph
from zoo.store.run_folder import Store


@plainly()
def command(
    server: Annotated[str, typer.Argument(help="a server's folder name, of the zoo or of ZOO=folder")],
    show: Annotated[bool, typer.Option("--show", help="measure nothing; say what the last answer said")] = False,
    results: Results = None,
    runtime: Hosting = "auto",
) -> None:
    """Should this server switch to virtual threads? Measures for about ten minutes and answers in a paragraph.

    Example: zoo answer java-spring

    Example: ZOO=../mine zoo answer my-server
    """
    catalog = checkout.catalog()
    catalog.select([server])
    into = (results or checkout.ROOT / "results") / "answers" / server
    if not show:
        planned = [matrix_runs.planned(p, server, catalog, checkout.ROOT, runtime) for p in ANSWER.parts]
        console.print(f"{server}: three questions, about {sum(p.seconds for p in planned) / 60:.0f} min in all")
        _measure(planned, server, into, runtime)
    console.print(f"\n{paragraph(server, _found(into))}", highlight=False)
    console.print(f"\nreports: {checkout.shown(into)}/*/latest/report.html")


def _measure(planned: Sequence[Planned], server: str, into: Path, runtime: str) -> None:
    for number, one in enumerate(planned, start=1):
        console.print(
            f"\n{number} of {len(planned)}, about {one.seconds / 60:.0f} min: {one.part.asks}", highlight=False
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
