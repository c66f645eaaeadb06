"""What documents quote of the reference runs: sentences, charts and tables, and the reports of those runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zoo import experimented, matrix, printed, proved, reports, studied
from zoo.analysis import Row, rows
from zoo.catalog import Catalog
from zoo.pairs import Kind
from zoo.proved import told, where
from zoo.records import Run
from zoo.report import comparisons, pictures, sentences, showcase
from zoo.report.contents import Contents
from zoo.report.gallery import Figure
from zoo.report.markdown import render_table
from zoo.report.model import Table
from zoo.report.wording import shown
from zoo.store import Store

REFERENCE = Path("results/reference/bench-all")
CONTAINERS = Path("results/reference/container-cost")
"""A run with `--vary runtime=container`."""

ALLOCATORS = Path("results/reference/allocators")
"""A run of rust-axum built with each of three allocators."""

HIGHEST = 25_000
TIER = "results/reference/vm-25k*"
"""Runs of `make bench-25k`, or of some of its entries."""

AGREEMENT = ("results/reference/vm-10k-process", "results/reference/vm-10k-guest")
"""The same entries at 10,000 connections, as processes and in guests."""

EMULATED = "docs/method.md#a-host-of-its-own-where-this-one-forbids-the-tier"

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
        contents = reports.read(Store.open(root / ALLOCATORS), None)
        quoted.files[root / ALLOCATORS / "report.md"] = reports.text(contents, None)
        quoted.parts.setdefault(root / "rust-axum/README.md", {})["allocators"] = _allocators(contents)
    if (root / CONTAINERS / "run.json").exists():
        store = Store.open(root / CONTAINERS)
        contents = reports.read(store, catalog.reference_id)
        quoted.files[root / CONTAINERS / "report.md"] = reports.text(contents, catalog.reference_id)
        quoted.parts[root / "docs/containers.md"] = {"cost": _cost(contents)}
    if folders := sorted(root.glob(TIER)):
        stores = {f"{folder.relative_to(root)}/report.md": Store.open(folder) for folder in folders}
        found = {report: (one.run().plan.condition.env, rows(one.records())) for report, one in stores.items()}
        quoted.parts.setdefault(root / "README.md", {})["tier"] = tier(found)
    for server in (s for s in catalog.servers if (s.folder / matrix.NAME).exists()):
        quoted.parts.setdefault(server.folder / "README.md", {})["matrix"] = studied.told(root, server)
    _experiments(quoted, root, catalog)
    method = proved.parts(root, REFERENCE)
    if all((root / folder / "run.json").exists() for folder in AGREEMENT):
        process, guest = (rows(Store.open(root / folder).records()) for folder in AGREEMENT)
        method["agreement"] = agreement(process, guest)
    if (root / PERCENTILES).exists():
        method["percentiles"] = printed.told(printed.read(root / PERCENTILES))
    if method:
        quoted.parts[root / "docs/method.md"] = method
    return quoted


def _experiments(quoted: Quoted, root: Path, catalog: Catalog) -> None:
    """What runs of further scenarios say: to docs/scenarios.md, and of held connections to each server's README."""
    if experiments := experimented.told(root):
        quoted.parts[root / "docs/scenarios.md"] = {"experiments": experiments}
        quoted.files |= experimented.texts(root, catalog.reference_id)
    for server in catalog.servers:
        if held := experimented.held(root, server.name):
            quoted.parts.setdefault(server.folder / "README.md", {})["held"] = held


def _results(quoted: Quoted, root: Path, catalog: Catalog) -> None:
    """What the reference run of the whole zoo says: to the README of all, and to that of each server."""
    folder = root / REFERENCE
    contents = reports.read(Store.open(folder), catalog.reference_id)
    quoted.files[folder / "report.md"] = reports.text(contents, catalog.reference_id)
    quoted.files[folder / "report.html"] = reports.html(contents)

    def add(document: Path, figures: Sequence[Figure], part: str) -> None:
        quoted.parts.setdefault(document, {})["results"] = part
        quoted.files |= {root / CHARTS / f"{f.name}.svg": pictures.alone(f) for f in figures}

    figures = showcase.of_zoo(contents)
    add(root / "README.md", figures, results(contents, figures))
    for server in catalog.servers:
        if server.name in contents.cells.servers:
            figures = showcase.of_server(contents, server.name)
            add(server.folder / "README.md", figures, results(contents, figures, server.name))


def results(contents: Contents, figures: Sequence[Figure], server: str | None = None) -> str:
    """What a run found, of all servers or of one: in sentences, charts, and a table."""
    up = "" if server is None else "../"
    rows = [r for r in contents.cells.rows.values() if server is None or r.entry.startswith(f"{server}:")]
    page = f"[The whole report]({up}{REFERENCE}/report.html) is one page: download it and open it in a browser. "
    return "\n\n".join(
        [
            f"Measured in a committed run. {page}[As text]({up}{REFERENCE}/report.md).",
            *_answer(contents, server),
            *(f"![{_bare(f.description)}]({up}{CHARTS}/{f.name}.svg)" for f in figures),
            render_table(_table(rows)),
            _source(contents.run, rows),
        ]
    )


def _answer(contents: Contents, server: str | None) -> list[str]:
    """The sentences of the first question that there are pairs for."""
    for question in contents.questions:
        found = [f for f in question.found if server in (None, f.server)]
        told = sentences.answers(contents.cells, found, noted=server is None)
        if told:
            lines = [[f"- **{one.scenario}**: {one.wait}", *(f"  - {text}" for text in one.texts)] for one in told]
            return [
                f"{question.asked.heading}. {question.asked.text}",
                "\n".join(line for one in lines for line in one),
            ]
    return []


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
    links = " and ".join(f"[{folder.rpartition('-')[2]}](../{folder}/report.md)" for folder in AGREEMENT)
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


def _source(run: Run, found: Sequence[Row]) -> str:
    cut = next((r for r in found if r.limited_by), None)
    clamped = f" Tier {cut.tier} ran at {cut.actual:,} connections ({cut.limited_by})." if cut and cut.actual else ""
    return (
        f"Median (lowest–highest) of {run.plan.rounds} rounds; ≥ and hollow marks: a lower bound, see the report's "
        f"flags. {where(run)}.{clamped}"
    )


def _allocators(contents: Contents) -> str:
    """The table alone: its entries are builds of one server, of which the run compares no pair."""
    rows = list(contents.cells.rows.values())
    source = f"[Committed run](../{ALLOCATORS}/report.md). {_source(contents.run, rows)}"
    return f"{render_table(_table(rows))}\n\n{source}"


def _cost(contents: Contents) -> str:
    """What the run says of containers over processes."""
    run = contents.run
    section = comparisons.verdicts(Kind.CONDITION, contents.compared.of(Kind.CONDITION), run.plan.rounds)
    engine = run.host.engine.version if run.host.engine else "unknown"
    return told(section, f"[Committed run](../{CONTAINERS}/report.md): {where(run)}, engine {engine}.")
