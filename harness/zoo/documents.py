"""Keeps generated parts of the documentation in step: tables between markers, the records' JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo.analysis import Row, rows
from zoo.catalog import Catalog
from zoo.pairs import Compared, Kind, compare
from zoo.proof import widths
from zoo.records import Run, schema
from zoo.report import proofs
from zoo.report.comparisons import of_kind
from zoo.report.document import shown
from zoo.report.markdown import render_table
from zoo.report.model import Section, Table
from zoo.store import Store


class DocumentError(Exception):
    """A document without the markers of its generated part."""


REFERENCE = Path("results/reference/bench-all")
CONTAINERS = Path("results/reference/container-cost")
"""A run with `--vary runtime=container`."""
ALLOCATORS = Path("results/reference/allocators")
"""A run of rust-axum built with each of three allocators."""
AA, SLOWDOWN, DESIGNS = (Path("results/reference") / name for name in ("aa", "slowdown", "designs"))
"""Runs of `zoo.prove`; of designs there are several."""

HIGHEST = 25_000
TIER = "results/reference/vm-25k*"
"""Runs of `make bench-25k`, or of some of its entries."""

AGREEMENT = ("results/reference/vm-10k-process", "results/reference/vm-10k-guest")
"""The same entries at 10,000 connections, as processes and in guests."""

EMULATED = "docs/method.md#a-host-of-its-own-where-this-one-forbids-the-tier"

ARTICLE_MB = {"rust-axum:async": 537, "java-vertx:virtual@heap=300m": 484, "java-tomcat:virtual": 3_800}
"""Of the first article, "Benchmarking Java Virtual Thread Performance", 25,000 requests of 10 s each: RSS of axum, of
Vert.x with Mutiny and `-Xmx300m`, of Tomcat."""


def refresh(root: Path, catalog: Catalog, *, write: bool) -> list[Path]:
    """Files whose generated parts are stale; rewritten when `write`."""
    wanted = {root / "docs/records.schema.json": json.dumps(schema(), indent=2, sort_keys=True) + "\n"}
    for path, parts in _marked(root, catalog).items():
        wanted[path] = _replaced(path, path.read_text(encoding="utf-8"), parts)
    stale = [p for p, text in wanted.items() if not p.exists() or p.read_text(encoding="utf-8") != text]
    if write:
        for path in stale:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
    return stale


def _marked(root: Path, catalog: Catalog) -> dict[Path, dict[str, str]]:
    """Each document's generated parts by marker name."""
    parts = {root / "README.md": {"entries": render_table(_entries(catalog))}}
    folder = root / REFERENCE
    if (folder / "run.json").exists():
        store = Store.open(folder)
        reference = catalog.reference
        run, found = store.run(), rows(store.records(), reference.id if reference else None)
        parts[root / "README.md"]["results"] = results(run, found, f"{REFERENCE}/report.md")
        for server in catalog.servers:
            mine = [r for r in found if r.entry.startswith(f"{server.name}:")]
            if mine:
                parts[server.folder / "README.md"] = {"results": results(run, mine, f"../{REFERENCE}/report.md")}
    if (root / ALLOCATORS / "run.json").exists():
        store = Store.open(root / ALLOCATORS)
        table = results(store.run(), rows(store.records(), None), f"../{ALLOCATORS}/report.md")
        parts.setdefault(root / "rust-axum/README.md", {})["allocators"] = table
    if (root / CONTAINERS / "run.json").exists():
        parts[root / "docs/containers.md"] = {"cost": _cost(Store.open(root / CONTAINERS), catalog)}
    if folders := sorted(root.glob(TIER)):
        found_in = {f"{folder.relative_to(root)}/report.md": rows(Store.open(folder).records()) for folder in folders}
        parts[root / "README.md"]["tier"] = tier(found_in)
    proved = _proved(root)
    if all((root / folder / "run.json").exists() for folder in AGREEMENT):
        process, guest = (rows(Store.open(root / folder).records()) for folder in AGREEMENT)
        proved["agreement"] = agreement(process, guest)
    if proved:
        parts[root / "docs/method.md"] = proved
    return parts


def _cost(store: Store, catalog: Catalog) -> str:
    """What the run says of containers over processes."""
    run, records = store.run(), store.records()
    section = of_kind(Kind.CONDITION, compare(run.plan.entries, records, catalog.reference_id), run.plan.rounds)
    engine = run.host.engine.version if run.host.engine else "unknown"
    return _told(section, f"[Committed run](../{CONTAINERS}/report.md): {_where(run)}, engine {engine}.")


def _proved(root: Path) -> dict[str, str]:
    """What committed runs prove of the method, by marker."""
    made = {}
    for folder, section in ((AA, proofs.aa), (SLOWDOWN, proofs.slowdown)):
        if (root / folder / "run.json").exists():
            run, compared = _compared(root / folder)
            made[folder.name] = _told(section(run, compared), _committed(folder, run))
    if AA.name in made and (root / REFERENCE / "run.json").exists():
        made[AA.name] += f"\n\nIn the [reference run](../{REFERENCE}/report.md), all scenarios and tiers: "
        made[AA.name] += proofs.counted(*_compared(root / REFERENCE))
    folders = sorted(path.parent for path in (root / DESIGNS).glob("*/run.json"))
    if folders:
        runs = [_compared(folder) for folder in folders]
        found = [width for run, compared in runs for width in widths(run, compared)]
        links = ", ".join(f"[{f.name}](../{DESIGNS}/{f.name}/report.md)" for f in folders)
        made[DESIGNS.name] = _told(proofs.designs(found), f"Committed runs: {links}; {_where(runs[0][0])}.")
    return made


