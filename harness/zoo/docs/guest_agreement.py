"""What a held connection costs as a process and in a guest, as a part of docs/method.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from zoo.analysis.summary import Row, rows
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.report.columns import COLUMNS
from zoo.report.formatting import format_interval
from zoo.report.section import Table
from zoo.report.text.markdown import render_table
from zoo.store.run_folder import Store

COST = COLUMNS["kb_per_request"]
AGREEMENT = ("results/reference/vm-10k-process", "results/reference/vm-10k-guest")
"""The same entries at 10,000 connections, as processes and in guests."""


def generated(root: Path, catalog: Catalog) -> Generated:
    if not all((root / folder / "run.json").exists() for folder in AGREEMENT):
        return Generated()
    process, guest = (rows(Store.open(root / folder).records()) for folder in AGREEMENT)
    return Generated({root / "docs/method.md": {"agreement": agreement(process, guest)}})


def agreement(process: Sequence[Row], guest: Sequence[Row]) -> str:
    """What a held connection costs as a process and in a guest, of entries that have both figures."""
    outside, inside = ({row.entry: cost for row in run if (cost := row.kb_per_connection)} for run in (process, guest))
    body = [
        [f"`{entry}`", format_interval(here), format_interval(there), f"{there.value / here.value - 1:+.0%}"]
        for entry, here in outside.items()
        if (there := inside.get(entry))
    ]
    columns = ["entry", f"{COST.title}, process", f"{COST.title}, guest", "difference"]
    links = " and ".join(f"[{folder.rpartition('-')[2]}](../{folder})" for folder in AGREEMENT)
    table = render_table(Table("agreement", columns, body))
    return f"{table}\n\nFrom committed runs at up to 10,000 connections: {links}."
