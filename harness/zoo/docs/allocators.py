"""What rust-axum costs with each of three allocators, as a part of docs/findings.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoo.analysis.summary import Row
from zoo.catalog.manifest import Catalog
from zoo.docs import run_reports
from zoo.docs.generated import Generated
from zoo.docs.origin import medians
from zoo.report.section import Table
from zoo.report.text.markdown import render_table
from zoo.report.text.wording import shown
from zoo.store.run_folder import Store

ALLOCATORS = Path("results/reference/allocators")
"""A run of rust-axum built with each of three allocators."""


def generated(root: Path, catalog: Catalog) -> Generated:
    """The table alone: its entries are builds of one server, of which the run compares no pair."""
    if not (root / ALLOCATORS / "run.json").exists():
        return Generated()
    contents = run_reports.read(Store.open(root / ALLOCATORS), None)
    found = list(contents.summary.cells.rows.values())
    source = f"[Committed run](../{ALLOCATORS}). {medians(contents.summary.run, found, catalog)}"
    return Generated({root / "docs/findings.md": {"allocators": f"{render_table(_table(found))}\n\n{source}"}})


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
