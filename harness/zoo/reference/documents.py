"""The one table of what is generated in documents: document, marker, the runs it quotes, and what renders them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from zoo.analysis.pairs import Kind
from zoo.catalog.manifest import Catalog
from zoo.docs.origin import changed, medians, origin
from zoo.jdbc.store import JdbcStore
from zoo.model.soak import Soak
from zoo.reference import first_screen, held, highest_tier, method, percentiles, readme, server_readme
from zoo.reference.committed import Committed, Reference
from zoo.reference.experiments import experiments
from zoo.reference.quoting import quote
from zoo.report import study as studies
from zoo.report.columns import COLUMNS
from zoo.report.jdbc import text as databases
from zoo.report.section import Table
from zoo.report.study import Answered
from zoo.report.text import comparisons
from zoo.report.text import soak as soak_text
from zoo.report.text.ending import ending
from zoo.report.text.markdown import render_table

Render = Callable[[Sequence[Committed], Catalog], str]


@dataclass(frozen=True)
class Part:
    """A generated part of a document.

    `runs` are names in the table of committed runs; one that ends in `*` stands for all that begin like that. The part
    is generated once the first of them is committed; the others are quoted as far as they are committed. What renders
    as an empty text is not generated.
    """

    document: str
    marker: str
    runs: Sequence[str]
    render: Render


@dataclass(frozen=True)
class Files:
    """Files that are generated as a whole, by their place below the root of a checkout; `runs` as of a part."""

    runs: Sequence[str]
    render: Callable[[Sequence[Committed], Catalog], Mapping[Path, str]]


ZOO = "bench-all"
"""The run of the whole zoo."""

PEAK = COLUMNS["rss_peak_mb"]


def parts(catalog: Catalog) -> Iterator[Part]:
    """Yield all parts, those of each server's README included."""
    yield Part("README.md", "entries", (), entries)
    yield Part("README.md", "results", (ZOO,), readme.results)
    yield Part("README.md", "switch", (ZOO, "scenarios/*", "claims/*", "jdbc*"), first_screen.first_screen)
    yield Part("README.md", "output", (ZOO,), readme.output)
    for server in catalog.servers:
        render = partial(server_readme.server_results, server=server.name)
        yield Part(f"{server.name}/README.md", "results", (ZOO, "scenarios/*"), render)
    yield Part("java-vertx/README.md", "schedulers", ("schedulers",), partial(last_lines, server="java-vertx"))
    yield Part("java-jdbc/README.md", "results", ("jdbc",), database_results)
    yield Part("java-jdbc/README.md", "article", ("jdbc-article",), database_results)
    yield Part("docs/jdbc.md", "profiles", (), lambda *_: databases.profiles())
    yield Part("docs/findings.md", "allocators", ("allocators",), allocators)
    yield Part("docs/findings.md", "tier", ("vm-25k*",), highest_tier.highest_tier)
    yield Part("docs/findings.md", "experiments", ("scenarios/*",), experiments)
    yield Part("docs/liberty.md", "study", ("java-liberty/*",), study)
    yield Part("docs/containers.md", "cost", ("container-cost",), runtimes)
    yield Part("docs/scale-out.md", "swarm", ("swarm-one-node",), runtimes)
    yield Part("docs/scale-out.md", "swarm-no-nat", ("swarm-one-node-no-nat",), runtimes)
    yield Part("docs/scale-out.md", "million", ("scenarios/*",), held.million)
    yield Part("docs/method.md", "aa", ("aa", ZOO), method.aa)
    yield Part("docs/method.md", "power", ("aa",), method.power)
    yield Part("docs/method.md", "slowdown", ("slowdown",), method.slowdown)
    yield Part("docs/method.md", "designs", ("designs/*",), method.designs)
    yield Part("docs/method.md", "first-turns", ("first-turns/before", "first-turns/after"), method.first_turns)
    yield Part("docs/method.md", "cores-split", ("cores-split",), method.cores_split)
    yield Part("docs/method.md", "agreement", ("vm-10k-process", "vm-10k-guest"), method.agreement)
    yield Part("docs/method.md", "percentiles", ("wrk-percentiles.json.gz",), percentiles.render)
    yield Part("docs/reliability.md", "soak", ("soak.json",), soak)


FILES = (Files((ZOO,), readme.files), Files(("vm-25k*",), highest_tier.reports))


def quoted(runs: Sequence[str], reference: Reference) -> list[Committed] | None:
    """Return the committed runs of these names; None if the first is not committed, so that nothing is generated."""
    groups = [reference.matching(name) for name in runs]
    return None if groups and not groups[0] else [run for group in groups for run in group]


# --- what takes no module of its own


def entries(_: Sequence[Committed], catalog: Catalog) -> str:
    """Render the table of all server variants."""
    body = [[f"[`{e.id}`]({e.server.name}/)", e.variant.model, e.variant.summary] for e in catalog.entries]
    return render_table(Table("entries", ["entry", "model", "how it runs a request"], body, text=3))


def allocators(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the peak memory of rust-axum with each of three allocators while all its connections wait."""
    [one] = runs
    rows = sorted(one.summary.cells.rows.values(), key=lambda row: row.entry)
    columns = ["entry", *dict.fromkeys(f"{PEAK.title}, {row.scenario} {row.tier}" for row in rows)]
    table = Table("results", columns, [[f"`{row.entry}`", PEAK.text(row)] for row in rows])
    return f"{render_table(table)}\n\n[Committed run](../{one.link}). {medians(one.run, rows, catalog)}"


def last_lines(runs: Sequence[Committed], catalog: Catalog, server: str) -> str:
    """Render the last lines of a run as a paragraph."""
    [one] = runs
    summary = one.summary
    _, *said = (line.strip().rstrip(".") for line in ending(summary.cells, summary.compared))
    source = f"[{one.run.plan.rounds} rounds](../{one.link}): {origin(one.run, catalog, server)}"
    return f"{'. '.join([*said, source])}."


def runtimes(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Compare a runtime with another one: a container with a process, a swarm with a container."""
    [one] = runs
    compared = one.summary.compared
    section = comparisons.verdicts(Kind.CONDITION, compared.of(Kind.CONDITION), one.run.plan.rounds)
    engine = one.run.host.engine.version if one.run.host.engine else "unknown"
    return quote(section, f"[Committed run](../{one.link}): {origin(one.run, catalog)}; engine {engine}.")


def study(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the questions of a study about one server, each with what its run shows."""
    server = runs[0].listed.path.parent.name
    answered = [Answered(one.listed.asks, one.run, one.records, f"../{one.link}") for one in runs]
    return studies.told(answered, lambda run: origin(run, catalog, server))


def database_results(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render each published table that a database run measured."""
    [one] = runs
    store = JdbcStore.open(one.folder)
    return databases.results(store.run(), store.records(), f"../{one.link}")


def soak(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render whether a server grew under load."""
    [one] = runs
    seen = Soak.model_validate_json(one.folder.read_text(encoding="utf-8"))
    others = changed(seen.builds, [server for server in catalog.servers if server.name in seen.builds])
    older = f" **Older build**: {', '.join(others)} changed since." if others else ""
    source = (
        f"[{seen.minutes:g} minutes](../{one.link}), all servers at once: {seen.host.cpu_model}, "
        f"{seen.host.processors}, commit {(seen.commit or 'unknown')[:12]}, JDK {seen.jdk}.{older}"
    )
    section = soak_text.section(seen)
    bullets = "\n".join(f"- {bullet}" for bullet in section.bullets)
    return "\n\n".join([*section.paragraphs, *map(render_table, section.tables), *filter(None, [bullets]), source])
