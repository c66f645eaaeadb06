"""The README's answer to “Should I switch?”: one sentence a case from committed runs, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.analysis.pairs import Kind, Pair
from zoo.catalog.manifest import Catalog
from zoo.docs.origin import COMMITTED, REFERENCE, older_builds, preference
from zoo.docs.scenario_runs import HeldRun, preferred
from zoo.jdbc import pairs as database_pairs
from zoo.jdbc.store import JdbcStore
from zoo.model.entry_id import plain, server_of
from zoo.model.run import Run
from zoo.report.summary import Summary
from zoo.report.text import switch
from zoo.report.text.switch import Arriving
from zoo.scenarios.hello import HELLO
from zoo.scenarios.open import OPEN
from zoo.store.run_folder import Store, kind_of

TIER = "1k"
CONNECTIONS, WIRE_MS = 10, 10


def told(root: Path, summary: Summary, held: Sequence[HeldRun], catalog: Catalog) -> str:
    """A bullet a case, as far as there are runs of it."""
    return "\n".join(
        f"- {sentence} {source}" for sentence, source in _sentences(root, summary, held, catalog) if sentence
    )


def _sentences(root: Path, summary: Summary, held: Sequence[HeldRun], catalog: Catalog) -> Iterator[tuple[str, str]]:
    yield _waiting(root, catalog)
    yield _database(root)
    pairs = [p for p in summary.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, TIER)]
    yield switch.fast(pairs), _source(REFERENCE / "report.html", summary.run, catalog)
    rss = {e: found for (e, quantity), found in preferred(held).items() if quantity == "rss" and plain(e) == e}
    # a range over the variants of a server is of one build: that of its newest run
    latest = {server_of(e): one for e, (one, _) in sorted(rss.items(), key=lambda item: item[1][0].run.started_at)}
    rss = {e: found for e, found in rss.items() if found[0] is latest[server_of(e)]}
    used: dict[Path, tuple[Run, set[str]]] = {}
    for entry, (one, _) in rss.items():
        used.setdefault(one.folder, (one.run, set()))[1].add(server_of(entry))
    sources = [_source(folder, run, catalog, servers) for folder, (run, servers) in used.items()]
    yield switch.held({entry: cost for entry, (_, cost) in rss.items()}), " ".join(sources)


def _waiting(root: Path, catalog: Catalog) -> tuple[str, str]:
    """Who is answered at a constant rate, each server from the run that `preference` puts first."""
    found: dict[str, list[tuple[tuple[int, str], Arriving, Path, Run]]] = {}
    for folder in _folders(root, kind=None):
        run = (store := Store.open(root / folder)).run()
        if OPEN.name in run.plan.scenarios and not run.plan.condition.env:
            mine = [record for record in store.records() if record.scenario == OPEN.name]
            for server, one in switch.arriving(mine).items():
                found.setdefault(server, []).append((preference(one.rounds, run.started_at), one, folder, run))
    best = {server: max(of, key=lambda one: one[0]) for server, of in sorted(found.items())}
    used: dict[Path, tuple[Run, set[str]]] = {}
    for server, (_, _, folder, run) in best.items():
        used.setdefault(folder, (run, set()))[1].add(server)
    sources = [_source(folder, run, catalog, servers) for folder, (run, servers) in used.items()]
    return switch.waiting({server: one for server, (_, one, _, _) in best.items()}), " ".join(sources)


def _database(root: Path) -> tuple[str, str]:
    """Virtual threads over a cached pool, with few connections and a wire in between."""
    found = []
    for folder in _folders(root, kind="jdbc"):
        store = JdbcStore.open(root / folder)
        pair = next((p for p in database_pairs.compare(store.records()).of(Kind.MODEL) if _is_quoted(p)), None)
        if pair and (comparison := pair.comparisons.get(database_pairs.OPS)) and comparison.ratio:
            found.append((preference(pair.rounds, store.run().started_at), comparison, folder))
    if not found:
        return "", ""
    _, comparison, folder = max(found, key=lambda one: one[0])
    return switch.database(comparison, CONNECTIONS, WIRE_MS), f"([run]({folder}))"


def _is_quoted(pair: Pair) -> bool:
    return f"wire-{WIRE_MS}" in pair.scenario and pair.tier.startswith(f"{CONNECTIONS}/")


def _folders(root: Path, kind: str | None) -> list[Path]:
    """The committed runs of this kind, below the root of the checkout."""
    found = sorted(file.parent for file in (root / COMMITTED).rglob("run.json"))
    return [folder.relative_to(root) for folder in found if kind_of(folder) == kind]


def _source(link: Path, run: Run, catalog: Catalog, only: set[str] | None = None) -> str:
    """`only`: the servers whose figures are quoted; all of the run's without it."""
    changed = older_builds(run, catalog)
    older = ", older build" if changed and (only is None or only & set(changed)) else ""
    return f"([run]({link}){older})"
