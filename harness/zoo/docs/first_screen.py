"""The README's answer to “Should I switch?”: one sentence a case from committed runs, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.analysis.pairs import Kind
from zoo.catalog.manifest import Catalog
from zoo.docs.origin import REFERENCE, older_builds
from zoo.docs.scenario_runs import FOLDER, HeldRun, newest
from zoo.jdbc import pairs as database_pairs
from zoo.jdbc.store import JdbcStore
from zoo.model.entry_id import plain, server_of
from zoo.model.run import Run
from zoo.report.summary import Summary
from zoo.report.text import switch
from zoo.scenarios.hello import HELLO
from zoo.store.run_folder import Store

OPEN = FOLDER / "open"
DATABASES = Path("results/reference/jdbc-article")
TIER = "1k"
CONNECTIONS, WIRE_MS = 10, 10


def told(root: Path, summary: Summary, held: Sequence[HeldRun], catalog: Catalog) -> str:
    """A bullet a case, as far as there are runs of it."""
    return "\n".join(
        f"- {sentence} {source}" for sentence, source in _sentences(root, summary, held, catalog) if sentence
    )


def _sentences(root: Path, summary: Summary, held: Sequence[HeldRun], catalog: Catalog) -> Iterator[tuple[str, str]]:
    if (root / OPEN / "run.json").exists():
        store = Store.open(root / OPEN)
        yield switch.waiting(store.records()), _source(OPEN, store.run(), catalog)
    if (root / DATABASES / "run.json").exists():
        yield _database(root), f"([run]({DATABASES}))"
    pairs = [p for p in summary.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, TIER)]
    yield switch.fast(pairs), _source(REFERENCE / "report.html", summary.run, catalog)
    rss = {e: found for (e, quantity), found in newest(held).items() if quantity == "rss" and plain(e) == e}
    # a range over the variants of a server is of one build: that of its newest run
    latest = {server_of(e): one for e, (one, _) in sorted(rss.items(), key=lambda item: item[1][0].run.started_at)}
    rss = {e: found for e, found in rss.items() if found[0] is latest[server_of(e)]}
    used: dict[Path, tuple[Run, set[str]]] = {}
    for entry, (one, _) in rss.items():
        used.setdefault(one.folder, (one.run, set()))[1].add(server_of(entry))
    sources = [_source(folder, run, catalog, servers) for folder, (run, servers) in used.items()]
    yield switch.held({entry: cost for entry, (_, cost) in rss.items()}), " ".join(sources)


def _database(root: Path) -> str:
    """Virtual threads over a cached pool, with few connections and a wire in between."""
    store = JdbcStore.open(root / DATABASES)
    for pair in database_pairs.compare(store.records()).of(Kind.MODEL):
        comparison = pair.comparisons.get(database_pairs.OPS)
        wired = f"wire-{WIRE_MS}" in pair.scenario and pair.tier.startswith(f"{CONNECTIONS}/")
        if wired and comparison:
            return switch.database(comparison, CONNECTIONS, WIRE_MS)
    return ""


def _source(link: Path, run: Run, catalog: Catalog, only: set[str] | None = None) -> str:
    """`only`: the servers whose figures are quoted; all of the run's without it."""
    changed = older_builds(run, catalog)
    older = ", older build" if changed and (only is None or only & set(changed)) else ""
    return f"([run]({link}){older})"
