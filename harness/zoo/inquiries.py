"""Questions asked of stored runs: what a precision costs, and what two runs say of each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zoo import bench, pilot, plan, runs
from zoo.catalog import Catalog
from zoo.conditions import BenchError
from zoo.jdbc import pairs as jdbc
from zoo.jdbc.store import JdbcStore, is_jdbc
from zoo.pairs import Pair, compare
from zoo.plan import PlanError
from zoo.report import needs
from zoo.report.comparisons import between_runs
from zoo.report.model import Section
from zoo.runs import Contrast
from zoo.store import Store


def precision(wanted: float, folder: Path, catalog: Catalog) -> list[Section]:
    """Rounds and hours that a half-width costs, from the run in this folder; `PlanError` when it cannot tell."""
    store = Store.open(folder)
    run, records = store.run(), store.records()
    compared = compare(run.plan.entries, records, catalog.reference_id, run.plan.guests)
    found = pilot.needs(compared.pairs, wanted)
    if not found:
        raise PlanError(f"{folder}: a pilot needs two rounds of the platform and virtual variants of one server")
    profile = plan.profile_of(run.plan)

    def cost(entries: Sequence[str]) -> float:
        twins = run.plan.twins if list(entries) == run.plan.entries else []
        once = run.plan.model_copy(update={"entries": list(entries), "rounds": 1, "twins": twins})
        return bench.seconds(plan.blocks_of(once), profile, catalog)

    return [needs.section(run, found, wanted, cost)]


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
    found = runs.contrast(before, a.records(), after, b.records(), catalog.reference_id)
    return (before.id, after.id), min(before.plan.rounds, after.plan.rounds), found


def _databases(a: JdbcStore, b: JdbcStore) -> Between:
    before, after = a.run(), b.run()
    found = jdbc.contrast(before, a.records(), after, b.records())
    return (before.id, after.id), min(before.plan.profile.rounds, after.plan.profile.rounds), found
