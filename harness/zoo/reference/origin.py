"""The origin of quoted figures: the run, its machine and build, and the choice among several runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from zoo import ROOT
from zoo.claims.evidence import JVM_PROGRAM
from zoo.core import jdbc
from zoo.core.capacity import parse_tier
from zoo.core.entry_id import base_id, server_name
from zoo.core.manifest import Catalog
from zoo.core.record import PROTOCOL
from zoo.core.run import JVM_PROTOCOL, SOAK_PROTOCOL, Run
from zoo.explain.data import PROTOCOL as EXPLAIN_PROTOCOL
from zoo.host.build import PROGRAM_SOURCES, program_hash, source_hash
from zoo.reference.runs import StoredRun
from zoo.report.section import Section
from zoo.report.text.markdown import render_body, render_table
from zoo.report.wording import describe_rounds
from zoo.stats import databases
from zoo.stats.memory_per_request import Cost
from zoo.stats.pairs import Comparison, Kind, Pair
from zoo.stats.summary import Row


def preference_key(rounds: int, started_at: str, connections: int = 0) -> tuple[int, int, str]:
    """Return a sort key: if several runs have the same cell, documents quote the run with the greatest key.

    That is the run with the most rounds and, among equals, the newest. For a slope over several connection counts, the
    highest of them comes before the newest, because it determines the slope best. The rule ignores the result.
    """
    return rounds, connections, started_at


def describe_origin(run: Run, catalog: Catalog, only: str | None = None) -> str:
    """Describe machine, commit, JDK and whether build or protocol are earlier, without a full stop.

    `only` is the server that is quoted.
    """
    host = run.host
    facts = (
        f"{host.cpu_model}, {run.cores}, "
        f"commit {(run.commit or 'unknown')[:12]}, JDK {run.plan.condition.jdk or 'none'}"
    )
    age = describe_earlier(run, catalog, only)
    return f"{facts}. {age}" if age else facts


def describe_earlier(run: Run, catalog: Catalog, only: str | None = None) -> str:
    """Say that the build or the protocol is an earlier one, without a full stop; empty if both are current."""
    older = [name for name in outdated_servers(run, catalog) if only in (None, name)]
    if not older:
        return EARLIER_PROTOCOL if has_earlier_protocol(run) else ""
    if not run.builds:
        return "**Measured with an earlier build**, whose hash the run did not keep"
    return describe_changed(older)


def describe_changed(names: Iterable[str]) -> str:
    """Say that these servers have changed since a measurement, without a full stop."""
    return f"**Measured with an earlier build**: {', '.join(names)} changed since"


EARLIER_PROTOCOL = "**Measured with an [earlier protocol](docs/explanation/method.md#one-session)**"


def has_earlier_protocol(run: Run) -> bool:
    """Return True if the method has changed since the run, so that its figures do not compare with those of today."""
    return run.protocol < current_protocol("", map(server_name, run.plan.entries))


def current_protocol(kind: str, names: Iterable[str]) -> int:
    """Return the protocol by which a run of this kind is measured now; `names` has its servers or its program."""
    if kind.startswith("explain"):
        return EXPLAIN_PROTOCOL
    if kind == "soak":
        return SOAK_PROTOCOL
    return next((PROTOCOLS[name] for name in names if name in PROTOCOLS), PROTOCOL)


PROTOCOLS = {JVM_PROGRAM: JVM_PROTOCOL, jdbc.PROGRAM: jdbc.PROTOCOL}
"""Today's protocols of the programs that are no servers."""


def describe_age(run: Run, catalog: Catalog, servers: Collection[str] | None = None) -> str:
    """Return `earlier build` if a quoted server has changed since, `earlier protocol` if the method has; or nothing.

    `servers` are the quoted ones; None means all servers of the run.
    """
    changed = outdated_servers(run, catalog)
    if changed and (servers is None or set(servers) & set(changed)):
        return "earlier build"
    return "earlier protocol" if has_earlier_protocol(run) else ""