def _compared(folder: Path) -> tuple[Run, Compared]:
    store = Store.open(folder)
    run = store.run()
    return run, compare(run.plan.entries, store.records())


def _committed(folder: Path, run: Run) -> str:
    return f"[Committed run](../{folder}/report.md): {_where(run)}."


def _told(section: Section, source: str) -> str:
    """A section without its heading."""
    bullets = [f"- {bullet}" for bullet in section.bullets]
    tables = [render_table(table) for table in section.tables]
    return "\n\n".join([*tables, *section.paragraphs, *(["\n".join(bullets)] if bullets else []), source])


def _where(run: Run) -> str:
    host = run.host
    return (
        f"{host.cpu_model}, {host.cores} cores shared by server and wrk, commit {(run.commit or 'unknown')[:12]}, "
        f"JDK {run.plan.condition.jdk or 'none'}"
    )


def _replaced(path: Path, text: str, parts: dict[str, str]) -> str:
    """Fill `<!-- generated: NAME -->` … `<!-- end -->`; a part without its markers is an error of the document."""
    for name, part in parts.items():
        found = re.findall(rf"<!-- generated: {name} -->\n.*?<!-- end -->", text, flags=re.DOTALL)
        if len(found) != 1:
            raise DocumentError(
                f"{path}: expected the markers of the generated part {name!r} once, found them {len(found)} times"
            )
        text = text.replace(found[0], f"<!-- generated: {name} -->\n{part}\n<!-- end -->")
    return text


def _entries(catalog: Catalog) -> Table:
    body = [[f"[`{e.id}`]({e.server.name}/)", e.variant.model, e.variant.summary] for e in catalog.entries]
    return Table("entries", ["entry", "model", "how it runs a request"], body, text=3)


def results(run: Run, found: list[Row], report: str) -> str:
    """A short table of a run: throughput, latency and CPU at its middle tier, and what a held connection costs."""
    cells = {(r.entry, r.scenario, r.tier): r for r in found}
    tiers = sorted({(r.requested, r.tier) for r in found})
    entries = list(dict.fromkeys(r.entry for r in sorted(found, key=lambda r: r.entry) if not r.again))
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
    table = render_table(Table("results", columns, body))
    return f"Measured in a [committed run]({report}):\n\n{table}\n\n{_source(run, found)}"


def tier(found: Mapping[str, Sequence[Row]]) -> str:
    """What the highest tier cost each server, beside what the article says; rows by the report that has them."""
    every = [(report, row) for report, of_run in found.items() for row in of_run]
    held = [(report, row) for report, row in every if row.held and row.requested == HIGHEST]
    where = f" in an [emulated host]({EMULATED})" if all(row.emulated for _, row in held) else ""
    told = []
    for report, row in held:
        article = f" ({ARTICLE_MB[row.entry]:,})" if row.entry in ARTICLE_MB else ""
        told.append(f"`{row.entry}` [{shown(row.rss_peak_mb)} MB]({report}){article}")
    return (
        f"Peak resident memory of one server that held 25,000 requests at once{where}: {', '.join(told)}. "
        "In brackets: the first article's figure, on its own hardware."
    )


def agreement(process: Sequence[Row], guest: Sequence[Row]) -> str:
    """What a held connection costs as a process and in a guest, of entries that have both figures."""
    inside = {row.entry: row.kb_per_connection for row in guest if row.kb_per_connection}
    body = []
    for row in process:
        here, there = row.kb_per_connection, inside.get(row.entry)
        if here and there:
            body.append([f"`{row.entry}`", shown(here), shown(there), f"{there.median / here.median - 1:+.0%}"])
    columns = ["entry", "kB per connection, process", "kB per connection, guest", "difference"]
    links = " and ".join(f"[{folder.rpartition('-')[2]}](../{folder}/report.md)" for folder in AGREEMENT)
    table = render_table(Table("agreement", columns, body))
    return f"{table}\n\nFrom committed runs at up to 10,000 connections: {links}."


def _median(row: Row | None) -> str:
    return shown(row.rps, bound=row.lower_bound) if row else "–"


def _sleeping(row: Row | None) -> str:
    if row is None or not row.measured:
        return "–"
    if row.held:
        return shown(row.rss_peak_mb)
    return "not held" if row.ceiling_rps is None else f"not held (at most {row.ceiling_rps:g} req/s)"


def _source(run: Run, found: list[Row]) -> str:
    cut = next((r for r in found if r.limited_by), None)
    clamped = f" Tier {cut.tier} ran at {cut.actual:,} connections ({cut.limited_by})." if cut and cut.actual else ""
    return (
        f"Median (lowest–highest) of {run.plan.rounds} rounds; ≥: a lower bound, see the report's flags. "
        f"{_where(run)}.{clamped}"
    )
