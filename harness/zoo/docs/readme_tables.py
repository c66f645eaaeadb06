"""What documents quote of the reference runs: sentences, charts and tables, and the reports of those runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zoo.analysis.metrics import CPU, P99, PEAK_RSS, REQUESTS, Metric
from zoo.analysis.pairs import Kind, Pair
from zoo.analysis.summary import Row, rows
from zoo.catalog import matrix_file
from zoo.catalog.manifest import Catalog, Server
from zoo.docs import (
    first_screen,
    method_proofs,
    run_reports,
    scenario_runs,
    server_matrix,
    server_readme,
    wrk_percentiles,
)
from zoo.docs.method_proofs import told
from zoo.docs.origin import REFERENCE, origin
from zoo.model.run import Run
from zoo.report.charts import showcase, svg
from zoo.report.charts.gallery import Figure
from zoo.report.page.contents import Contents
from zoo.report.section import NONE, Table
from zoo.report.text import comparisons
from zoo.report.text.ending import ending
from zoo.report.text.markdown import render_table
from zoo.report.text.wording import decided, shown
from zoo.scenarios.hello import HELLO
from zoo.store.run_folder import Store

CONTAINERS = Path("results/reference/container-cost")
"""A run with `--vary runtime=container`."""

ALLOCATORS = Path("results/reference/allocators")
"""A run of rust-axum built with each of three allocators."""

HIGHEST = 25_000
TIER = "results/reference/vm-25k*"
"""Runs of `make bench-25k`, or of some of its entries."""

AGREEMENT = ("results/reference/vm-10k-process", "results/reference/vm-10k-guest")
"""The same entries at 10,000 connections, as processes and in guests."""

EMULATED = "method.md#a-host-of-its-own-where-this-one-forbids-the-tier"

ARTICLE_MB = {"rust-axum:async": 537, "java-vertx:virtual@heap=300m": 484, "java-tomcat:virtual": 3_800}
"""Of the first article, "Benchmarking Java Virtual Thread Performance", 25,000 requests of 10 s each: RSS of axum, of
Vert.x with Mutiny and `-Xmx300m`, of Tomcat."""

PERCENTILES = Path("results/reference/wrk-percentiles.json.gz")
CHARTS = Path("docs/charts")


@dataclass
class Quoted:
    """By document, its generated parts by name; and files that are generated as a whole."""

    parts: dict[Path, dict[str, str]] = field(default_factory=dict)
    files: dict[Path, str] = field(default_factory=dict)


def quote(root: Path, catalog: Catalog) -> Quoted:
    """All of it, as far as there are reference runs; empty without."""
    quoted = Quoted()
    if (root / REFERENCE / "run.json").exists():
        _results(quoted, root, catalog)
    if (root / ALLOCATORS / "run.json").exists():
        contents = run_reports.read(Store.open(root / ALLOCATORS), None)
        quoted.parts.setdefault(root / "docs/scenarios.md", {})["allocators"] = _allocators(contents, catalog)
    if (root / CONTAINERS / "run.json").exists():
        contents = run_reports.read(Store.open(root / CONTAINERS), catalog.reference_id)
        quoted.parts[root / "docs/containers.md"] = {"cost": _cost(contents, catalog)}
    _tier(quoted, root, catalog)
    for server in (s for s in catalog.servers if (s.folder / matrix_file.NAME).exists()):
        quoted.parts.setdefault(study(root, server), {})["matrix"] = server_matrix.told(root, server, catalog)
    _experiments(quoted, root, catalog)
    method = method_proofs.parts(root, REFERENCE, catalog)
    if all((root / folder / "run.json").exists() for folder in AGREEMENT):
        process, guest = (rows(Store.open(root / folder).records()) for folder in AGREEMENT)
        method["agreement"] = agreement(process, guest)
    if (root / PERCENTILES).exists():
        method["percentiles"] = wrk_percentiles.told(wrk_percentiles.read(root / PERCENTILES))
    if method:
        quoted.parts[root / "docs/method.md"] = method
    return quoted


def _tier(quoted: Quoted, root: Path, catalog: Catalog) -> None:
    """What the highest tier cost, and the reports of the runs that this is linked to."""
    stores = {f"../{folder.relative_to(root)}/report.md": Store.open(folder) for folder in sorted(root.glob(TIER))}
    if not stores:
        return
    found = {report: (one.run().plan.condition.env, rows(one.records())) for report, one in stores.items()}
    said = tier(found)
    quoted.parts.setdefault(root / "docs/scenarios.md", {})["tier"] = said
    for report, store in stores.items():
        if report in said:
            contents = run_reports.read(store, catalog.reference_id)
            quoted.files[store.folder / "report.md"] = run_reports.text(contents, catalog.reference_id)


def _experiments(quoted: Quoted, root: Path, catalog: Catalog) -> None:
    """What runs of further scenarios say."""
    if experiments := scenario_runs.told(root, catalog):
        quoted.parts.setdefault(root / "docs/scenarios.md", {})["experiments"] = experiments


def study(root: Path, server: Server) -> Path:
    """The document of a server with a matrix, which tells its runs: docs/liberty.md of java-liberty."""
    return root / "docs" / f"{server.name.rpartition('-')[2]}.md"


def _results(quoted: Quoted, root: Path, catalog: Catalog) -> None:
    """What the reference run of the whole zoo says: to the README of all, and to that of each server."""
    folder = root / REFERENCE
    contents = run_reports.read(Store.open(folder), catalog.reference_id)
    quoted.files[folder / "report.md"] = run_reports.text(contents, catalog.reference_id)
    quoted.files[folder / "report.html"] = run_reports.html(contents)
    figures = showcase.of_zoo(contents)
    readme = quoted.parts.setdefault(root / "README.md", {})
    readme["results"] = results(contents, figures, catalog)
    held = scenario_runs.held(root)
    readme["switch"] = first_screen.told(root, contents, held, catalog)
    readme["output"] = "\n".join(["```text", *ending(contents.cells, contents.compared), "```"])
    quoted.files |= {root / CHARTS / f"{f.name}.svg": svg.alone(f) for f in figures}
    for server in catalog.servers:
        if server.name in contents.cells.servers:
            part = server_readme.results(contents, held, catalog, server.name)
            quoted.parts.setdefault(server.folder / "README.md", {})["results"] = part


def results(contents: Contents, figures: Sequence[Figure], catalog: Catalog) -> str:
    """What a run of the whole zoo found: one picture, and a row a server of virtual over platform threads."""
    pairs = [p for p in contents.compared.of(Kind.MODEL) if (p.scenario, p.tier) == (HELLO.name, "1k")]
    body = [[f"[{p.a.partition(':')[0]}]({p.a.partition(':')[0]}/)", *(_said(p, m) for m in TOLD)] for p in pairs]
    table = Table("pairs", ["virtual ÷ platform threads", *TOLD.values()], body)
    return "\n\n".join(
        [
            *(f"![{_bare(f.description)}]({CHARTS}/{f.name}.svg)" for f in figures),
            *([render_table(table)] if body else []),
            f"`hello` at 1,000 connections, 95 % intervals. [Report]({REFERENCE}/report.html) of every entry and load "
            f"(download it and open it in a browser; [as text]({REFERENCE}/report.md)). "
            f"{_source(contents.run, list(contents.cells.rows.values()), catalog)}",
        ]
    )


TOLD = {REQUESTS: "requests a second", CPU: "CPU per request", P99: "p99 latency", PEAK_RSS: "peak memory"}


def _said(pair: Pair, metric: Metric) -> str:
    """`slower 12–18 %`, `equal within 5 %`, `open`"""
    comparison = pair.comparisons.get(metric)
    return NONE if comparison is None else decided(comparison)


def tier(found: Mapping[str, tuple[Mapping[str, str], Sequence[Row]]]) -> str:
    """What the highest tier cost each server, beside what the article says; by report: a run's settings and its rows.

    An entry that several runs held with the same settings is told once, from the first of them.
    """
    every = [
        (f"`{row.entry}`" + "".join(f" with `{key}={value}`" for key, value in sorted(env.items())), report, row)
        for report, (env, of_run) in found.items()
        for row in of_run
        if row.requested == HIGHEST
    ]
    held = [one for one in every if one[2].held]
    where = f" in an [emulated host]({EMULATED})" if all(row.emulated for *_, row in held) else ""
    told: dict[str, str] = {}
    for name, report, row in held:
        article = f" ({ARTICLE_MB[row.entry]:,})" if row.entry in ARTICLE_MB else ""
        told.setdefault(name, f"{name} [{shown(row.rss_peak_mb)} MB]({report}){article}")
    pools = list(dict.fromkeys(name for name, _, row in every if name not in told and row.ceiling_rps))
    others = {name: f"{name} ([why]({report}))" for name, report, _ in every if name not in told and name not in pools}
    return (
        f"Peak resident memory of one server that held 25,000 requests at once{where}: {', '.join(told.values())}. "
        "In brackets: the first article's figure, on its own hardware."
        + (f" As many as it has threads at a time, while the others waited: {', '.join(pools)}." if pools else "")
        + (f" Not all, or not all answered: {', '.join(others.values())}." if others else "")
    )


def agreement(process: Sequence[Row], guest: Sequence[Row]) -> str:
    """What a held connection costs as a process and in a guest, of entries that have both figures."""
    outside, inside = (
        {row.entry: row.kb_per_connection for row in run if row.kb_per_connection} for run in (process, guest)
    )
    body = [
        [f"`{entry}`", shown(here), shown(there), f"{there.median / here.median - 1:+.0%}"]
        for entry, here in outside.items()
        if (there := inside.get(entry))
    ]
    columns = ["entry", "kB per connection, process", "kB per connection, guest", "difference"]
    links = " and ".join(f"[{folder.rpartition('-')[2]}](../{folder})" for folder in AGREEMENT)
    table = render_table(Table("agreement", columns, body))
    return f"{table}\n\nFrom committed runs at up to 10,000 connections: {links}."


def _bare(text: str) -> str:
    """For the description of a picture, where brackets would end it."""
    return text.replace("[", "(").replace("]", ")")


def _table(found: Iterable[Row]) -> Table:
    """Throughput, latency and CPU at the middle tier, and what a held connection costs."""
    cells = {(r.entry, r.scenario, r.tier): r for r in found}
    tiers = sorted({(r.requested, r.tier) for r in cells.values()})
    entries = sorted({r.entry for r in cells.values() if not r.again})
    (_, halfway), (_, top) = tiers[(len(tiers) - 1) // 2], tiers[-1]
    columns = ["entry", *(f"hello req/s, {name}" for _, name in tiers), f"p99 ms, {halfway}", f"CPU s/M req, {halfway}"]
    columns += [f"peak RSS MB, sleep {top}", "RSS per connection kB"]
    body = []
    for entry in entries:
        hello = [cells.get((entry, "hello", name)) for _, name in tiers]
        middle, sleep = cells.get((entry, "hello", halfway)), cells.get((entry, "sleep", top))
        body.append(
            [
                f"`{entry}`",
                *(_median(r) for r in hello),
                shown(middle.p99_us, 1e-3) if middle else "–",
                shown(middle.cpu_s_per_million) if middle else "–",
                _sleeping(sleep),
                shown(sleep.kb_per_connection) if sleep else "–",
            ]
        )
    return Table("results", columns, body)


def _median(row: Row | None) -> str:
    return shown(row.rps, bound=row.lower_bound) if row else "–"


def _sleeping(row: Row | None) -> str:
    if row is None or not row.measured:
        return "–"
    if row.held:
        return shown(row.rss_peak_mb)
    return "not held" if row.ceiling_rps is None else f"not held (at most {row.ceiling_rps:g} req/s)"


def _source(run: Run, found: Sequence[Row], catalog: Catalog) -> str:
    cut = next((r for r in found if r.limited_by), None)
    clamped = f" Tier {cut.tier} ran at {cut.actual:,} connections ({cut.limited_by})." if cut and cut.actual else ""
    return (
        f"Median (lowest–highest) of {run.plan.rounds} rounds; ≥ and hollow marks: a lower bound, see the report's "
        f"flags. {origin(run, catalog)}.{clamped}"
    )


def _allocators(contents: Contents, catalog: Catalog) -> str:
    """The table alone: its entries are builds of one server, of which the run compares no pair."""
    rows = list(contents.cells.rows.values())
    source = f"[Committed run](../{ALLOCATORS}). {_source(contents.run, rows, catalog)}"
    return f"{render_table(_table(rows))}\n\n{source}"


def _cost(contents: Contents, catalog: Catalog) -> str:
    """What the run says of containers over processes."""
    run = contents.run
    section = comparisons.verdicts(Kind.CONDITION, contents.compared.of(Kind.CONDITION), run.plan.rounds)
    engine = run.host.engine.version if run.host.engine else "unknown"
    return told(section, f"[Committed run](../{CONTAINERS}): {origin(run, catalog)}; engine {engine}.")
