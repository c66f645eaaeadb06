"""The README's answer to “Should I switch?”: one sentence a case from committed runs, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zoo.analysis.pairs import Kind, Pair
from zoo.catalog.manifest import Catalog
from zoo.docs.origin import older_builds, preference
from zoo.jdbc import analysis as database_pairs
from zoo.jdbc.store import JdbcStore
from zoo.model.entry_id import plain, server_of
from zoo.model.run import Run
from zoo.reference.committed import Committed
from zoo.reference.held import held, preferred
from zoo.report.text import switch
from zoo.report.text.switch import Arriving
from zoo.scenarios.hello import HELLO
from zoo.scenarios.open import OPEN

TIER = "1k"
CONNECTIONS, WIRE_MS = 10, 10


def first_screen(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render a bullet for each case that was measured; the first run is that of the whole zoo."""
    whole, *others = runs
    return "\n".join(f"- {text} {source}" for text, source in _sentences(whole, others, catalog) if text)


def _sentences(whole: Committed, others: Sequence[Committed], catalog: Catalog) -> Iterator[tuple[str, str]]:
    servers = [one for one in others if one.listed.words[0] == "bench"]
    yield _waiting(servers, catalog)
    yield _database([one for one in others if one.listed.words[0] == "jdbc"])
    summary = whole.summary
    pairs = [p for p in summary.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, TIER)]
    yield switch.fast(pairs), _source(f"{whole.link}/report.html", summary.run, catalog)
    found = preferred(held(one for one in servers if one.listed.name.startswith("scenarios/")))
    rss = {e: cost for (e, quantity), cost in found.items() if quantity == "rss" and plain(e) == e}
    # a range over the variants of a server is of one build: that of its newest run
    latest = {server_of(e): one for e, (one, _) in sorted(rss.items(), key=lambda item: item[1][0].run.started_at)}
    rss = {e: cost for e, cost in rss.items() if cost[0] is latest[server_of(e)]}
    used: dict[str, tuple[Run, set[str]]] = {}
    for entry, (one, _) in rss.items():
        used.setdefault(one.link, (one.run, set()))[1].add(server_of(entry))
    sources = [_source(link, run, catalog, servers) for link, (run, servers) in used.items()]
    yield switch.held({entry: cost for entry, (_, cost) in rss.items()}), " ".join(sources)


def _waiting(runs: Sequence[Committed], catalog: Catalog) -> tuple[str, str]:
    """Render who is answered at a constant rate, each server from the run that `preference` puts first."""
    found: dict[str, list[tuple[tuple[int, str], Arriving, Committed]]] = {}
    for committed in runs:
        run = committed.run
        if OPEN.name in run.plan.scenarios and not run.plan.condition.env:
            mine = [record for record in committed.records if record.scenario == OPEN.name]
            for server, one in switch.arriving(mine).items():
                found.setdefault(server, []).append((preference(one.rounds, run.started_at), one, committed))
    best = {server: max(of, key=lambda one: one[0]) for server, of in sorted(found.items())}
    used: dict[str, tuple[Run, set[str]]] = {}
    for server, (_, _, committed) in best.items():
        used.setdefault(committed.link, (committed.run, set()))[1].add(server)
    sources = [_source(link, run, catalog, servers) for link, (run, servers) in used.items()]
    return switch.waiting({server: one for server, (_, one, _) in best.items()}), " ".join(sources)


def _database(runs: Sequence[Committed]) -> tuple[str, str]:
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


def _source(link: str, run: Run, catalog: Catalog, only: set[str] | None = None) -> str:
    """`only`: the servers whose figures are quoted; all of the run's without it."""
    changed = older_builds(run, catalog)
    older = ", older build" if changed and (only is None or only & set(changed)) else ""
    return f"([run]({link}){older})"
