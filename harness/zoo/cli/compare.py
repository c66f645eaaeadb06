"""Compares two runs cell by cell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from zoo.analysis import two_runs
from zoo.analysis.pairs import Pair
from zoo.analysis.two_runs import Contrast
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.cli import checkout
from zoo.cli.screen import console
from zoo.jdbc import analysis as jdbc
from zoo.jdbc.store import JdbcStore, is_jdbc
from zoo.model.errors import BenchError
from zoo.plan.capacity import percent
from zoo.report.section import Section
from zoo.report.text import terminal
from zoo.report.text.comparisons import between_runs
from zoo.store.run_folder import Store


def command(
    first: Annotated[Path, typer.Argument(envvar="ZOO_A", help="the folder of the run to compare with")],
    second: Annotated[Path, typer.Argument(envvar="ZOO_B", help="the folder of the run that may be better or worse")],
    anyway: Annotated[bool, typer.Option("--anyway", help="also what is not comparable")] = False,
    fail_if_slower: Annotated[
        str | None, typer.Option(help="exit code 1 when req/s is found slower by more than this, such as 5%")
    ] = None,
) -> None:
    """Compare two runs cell by cell: two commits, two JDKs, two days on one host.

    Example: zoo compare results/20260101-120000-full results/latest --fail-if-slower 5%
    """
    by = None if fail_if_slower is None else percent(fail_if_slower, "a loss")
    sections, pairs = between(first, second, load_catalog(checkout.ROOT), anyway=anyway)
    terminal.show(sections, console)
    worse = [] if by is None else two_runs.slower(pairs, by)
    for pair in worse:
        console.print(f"slower: {pair.a}, {pair.scenario} {pair.tier}")
    raise typer.Exit(1 if worse else 0)


def between(first: Path, second: Path, catalog: Catalog, *, anyway: bool) -> tuple[list[Section], list[Pair]]:
    """The second run over the first, told and as pairs; `BenchError` for runs that cannot be compared."""
    a, b = Store.open(first), Store.open(second)
    if is_jdbc(first) != is_jdbc(second):
        raise BenchError("these runs cannot be compared: one is of servers, the other of databases")
    if is_jdbc(first):
        names, rounds, found = _databases(JdbcStore.open(first), JdbcStore.open(second))
    else:
        names, rounds, found = _servers(a, b, catalog)
    if found.obstacles and not (anyway and found.pairs):
        why = "; ".join(found.obstacles)
        raise BenchError(f"these runs cannot be compared: {why}" + (" (--anyway does)" if found.pairs else ""))
    return between_runs(names, found, rounds), found.pairs


Between = tuple[tuple[str, str], int, Contrast]
"""Names of two runs, the rounds that both have, and what they say of each other."""


def _servers(a: Store, b: Store, catalog: Catalog) -> Between:
    before, after = a.run(), b.run()
    found = two_runs.contrast(before, a.records(), after, b.records(), catalog.reference_id)
    return (before.id, after.id), min(before.plan.rounds, after.plan.rounds), found


def _databases(a: JdbcStore, b: JdbcStore) -> Between:
    before, after = a.run(), b.run()
    found = jdbc.contrast(before, a.records(), after, b.records())
    return (before.id, after.id), min(before.plan.profile.rounds, after.plan.profile.rounds), found
