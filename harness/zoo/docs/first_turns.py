"""How warm servers are in their first turn, before and after warm-up asked `/info` too: a part of docs/method.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoo.analysis.summary import Spread, spread
from zoo.analysis.turns import first_share
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.docs.origin import origin
from zoo.model.record import Record
from zoo.report.formatting import format_spread
from zoo.report.section import NONE, Table
from zoo.report.text.markdown import render_table
from zoo.scenarios.hello import HELLO
from zoo.store.run_folder import Store

FOLDER = Path("results/reference/first-turns")
RUNS = {"before": "the load alone", "after": "the load, and `/info` after each window"}
"""By folder, what warm-up asked. The machine was not left alone in the second run, so it is quoted for nothing else."""


def generated(root: Path, catalog: Catalog) -> Generated:
    """A row a run and connection count."""
    stores = {name: Store.open(root / FOLDER / name) for name in RUNS if (root / FOLDER / name / "run.json").exists()}
    if len(stores) < len(RUNS):
        return Generated()
    body, sources = [], []
    for name, store in stores.items():
        records = [r for r in store.records() if r.scenario == HELLO.name]
        for tier in dict.fromkeys(record.tier for record in records):
            at = [record for record in records if record.tier == tier]
            body.append([RUNS[name], tier, *(_said(_shares(at, jvm=jvm)) for jvm in (True, False))])
        sources.append(f"[{name}](../{FOLDER}/{name}): {origin(store.run(), catalog)}")
    table = Table("first turns", ["warm-up asked", "connections", "JVM", "native"], body, text=2)
    return Generated({root / "docs/method.md": {"first-turns": f"{render_table(table)}\n\n{'; '.join(sources)}."}})


def _shares(records: Iterable[Record], *, jvm: bool) -> Spread | None:
    """Of cells of one kind, over all rounds."""
    seen = (record.measurement for record in records)
    return spread(first_share(m) for m in seen if m is not None and m.jvm is jvm)


def _said(found: Spread | None) -> str:
    return NONE if found is None else format_spread(found)
