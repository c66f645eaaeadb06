"""Renders the generated parts of READMEs: the tables of the root and of servers, and “Should I switch?”."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from zoo.analysis.metrics import CPU, P99, PEAK_RSS, REQUESTS, Metric
from zoo.analysis.pairs import Kind, Pair
from zoo.catalog.manifest import Catalog
from zoo.jdbc import analysis as database_pairs
from zoo.jdbc.store import JdbcStore
from zoo.model.entry_id import server_of, varied
from zoo.model.run import Run
from zoo.reference import reports
from zoo.reference.origin import HeldRun, held, medians, older_builds, origin, preference, preferred, usual
from zoo.reference.runs import Committed
from zoo.report.charts import svg
from zoo.report.charts.figure import Figure
from zoo.report.columns import COLUMNS, title_of
from zoo.report.formatting import format_interval
from zoo.report.jdbc import text as databases
from zoo.report.section import NONE, Table
from zoo.report.summary import Summary
from zoo.report.text import switch
from zoo.report.text.markdown import render_table
from zoo.report.text.sentences import ending
from zoo.report.text.switch import Arriving
from zoo.report.text.wording import decided
from zoo.scenarios.hello import HELLO
from zoo.scenarios.open import OPEN

CHARTS = Path("docs/charts")

SHOWN = ("forest-model-hello-cpu-per-request",)
"""Names of the charts that the README shows."""

TOLD = {REQUESTS: "requests a second", CPU: "CPU per request", P99: "p99 latency", PEAK_RSS: "peak memory"}


def entries(_: Sequence[Committed], catalog: Catalog) -> str:
    """Render the table of all server variants."""
    body = [[f"[`{e.id}`]({e.server.name}/)", e.variant.model, e.variant.summary] for e in catalog.entries]
    return render_table(Table("entries", ["entry", "model", "how it runs a request"], body, text=3))


def zoo_results(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the run of the whole zoo: one picture, and a row for each server of virtual over platform threads."""
    [whole] = runs
    summary = whole.summary
    pairs = [p for p in summary.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, "1k")]
    body = [[f"[{p.a.partition(':')[0]}]({p.a.partition(':')[0]}/)", *(_said(p, m) for m in TOLD)] for p in pairs]
    table = Table("pairs", ["virtual ÷ platform threads", *TOLD.values()], body)
    return "\n\n".join(
        [
            *(f"![{_bare(f.description)}]({CHARTS}/{f.name}.svg)" for f in _shown(whole)),
            *([render_table(table)] if body else []),
            f"`hello` at 1,000 connections, 95 % intervals. [Report]({whole.link}/report.html) of every entry and load "
            f"(download it and open it in a browser; [as text]({whole.link}/report.md)). "
            f"{medians(summary.run, list(summary.cells.rows.values()), catalog)}",
        ]
    )


def _shown(whole: Committed) -> list[Figure]:
    return [figure for figure in whole.contents.figures if figure.name in SHOWN]


def output(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render the last lines that the run of the whole zoo printed."""
    [whole] = runs
    summary = whole.summary
    return "\n".join(["```text", *ending(summary.cells, summary.compared), "```"])


def files(runs: Sequence[Committed], catalog: Catalog) -> dict[Path, str]:
    """Render the reports of the run of the whole zoo, and the README's charts."""
    [whole] = runs
    charts = {CHARTS / f"{f.name}.svg": svg.alone(f) for f in _shown(whole)}
    folder = whole.listed.path
    return {
        folder / "report.md": reports.text(whole.contents),
        folder / "report.html": reports.html(whole.contents),
        **charts,
    }


def _said(pair: Pair, metric: Metric) -> str:
    """`slower 12–18 %`, `equal within 5 %`, `open`"""
    comparison = pair.comparisons.get(metric)
    return NONE if comparison is None else decided(comparison)


def _bare(text: str) -> str:
    """Replace the brackets of a text, which would end the description of a picture."""
    return text.replace("[", "(").replace("]", ")")


# --- the READMEs of servers and of java-jdbc

TIER = "1k"
LEAN = "BUFFERS=lean"
KEYS = ("rps", "p99_ms", "cpu_us_per_request")
TITLES = ["variant", *map(title_of, (*KEYS, "kb_per_request"))]


def server_results(runs: Sequence[Committed], catalog: Catalog, server: str) -> str:
    """Render the results of a server, from the run of the whole zoo and from runs that held connections."""
    whole, *others = runs
    summary = whole.summary
    if server not in summary.cells.servers:
        return ""
    return results(summary, held(others), catalog, server, f"../{whole.link}/report.html")


def last_lines(runs: Sequence[Committed], catalog: Catalog, server: str) -> str:
    """Render the last lines of a run as a paragraph."""
    [one] = runs
    _, *said = (line.strip().rstrip(".") for line in ending(one.summary.cells, one.summary.compared))
    where = f"[{one.run.plan.rounds} rounds](../{one.link}): {origin(one.run, catalog, server)}"
    return f"{'. '.join([*said, where])}."


def database_results(runs: Sequence[Committed], catalog: Catalog) -> str:
    """Render each published table that a database run measured."""
    [one] = runs
    store = JdbcStore.open(one.folder)
    return databases.results(store.run(), store.records(), f"../{one.link}")


def results(summary: Summary, held: Sequence[HeldRun], catalog: Catalog, server: str, report: str) -> str:
    """Render `hello` at 1,000 connections from the run of the whole zoo, and the slope of memory of held runs."""
    rows = {(r.entry, r.scenario, r.tier): r for r in summary.cells.rows.values() if not r.again}
    slopes = {entry: found for (entry, quantity), found in preferred(held).items() if quantity == "rss"}
    body, lean = [], []
    for variant in next(s for s in catalog.servers if s.name == server).manifest.variants:
        entry = f"{server}:{variant.name}"
        row, slope = rows.get((entry, "hello", TIER)), slopes.get(entry)
        body.append(
            [
                f"`{variant.name}`",
                *(COLUMNS[key].text(row) if row else NONE for key in KEYS),
                format_interval(slope[1].interval) if slope else NONE,
            ]
        )
        lean += _lean(held, entry, variant.name)
    sources = [f"[Report]({report}): {origin(summary.run, catalog, server)}."]
    runs = {one.link: one.run for entry, (one, _) in slopes.items() if server_of(entry) == server}
    sources += [f"Held connections: {origin(run, catalog, server)}." for run in runs.values()]
    how = (
        f"`hello` at 1,000 connections; median (lowest–highest) of {summary.run.plan.rounds} rounds, ≥: a lower bound. "
        "Memory per waiting request: the slope over several counts with its 95 % interval."
    )
    return "\n\n".join([render_table(Table("results", TITLES, body)), " ".join([how, *lean, *sources])])


def _lean(held: Sequence[HeldRun], entry: str, variant: str) -> list[str]:
    """Render what lean buffers save, from the preferred run that has both; empty if no run has."""
    usual, thin = (entry, "rss"), (varied(entry, LEAN), "rss")
    both = preferred([one for one in held if usual in one.costs and thin in one.costs])
    if not both:
        return []
    return [
        f"With `{LEAN}`, `{variant}` takes {format_interval(both[thin][1].interval)} kB per waiting request "
        f"instead of {format_interval(both[usual][1].interval)}, in the same run."
    ]


# --- “Should I switch?”: a sentence for each case from committed runs, with its source

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
