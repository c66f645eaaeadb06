"""What cores of one's own change on this machine, against sharing them: a part of docs/method.md."""

from __future__ import annotations

from pathlib import Path

from zoo.analysis.pairs import Kind
from zoo.catalog.manifest import Catalog
from zoo.docs.generated import Generated
from zoo.docs.method_proofs import compared_in, source, told
from zoo.report.text.comparisons import verdicts

FOLDER = Path("results/reference/cores-split")


def generated(root: Path, catalog: Catalog) -> Generated:
    """A row an entry and connection count: split over shared."""
    if not (root / FOLDER / "run.json").exists():
        return Generated()
    run, compared = compared_in(root / FOLDER)
    section = verdicts(Kind.CONDITION, compared.of(Kind.CONDITION), run.plan.rounds)
    return Generated({root / "docs/method.md": {"cores-split": told(section, source(FOLDER, run, catalog))}})
