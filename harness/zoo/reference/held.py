"""The cost of a held connection that documents quote, and what a million of them would take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from zoo.analysis.held import Cost
from zoo.catalog.manifest import Catalog
from zoo.docs.origin import origin, preference
from zoo.model.entry_id import plain
from zoo.model.run import Run
from zoo.reference.committed import Committed
from zoo.reference.quoting import quote
from zoo.report.text.planning import sizing
from zoo.scenarios.held import HELD

CONNECTIONS, GENERATORS = 1_000_000, 9


@dataclass(frozen=True)
class HeldRun:
    """A run that held connections: its place, and the cost of one by entry and quantity."""

    link: str
    run: Run
    costs: Mapping[tuple[str, str], Cost]


def held(runs: Iterable[Committed]) -> list[HeldRun]:
    """Those of the runs that held connections."""
    return [HeldRun(one.link, one.run, one.costs) for one in runs if HELD.name in one.run.plan.scenarios]


def preferred(found: Sequence[HeldRun]) -> dict[tuple[str, str], tuple[HeldRun, Cost]]:
    """Return by entry and quantity the cost that documents quote, and its run."""
    every = [
        (preference(cost.interval.n, one.run.started_at), key, one, cost)
        for one in found
        for key, cost in one.costs.items()
    ]
    return {key: (one, cost) for _, key, one, cost in sorted(every, key=lambda item: item[0])}


def usual(runs: Iterable[Committed]) -> dict[tuple[str, str], tuple[HeldRun, Cost]]:
    """Return the same for entries under usual conditions only."""
    return {key: found for key, found in preferred(held(runs)).items() if plain(key[0]) == key[0]}


def million(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Calculate what a million connections would take of ten hosts, from the measured costs."""
    found = usual(runs)
    if not found:
        return ""
    used = {one.link: one.run for one, _ in found.values()}
    sources = "; ".join(f"[{link.rpartition('/')[2]}](../{link}): {origin(run, catalog)}" for link, run in used.items())
    section = sizing(CONNECTIONS, GENERATORS, {key: cost for key, (_, cost) in found.items()})
    return quote(section, f"Cost of a connection: {sources}.")
