"""Where quoted figures come from: the run, the machine, the build, and which of several runs is quoted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from zoo.analysis.held import Cost
from zoo.analysis.summary import Row
from zoo.catalog.build import source_hash
from zoo.catalog.manifest import Catalog, Server
from zoo.model.entry_id import plain, server_of
from zoo.model.run import Run
from zoo.reference.runs import Committed
from zoo.report.section import Section
from zoo.report.text.markdown import body, render_table


def preference(rounds: int, started_at: str) -> tuple[int, str]:
    """Return a key whose maximum is the run that documents quote where several have the same cell.

    The run with the most rounds, and of equal ones the newest: a rule that does not look at the result.
    """
    return rounds, started_at


def origin(run: Run, catalog: Catalog, only: str | None = None) -> str:
    """Name machine, commit, JDK and any older build, without a full stop; `only`: the server that is quoted."""
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
    """Return the run's servers whose sources have changed since, or all if it kept no hashes."""
    names = {server_of(entry) for entry in run.plan.entries}
    measured = [server for server in catalog.servers if server.name in names]
    return changed(run.builds, measured) if run.builds else [server.name for server in measured]


def changed(builds: Mapping[str, str], servers: Iterable[Server]) -> list[str]:
    """Return the servers whose sources have another hash than the one kept, or of which none was kept."""
    return [server.name for server in servers if builds.get(server.name) != source_hash(server)]


def medians(run: Run, found: Sequence[Row], catalog: Catalog) -> str:
    """Explain a table of medians and name its origin, and the tier that was cut."""
    cut = next((r for r in found if r.limited_by), None)
    clamped = f" Tier {cut.tier} ran at {cut.actual:,} connections ({cut.limited_by})." if cut and cut.actual else ""
    return (
        f"Median (lowest–highest) of {run.plan.rounds} rounds; ≥ and hollow marks: a lower bound, see the report's "
        f"flags. {origin(run, catalog)}.{clamped}"
    )


def source(committed: Committed, catalog: Catalog, more: str = "") -> str:
    """Link a run from a document below the root, and name its origin."""
    return f"[Committed run](../{committed.link}): {origin(committed.run, catalog)}{more}."


def quote(section: Section, source: str) -> str:
    """Render a section as Markdown: its tables without their titles, the text, and the source."""
    return "\n\n".join([*map(render_table, section.tables), *body(replace(section, tables=[])), source])


# --- the cost of a held connection

HeldCosts = dict[tuple[str, str], tuple[Committed, Cost]]
"""A cost and its run, by entry and quantity."""


def preferred(runs: Iterable[Committed]) -> HeldCosts:
    """Return the costs that documents quote."""
    every = [
        (preference(cost.interval.n, one.run.started_at), key, one, cost)
        for one in runs
        for key, cost in one.costs.items()
    ]
    return {key: (one, cost) for _, key, one, cost in sorted(every, key=lambda item: item[0])}


def usual(runs: Iterable[Committed]) -> HeldCosts:
    """Return the same for entries under usual conditions only."""
    return {key: found for key, found in preferred(runs).items() if plain(key[0]) == key[0]}
