"""What cores of one's own change on this machine, against sharing them: a part of docs/method.md."""

from __future__ import annotations

from pathlib import Path

from zoo.analysis.pairs import Kind, compare
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.docs.method_proofs import told
from zoo.docs.origin import origin
from zoo.report.text.comparisons import verdicts
from zoo.store.run_folder import Store

FOLDER = Path("results/reference/cores-split")


def generated(root: Path, catalog: Catalog) -> Generated:
    """A row an entry and connection count: split over shared."""
    if not (root / FOLDER / "run.json").exists():
        return Generated()
    store = Store.open(root / FOLDER)
    run = store.run()
    pairs = compare(run.plan.entries, store.records()).of(Kind.CONDITION)
    source = f"[Committed run](../{FOLDER}): {origin(run, catalog)}."
    return Generated(
        {root / "docs/method.md": {"cores-split": told(verdicts(Kind.CONDITION, pairs, run.plan.rounds), source)}}
    )
