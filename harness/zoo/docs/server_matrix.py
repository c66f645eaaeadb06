"""What the committed runs of a server's matrix tell, for its document in docs/: docs/liberty.md of java-liberty."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog import matrix_file
from zoo.catalog.manifest import Catalog, Server
from zoo.docs.generated import Generated
from zoo.docs.origin import origin
from zoo.model.matrix import MatrixPart
from zoo.report import matrix_study
from zoo.report.matrix_study import Answered
from zoo.store.run_folder import Store

REFERENCE = Path("results/reference")


def generated(root: Path, catalog: Catalog) -> Generated:
    """Of each server with a matrix."""
    servers = [server for server in catalog.servers if (server.folder / matrix_file.NAME).exists()]
    return Generated({study(root, server): {"matrix": told(root, server, catalog)} for server in servers})


def study(root: Path, server: Server) -> Path:
    """The server's document."""
    return root / "docs" / f"{server.name.rpartition('-')[2]}.md"


def told(root: Path, server: Server, catalog: Catalog) -> str:
    """All parts of the matrix, those without a committed run too."""
    return matrix_study.told(
        [_answered(root, server.name, part) for part in matrix_file.load(server.folder).parts],
        lambda run: origin(run, catalog, server.name),
    )


def _answered(root: Path, server: str, part: MatrixPart) -> Answered:
    folder = REFERENCE / server / part.name
    if not (root / folder / "run.json").exists():
        return Answered(part)
    store = Store.open(root / folder)
    return Answered(part, store.run(), store.records(), f"../{folder}")
