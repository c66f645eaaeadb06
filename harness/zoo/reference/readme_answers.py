"""Renders the README's answer to “Should I switch?”: a sentence for each case from committed runs, with its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from zoo.analysis.pairs import Kind, Pair
from zoo.catalog.manifest import Catalog
from zoo.jdbc import analysis as database_pairs
from zoo.jdbc.store import JdbcStore
from zoo.model.entry_id import server_of
from zoo.model.run import Run
from zoo.reference.origin import older_builds, preference, usual
from zoo.reference.runs import Committed
from zoo.report.text import switch
from zoo.report.text.switch import Arriving
from zoo.scenarios.hello import HELLO
from zoo.scenarios.open import OPEN

TIER = "1k"
CONNECTIONS, WIRE_MS = 10, 10

Sentence = tuple[str, str]
"""A text, empty if nothing was measured, and its source."""


def answers(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render a bullet for each case that was measured; the first run is that of the whole zoo."""
    whole, *others = runs
    return "\n".join(f"- {text} {source}" for text, source in _sentences(whole, others, catalog) if text)


def _sentences(whole: Committed, others: Sequence[Committed], catalog: Catalog) -> Iterator[Sentence]:
    servers = [one for one in others if one.listed.words[0] == "bench"]
    yield _waiting(servers, catalog)
    yield _database([one for one in others if one.listed.words[0] == "jdbc"])
    summary = whole.summary
    pairs = [p for p in summary.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, TIER)]
    yield switch.fast(pairs), _source(f"{whole.link}/report.html", summary.run, catalog)
    yield _held([one for one in servers if one.listed.name.startswith("scenarios/")], catalog)


def _waiting(runs: Sequence[Committed], catalog: Catalog) -> Sentence:
    """Say who keeps up with a constant rate, each server from the run that `preference` puts first."""
    found: dict[str, list[tuple[tuple[int, str], Arriving, Committed]]] = {}
    for committed in runs:
        run = committed.run
        if OPEN.name in run.plan.scenarios and not run.plan.condition.env:
            mine = [record for record in committed.records if record.scenario == OPEN.name]
            for server, one in switch.arriving(mine).items():
                found.setdefault(server, []).append((preference(one.rounds, run.started_at), one, committed))
    best = {server: max(of, key=lambda one: one[0]) for server, of in sorted(found.items())}
    sources = _sources(((one.link, one.run, server) for server, (_, _, one) in best.items()), catalog)
    return switch.waiting({server: one for server, (_, one, _) in best.items()}), sources


def _database(runs: Sequence[Committed]) -> Sentence:
    """Compare virtual threads with a cached pool, with few connections and a slow wire."""
    found = []
    for committed in runs:
        store = JdbcStore.open(committed.folder)
        pair = next((p for p in database_pairs.compare(store.records()).of(Kind.MODEL) if _is_quoted(p)), None)
        if pair and (comparison := pair.comparisons.get(database_pairs.OPS)) and comparison.ratio:
            found.append((preference(pair.rounds, store.run().started_at), comparison, committed.link))
    if not found:
        return "", ""
    _, comparison, link = max(found, key=lambda one: one[0])
    return switch.database(comparison, CONNECTIONS, WIRE_MS), f"([run]({link}))"


def _is_quoted(pair: Pair) -> bool:
    return f"wire-{WIRE_MS}" in pair.scenario and pair.tier.startswith(f"{CONNECTIONS}/")


def _held(runs: Sequence[Committed], catalog: Catalog) -> Sentence:
    """Say what a held connection costs, each server from its newest run, so that its variants are of one build."""
    rss = {entry: found for (entry, quantity), found in usual(runs).items() if quantity == "rss"}
    latest = {server_of(e): one for e, (one, _) in sorted(rss.items(), key=lambda item: item[1][0].run.started_at)}
    rss = {entry: found for entry, found in rss.items() if found[0] is latest[server_of(entry)]}
    sources = _sources(((one.link, one.run, server_of(entry)) for entry, (one, _) in rss.items()), catalog)
    return switch.held({entry: cost for entry, (_, cost) in rss.items()}), sources


def _sources(used: Iterable[tuple[str, Run, str]], catalog: Catalog) -> str:
    """Render the source of each run, in which some servers are quoted."""
    quoted: dict[str, tuple[Run, set[str]]] = {}
    for link, run, server in used:
        quoted.setdefault(link, (run, set()))[1].add(server)
    return " ".join(_source(link, run, catalog, servers) for link, (run, servers) in quoted.items())


def _source(link: str, run: Run, catalog: Catalog, only: set[str] | None = None) -> str:
    """`only`: the servers whose figures are quoted; without it, all servers of the run."""
    changed = older_builds(run, catalog)
    older = ", older build" if changed and (only is None or only & set(changed)) else ""
    return f"([run]({link}){older})"
