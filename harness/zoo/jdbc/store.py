"""The folder of a database run."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import TypeAdapter

from zoo.jdbc.records import RECORD, CellRecord, FloodRecord, JdbcRun
from zoo.store.run_folder import RunFolder, kind_of


class JdbcStore(RunFolder[JdbcRun, CellRecord | FloodRecord]):
    """As a run of servers, with forms of its own."""

    LATEST: ClassVar[str] = "latest-jdbc"

    RUN, RECORD = TypeAdapter(JdbcRun), RECORD


def is_jdbc(folder: Path) -> bool:
    """Whether the run there is one of databases."""
    return kind_of(folder) == "jdbc"