def outdated_servers(run: Run, catalog: Catalog) -> list[str]:
    """Return the run's servers, or its program, whose sources have changed since; all if the run stored no hashes."""
    return changed_builds(run.builds, set(map(server_name, run.plan.entries)), catalog)


def changed_builds(stored: Mapping[str, str], names: Collection[str], catalog: Catalog, root: Path = ROOT) -> list[str]:
    """Return the servers and programs, of these, whose source hash is not the stored one; none stored: it changed."""
    now = {server.name: partial(source_hash, server) for server in catalog.servers if server.name in names}
    now |= {name: partial(program_hash, root, name) for name in PROGRAM_SOURCES if name in names}
    return [name for name, find_hash in now.items() if name not in stored or stored[name] != find_hash()]


def explain_medians(run: Run, rows: Sequence[Row], catalog: Catalog) -> str:
    """Explain a table of medians, and name its origin and the tier whose connections a limit reduced, if any."""
    reduced = next((r for r in rows if r.limited_by), None)
    reduction = (
        f" {reduced.tier} ran with {reduced.actual:,} connections ({reduced.limited_by})."
        if reduced and reduced.actual
        else ""
    )
    return (
        f"Median (lowest–highest) of {describe_rounds(run.plan)}; ≥ or a hollow mark: something other "
        "than the server was the bottleneck, so the server may be faster. "
        f"{describe_origin(run, catalog)}.{reduction}"
    )


def render_source(committed: StoredRun, catalog: Catalog, suffix: str = "") -> str:
    """Link a committed run and describe its origin; the link starts at the root of the repository."""
    return f"[Committed run]({committed.link}): {describe_origin(committed.run, catalog)}{suffix}."


def render_quote(section: Section, source: str) -> str:
    """Render a section as Markdown: its tables without titles, its text, and the source."""
    return "\n\n".join([*map(render_table, section.tables), *render_body(replace(section, tables=[])), source])


# --- the cost per waiting request

HeldCosts = dict[tuple[str, str], tuple[StoredRun, Cost]]
"""Costs per waiting request and the runs that measured them, by entry and quantity."""


def preferred_costs(runs: Iterable[StoredRun]) -> HeldCosts:
    """Return the costs that documents quote, one for each entry and quantity."""
    every = [
        (preference_key(cost.interval.n, one.run.started_at, _highest_count(one.run)), key, one, cost)
        for one in runs
        for key, cost in one.costs.items()
    ]
    return {key: (one, cost) for _, key, one, cost in sorted(every, key=lambda item: item[0])}


def _highest_count(run: Run) -> int:
    return max(parse_tier(name).connections for name in run.plan.connection_counts)


def usual_costs(runs: Iterable[StoredRun]) -> HeldCosts:
    """Return the costs that documents quote, only for entries under the run's own condition."""
    return {key: found for key, found in preferred_costs(runs).items() if base_id(key[0]) == key[0]}


# --- a small database pool

CONNECTIONS, WIRE_MS = 10, 10
"""The connections and the milliseconds to the database that documents and answers quote."""


def quoted_database(runs: Iterable[StoredRun]) -> tuple[StoredRun, Comparison, int, int] | None:
    """Return virtual threads compared with a cached pool, with few connections and a high network latency.

    The result has the run, the comparison, the connections and the milliseconds; None if no run has it.
    """
    found = []
    for committed in runs:
        pair = next((p for p in databases.compare(committed.records).of(Kind.MODEL) if _is_quoted(p)), None)
        if pair and (comparison := pair.comparisons.get(databases.OPS)) and comparison.ratio:
            found.append((preference_key(pair.rounds, committed.run.started_at), committed, comparison))
    if not found:
        return None
    _, committed, comparison = max(found, key=lambda one: one[0])
    return committed, comparison, CONNECTIONS, WIRE_MS


def _is_quoted(pair: Pair) -> bool:
    return f"wire-{WIRE_MS}" in pair.scenario and pair.tier.startswith(f"{CONNECTIONS}/")
