"""Where quoted figures come from: machine, commit, JDK, and whether the servers are still those that were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zoo.analysis.summary import Row
from zoo.catalog.build import source_hash
from zoo.catalog.manifest import Catalog, Server
from zoo.model.entry_id import server_of
from zoo.model.run import Run


def preference(rounds: int, started_at: str) -> tuple[int, str]:
    """Return a key whose maximum is the run that documents quote where several have the same cell.

    The run with the most rounds, and of equal ones the newest: a rule that does not look at the result.
    """
    return rounds, started_at


def origin(run: Run, catalog: Catalog, only: str | None = None) -> str:
    """One line without a full stop, in which an older build is named; `only` is the server whose figures are quoted."""
    host = run.host
    facts = (
        f"{host.cpu_model}, {run.cores}, "
        f"commit {(run.commit or 'unknown')[:12]}, JDK {run.plan.condition.jdk or 'none'}"
    )
    older = [name for name in older_builds(run, catalog) if only in (None, name)]
    if not older:
        return facts
    if not run.builds:
        return f"{facts}. **Older build**, of which the run kept no hash"
    return f"{facts}. **Older build**: {', '.join(older)} changed since"


def older_builds(run: Run, catalog: Catalog) -> list[str]:
    """The run's servers whose sources are no longer those that it measured, or that it does not tell."""
    names = {server_of(entry) for entry in run.plan.entries}
    measured = [server for server in catalog.servers if server.name in names]
    if not run.builds:
        return [server.name for server in measured]
    return changed(run.builds, measured)


def changed(builds: Mapping[str, str], servers: Iterable[Server]) -> list[str]:
    """Those of the servers whose sources have another hash than the one kept of them, or of which none was kept."""
    return [server.name for server in servers if builds.get(server.name) != source_hash(server)]


def medians(run: Run, found: Sequence[Row], catalog: Catalog) -> str:
    """The same for a table of medians, with the tier that was cut."""
    cut = next((r for r in found if r.limited_by), None)
    clamped = f" Tier {cut.tier} ran at {cut.actual:,} connections ({cut.limited_by})." if cut and cut.actual else ""
    return (
        f"Median (lowest–highest) of {run.plan.rounds} rounds; ≥ and hollow marks: a lower bound, see the report's "
        f"flags. {origin(run, catalog)}.{clamped}"
    )
