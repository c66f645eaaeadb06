"""The command that compares two runs cell by cell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.cli import checkout
from zoo.cli.display import console
from zoo.cli.json_output import AsJson, pairs_data, print_json
from zoo.core.capacity import parse_percent
from zoo.core.errors import BenchError
from zoo.core.jdbc import measures_databases
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.core.run_folder import Store
from zoo.report.section import Section
from zoo.report.text import terminal
from zoo.report.text.comparisons import run_comparison_sections
from zoo.stats import databases, two_runs
from zoo.stats.pairs import Pair


def compare_command(
    first: Annotated[
        Path, typer.Argument(envvar="ZOO_A", help="folder of the run to compare with, such as the older one")
    ],
    second: Annotated[Path, typer.Argument(envvar="ZOO_B", help="folder of the run that may be faster or slower")],
    anyway: Annotated[
        bool, typer.Option("--anyway", help="compare runs even if their machines, plans or protocols differ")
    ] = False,
    fail_if_slower: Annotated[
        str | None, typer.Option(help="exit with code 1 if requests per second fell by more than this, such as 5%")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare two runs cell by cell: two commits, two JDKs, two days on one host.

    Examples:
        zoo compare results/20260101-120000-full results/latest
        zoo compare results/20260101-120000-full results/latest --fail-if-slower 5%
    """
    by = None if fail_if_slower is None else parse_percent(fail_if_slower, "--fail-if-slower")
    sections, pairs = compare_stored_runs(first, second, load_catalog(checkout.ROOT), anyway=anyway)
    worse = [] if by is None else two_runs.find_slower(pairs, by)
    if as_json:
        print_json("compare", pairs=pairs_data(pairs), slower=pairs_data(worse), sections=sections)
        raise typer.Exit(1 if worse else 0)
    terminal.print_sections(sections, console)
    for pair in worse:
        console.print(f"slower: {pair.a}, {pair.scenario} {pair.tier}")
    raise typer.Exit(1 if worse else 0)


def compare_stored_runs(
    first: Path, second: Path, catalog: Catalog, *, anyway: bool
) -> tuple[list[Section], list[Pair]]:
    """Compare the second run with the first; return the report's sections, and the pairs.

    Raise `BenchError` if the runs cannot be compared.
    """
    a, b = Store.open(first), Store.open(second)
    before, after = a.run(), b.run()
    if measures_databases(before) != measures_databases(after):
        raise BenchError(
            "these runs cannot be compared: one measured servers, the other databases; choose two of one sort"
        )
    if measures_databases(before):
        comparison = databases.compare_runs(before, a.records(), after, b.records())
    else:
        comparison = two_runs.compare_runs(before, a.records(), after, b.records(), catalog.reference_id)
    if comparison.obstacles and not (anyway and comparison.pairs):
        reasons = "; ".join(comparison.obstacles)
        raise BenchError(
            f"these runs cannot be compared: {reasons}"
            + ("; add --anyway (ANYWAY=1) to ignore this" if comparison.pairs else "")
        )
    rounds = min(before.plan.rounds, after.plan.rounds)
    return run_comparison_sections((before.id, after.id), comparison, rounds), comparison.pairs
