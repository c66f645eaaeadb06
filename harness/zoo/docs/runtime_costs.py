"""What a container costs over a process, and a swarm of one node over a container."""

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

RUNS = {
    "cost": (Path("results/reference/container-cost"), Path("docs/containers.md")),
    "swarm": (Path("results/reference/swarm-one-node"), Path("docs/scale-out.md")),
    "swarm-no-nat": (Path("results/reference/swarm-one-node-no-nat"), Path("docs/scale-out.md")),
}
"""Runs with `--vary runtime=…`, and the documents that quote them, by the name of the part there."""


def generated(root: Path, catalog: Catalog) -> Generated:
    parts: dict[Path, dict[str, str]] = {}
    for name, (folder, document) in RUNS.items():
        if (root / folder / "run.json").exists():
            parts.setdefault(root / document, {})[name] = _told(root, folder, catalog)
    return Generated(parts)


def _told(root: Path, folder: Path, catalog: Catalog) -> str:
    contents = run_reports.read(Store.open(root / folder), catalog.reference_id)
    run = contents.summary.run
    section = comparisons.verdicts(Kind.CONDITION, contents.summary.compared.of(Kind.CONDITION), run.plan.rounds)
    engine = run.host.engine.version if run.host.engine else "unknown"
    return told(section, f"[Committed run](../{folder}): {origin(run, catalog)}; engine {engine}.")
