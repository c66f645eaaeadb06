"""The folder of a database run."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from zoo.jdbc.records import RECORD, CellRecord, FloodRecord, JdbcRun
from zoo.store.run_folder import RunFolder, kind_of


class JdbcStore(RunFolder[JdbcRun, CellRecord | FloodRecord]):
    """As a run of servers, with forms of its own."""

    LATEST: ClassVar[str] = "latest-jdbc"

    def _read_run(self, text: str) -> JdbcRun:
        return JdbcRun.model_validate_json(text)

    def _read_record(self, line: bytes) -> CellRecord | FloodRecord:
        return RECORD.validate_json(line)


def is_jdbc(folder: Path) -> bool:
    """Whether the run there is one of databases."""
    return kind_of(folder) == "jdbc"
