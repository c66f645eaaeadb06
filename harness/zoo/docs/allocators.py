"""What rust-axum holds with each of three allocators, as a part of docs/findings.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoo.analysis.summary import Row
from zoo.catalog.manifest import Catalog
from zoo.docs import run_reports
from zoo.docs.generated import Generated
from zoo.docs.origin import medians
from zoo.report.columns import COLUMNS
from zoo.report.section import Table
from zoo.report.text.markdown import render_table
from zoo.store.run_folder import Store

PEAK = COLUMNS["rss_peak_mb"]
ALLOCATORS = Path("results/reference/allocators")
"""A run of rust-axum built with each of three allocators, the other two as copies that are not in the tree."""


def generated(root: Path, catalog: Catalog) -> Generated:
    """The table alone: its entries are builds of one server, and what claim R15 sets them against."""
    if not (root / ALLOCATORS / "run.json").exists():
        return Generated()
    contents = run_reports.read(Store.open(root / ALLOCATORS), None)
    found = list(contents.summary.cells.rows.values())
    source = f"[Committed run](../{ALLOCATORS}). {medians(contents.summary.run, found, catalog)}"
    return Generated({root / "docs/findings.md": {"allocators": f"{render_table(_table(found))}\n\n{source}"}})


def _table(found: Iterable[Row]) -> Table:
    """What each holds while all its connections wait."""
    rows = sorted(found, key=lambda row: row.entry)
    columns = ["entry", *dict.fromkeys(f"{PEAK.title}, {row.scenario} {row.tier}" for row in rows)]
    return Table("results", columns, [[f"`{row.entry}`", PEAK.text(row)] for row in rows])
