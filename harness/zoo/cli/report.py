"""Commands that read runs and write reports, tables, documents and the site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from zoo.cli import checkout, options
from zoo.cli.display import console, display
from zoo.cli.json_output import AsJson, print_json
from zoo.cli.options import RunFolder
from zoo.core.errors import UserError
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.core.run_folder import Store, read_kind
from zoo.reference import reports, site
from zoo.reference.documents import refresh_documents
from zoo.reference.runs import Reference
from zoo.report.columns import round_figures
from zoo.report.text import terminal
from zoo.report.text.records_csv import to_csv


def report_command(
    run: RunFolder = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="write the files without printing")] = False,
    svg: Annotated[Path | None, typer.Option(help="folder to which every chart is written as an SVG picture")] = None,
    as_json: AsJson = False,
) -> None:
    """Show a run again and write its report.html and report.md, from its files alone.

    Examples:
        zoo report
        zoo report --json
        zoo report results/20260101-120000-full --svg charts
    """
    folder = run or checkout.ROOT / "results" / "latest"
    if read_kind(folder) == "jvm":
        raise UserError(
            f"{folder} has no report, because it measured JVMs without a server; its figures are in {folder}/run.json"
        )
    store, catalog = Store.open(folder), load_catalog(checkout.ROOT)
    if as_json:
        _, sections, _ = reports.write_reports(store, catalog, svg)
        print_json("report", run=store.run().id, sections=sections)
    else:
        show_report(store, catalog, quiet=quiet, svg=svg)


def show_report(store: Store, catalog: Catalog, *, quiet: bool, svg: Path | None = None) -> None:
    """Write the reports next to the records, and print them unless `quiet` is set."""
    _, sections, path = reports.write_reports(store, catalog, svg)
    if not quiet:
        terminal.print_sections(sections, console)
        console.print(f"\nreport: {checkout.format_path(path)}")


def conclude_report(store: Store, catalog: Catalog) -> None:
    """Write the reports, and print the conclusions."""
    contents, _, path = reports.write_reports(store, catalog)
    console.print()
    for line in contents.summary.last_lines:
        display.line(line)
    console.print(f"report: {checkout.format_path(path)} (tables here: make report)")


def export_command(
    run: RunFolder = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="print comma-separated values, the only format")] = True,
) -> None:
    """Print a run's records as CSV, with one line per cell and round.

    Examples:
        zoo export results/latest --csv > run.csv
    """
    folder = run or checkout.ROOT / "results" / "latest"
    records = Store.open(folder).records()
    print(to_csv(records, round_figures(records)), end="")


REPORTED = ("bench-all", "scenarios/*")
"""The committed runs whose reports are on the site."""


def site_command(
    run: Annotated[
        list[Path] | None,
        typer.Option(
            "--run", callback=options.split(convert=Path), help="folders of runs; by default the committed runs"
        ),
    ] = None,
    to: Annotated[Path, typer.Option(help="folder for the site")] = Path("site"),
) -> None:
    """Write answers, reports and claims as static pages that any web server can publish.

    Examples:
        zoo site
        zoo site --run results/latest --to /tmp/site
    """
    catalog = checkout.catalog()
    committed = Reference(checkout.ROOT, catalog)
    reported = run or [one.folder for name in REPORTED for one in committed.matching(name)]
    written = site.write_site(to, reported, committed.folders, checkout.ROOT, catalog, console.print)
    console.print(f"site: {checkout.format_path(written)}")


def docs_command(
    check: Annotated[
        bool, typer.Option("--check", help="write nothing; exit with code 1 if a document is out of date")
    ] = False,
) -> None:
    """Generate the parts of documents that come from committed runs: tables, charts, reports and schemas.

    Examples:
        zoo docs
        zoo docs --check
    """
    stale = refresh_documents(checkout.ROOT, load_catalog(checkout.ROOT), write=not check)
    for path in stale:
        print(f"{'stale' if check else 'wrote'}: {path.relative_to(checkout.ROOT)}")
    if stale and check:
        print("update them with: ./zoo docs", file=sys.stderr)
        raise typer.Exit(1)
