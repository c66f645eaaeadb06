"""Shows a run again and writes its reports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.cli import checkout
from zoo.cli import jdbc as databases
from zoo.cli.options import RunFolder
from zoo.cli.screen import console
from zoo.jdbc.store import is_jdbc
from zoo.model.errors import UserError
from zoo.reference import reports
from zoo.report.text import terminal
from zoo.store.run_folder import Store, kind_of


def command(
    run: RunFolder = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="write the files, print nothing")] = False,
    svg: Annotated[Path | None, typer.Option(help="a folder that gets every chart as a picture")] = None,
) -> None:
    """Show a run again and write its report.html and report.md, from its files alone.

    Example: zoo report results/latest
    """
    folder = run or checkout.ROOT / "results" / "latest"
    if is_jdbc(folder):
        databases.report(folder, console, quiet=quiet, svg=svg)
        return
    if kind_of(folder) == "jvm":
        raise UserError(f"{folder}: a run of bare JVMs has no report; its figures are in docs/claims.md")
    show(Store.open(folder), load_catalog(checkout.ROOT), quiet=quiet, svg=svg)


def show(store: Store, catalog: Catalog, *, quiet: bool, svg: Path | None = None) -> None:
    """Write the reports beside the records, and print them unless that is to be quiet."""
    _, sections, path = reports.write(store, catalog.reference_id, svg)
    if not quiet:
        terminal.show(sections, console)
        console.print(f"\nreport: {checkout.shown(path)}")


def conclude(store: Store, catalog: Catalog) -> None:
    """Write the reports, and print what they come to."""
    contents, _, path = reports.write(store, catalog.reference_id)
    console.print()
    for line in contents.summary.last_lines:
        console.print(line, highlight=False, markup=False)
    console.print(f"report: {checkout.shown(path)} (tables here: make report)")
