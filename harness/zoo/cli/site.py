"""Writes a site of reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli import checkout
from zoo.cli.screen import console
from zoo.reference import site
from zoo.reference.runs import Reference

REPORTED = ("bench-all", "scenarios/*")
"""The committed runs that have a report on the site."""


def command(
    run: Annotated[
        list[Path] | None, typer.Option("--run", help="a run's folder; repeat for more; the committed ones without it")
    ] = None,
    to: Annotated[Path, typer.Option(help="the folder of the site")] = Path("site"),
) -> None:
    """Write reports of runs, the ledger of claims and an index as static pages, for any host of files.

    Example: zoo site --run results/latest --to /tmp/site
    """
    catalog = checkout.catalog()
    committed = Reference(checkout.ROOT, catalog)
    reported = run or [one.folder for name in REPORTED for one in committed.matching(name)]
    written = site.write(to, reported, committed.folders, checkout.ROOT, catalog, console.print)
    console.print(f"site: {checkout.shown(written)}")
