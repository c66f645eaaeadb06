"""Measures the runs that a server's matrix.toml names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from zoo.catalog import matrix_file
from zoo.catalog.load import load_catalog
from zoo.cli import checkout, matrix_runs
from zoo.cli.matrix_runs import Planned
from zoo.cli.mistakes import plainly
from zoo.cli.options import Hosting
from zoo.cli.screen import console
from zoo.report.formatting import format_duration


@plainly()
def command(
    server: Annotated[str, typer.Argument(help="a server whose folder has a matrix.toml")],
    part: Annotated[list[str] | None, typer.Option(help="only this part of it; repeat for more")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="instead of each part's own")] = None,
    plan_only: Annotated[bool, typer.Option("--plan", help="only say what would be measured, and how long")] = False,
    results: Annotated[Path | None, typer.Option(help="a folder for the runs; results/SERVER without it")] = None,
    runtime: Hosting = "auto",
) -> None:
    """Measure the runs that a server's matrix.toml names, one after the other.

    Example: zoo matrix java-liberty --part ramp --plan
    """
    catalog = load_catalog(checkout.ROOT)
    [folder] = {entry.server.folder for entry in catalog.select([server])}
    parts = matrix_file.load(folder).chosen(part or [])
    changes = {"rounds": rounds} if rounds else {}
    found = [matrix_runs.planned(p.model_copy(update=changes), server, catalog, checkout.ROOT, runtime) for p in parts]
    _announce_parts(found)
    todo = [p.part for p in found if not p.left_out and not plan_only]
    into = results or checkout.ROOT / "results" / server
    try:
        codes = [matrix_runs.measure(p, server, into / p.name, runtime) for p in todo]
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(max(codes, default=0))


def _announce_parts(found: Sequence[Planned]) -> None:
    for planned in found:
        what = f"left out: {planned.left_out}"
        if not planned.left_out:
            what = f"{planned.cells} cells, about {format_duration(planned.seconds)}. {planned.part.asks}"
        console.print(f"{planned.part.name}: {what}", highlight=False)
    console.print(f"about {format_duration(sum(planned.seconds for planned in found))} in all")
