"""What the scheduler of virtual threads is worth to Vert.x, as a part of its README."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.docs import run_reports
from zoo.docs.generated import Generated
from zoo.docs.origin import origin
from zoo.report.text.ending import ending
from zoo.store.run_folder import Store

FOLDER = Path("results/reference/schedulers")
SERVER = "java-vertx"


def generated(root: Path, catalog: Catalog) -> Generated:
    """The last lines of the run, as a paragraph."""
    if not (root / FOLDER / "run.json").exists():
        return Generated()
    summary = run_reports.read(Store.open(root / FOLDER), catalog.reference_id).summary
    _, *said = (line.strip().rstrip(".") for line in ending(summary.cells, summary.compared))
    source = f"[{summary.run.plan.rounds} rounds](../{FOLDER}): {origin(summary.run, catalog, SERVER)}"
    return Generated({root / SERVER / "README.md": {"schedulers": f"{'. '.join([*said, source])}."}})
