"""What the committed runs of a server's matrix tell in its README."""

from __future__ import annotations

from pathlib import Path

from zoo import matrix
from zoo.catalog import Server
from zoo.matrix import Part
from zoo.proved import where
from zoo.report import study
from zoo.report.study import Answered
from zoo.store import Store

REFERENCE = Path("results/reference")


def told(root: Path, server: Server) -> str:
    """All parts of the matrix, those without a committed run too."""
    return study.told([_answered(root, server.name, part) for part in matrix.load(server.folder).parts], where)


def _answered(root: Path, server: str, part: Part) -> Answered:
    folder = REFERENCE / server / part.name
    if not (root / folder / "run.json").exists():
        return Answered(part)
    store = Store.open(root / folder)
    return Answered(part, store.run(), store.records(), f"../{folder}/report.md")
