"""What the committed runs of a server's matrix tell, for its document in docs/."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog import matrix_file
from zoo.catalog.manifest import Catalog, Server
from zoo.docs.origin import origin
from zoo.model.matrix import Part
from zoo.report import matrix_study
from zoo.report.matrix_study import Answered
from zoo.store.run_folder import Store

REFERENCE = Path("results/reference")


def told(root: Path, server: Server, catalog: Catalog) -> str:
    """All parts of the matrix, those without a committed run too."""
    return matrix_study.told(
        [_answered(root, server.name, part) for part in matrix_file.load(server.folder).parts],
        lambda run: origin(run, catalog, server.name),
    )


def _answered(root: Path, server: str, part: Part) -> Answered:
    folder = REFERENCE / server / part.name
    if not (root / folder / "run.json").exists():
        return Answered(part)
    store = Store.open(root / folder)
    return Answered(part, store.run(), store.records(), f"../{folder}")
