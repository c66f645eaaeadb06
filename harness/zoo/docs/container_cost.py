"""What a container costs over a process, as a part of docs/containers.md."""

from __future__ import annotations

from pathlib import Path

from zoo.analysis.pairs import Kind
from zoo.catalog.manifest import Catalog
from zoo.docs import run_reports
from zoo.docs.generated import Generated
from zoo.docs.method_proofs import told
from zoo.docs.origin import origin
from zoo.report.text import comparisons
from zoo.store.run_folder import Store

CONTAINERS = Path("results/reference/container-cost")
"""A run with `--vary runtime=container`."""


def generated(root: Path, catalog: Catalog) -> Generated:
    if not (root / CONTAINERS / "run.json").exists():
        return Generated()
    contents = run_reports.read(Store.open(root / CONTAINERS), catalog.reference_id)
    run = contents.summary.run
    section = comparisons.verdicts(Kind.CONDITION, contents.summary.compared.of(Kind.CONDITION), run.plan.rounds)
    engine = run.host.engine.version if run.host.engine else "unknown"
    source = f"[Committed run](../{CONTAINERS}): {origin(run, catalog)}; engine {engine}."
    return Generated({root / "docs/containers.md": {"cost": told(section, source)}})
