"""A run's folder: `run.json`, `records.ndjson` (flushed after each cell), `raw/` and the reports."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel, ValidationError

from zoo.records import Record, Run

REPORTS = frozenset({"report.md", "report.html"})


class StoreError(Exception):
    """A run that cannot be read or written; the message names the file, and the line where there is one."""


class _Named(Protocol):
    @property
    def id(self) -> str: ...
    def model_dump_json(self, *, indent: int | None = None) -> str: ...


RunT = TypeVar("RunT", bound=_Named)
RecordT = TypeVar("RecordT", bound=BaseModel)


class RunFolder(ABC, Generic[RunT, RecordT]):
    """Reads and writes one run's folder; what form run and records have is up to its kinds."""

    LATEST: ClassVar[str] = "latest"
    """The link to the newest run of this kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw = folder / "raw"
        self._records = folder / "records.ndjson"

    @classmethod
    def create(cls, results: Path, run: RunT) -> Self:
        """A new folder named after the run, made the `latest`."""
        store = cls(results / run.id)
        store.raw.mkdir(parents=True)
        store.write_run(run)
        store._records.touch()
        _point(results / cls.LATEST, run.id)
        return store

    @classmethod
    def open(cls, folder: Path) -> Self:
        """An existing run; `StoreError` when there is none."""
        if not (folder / "run.json").is_file():
            raise StoreError(f"{folder}: no run there (run.json is missing); start one with: make bench-quick")
        return cls(folder.resolve())

    def write_run(self, run: RunT) -> None:
        self.write_text("run.json", run.model_dump_json(indent=2) + "\n")

    def run(self) -> RunT:
        path = self.folder / "run.json"
        try:
            return self._read_run(path.read_text(encoding="utf-8"))
        except (OSError, ValidationError) as error:
            raise StoreError(f"{path}: {error}") from error

    def append(self, record: RecordT) -> None:
        """Write one record and force it to disk."""
        with _writing(self._records), self._records.open("a", encoding="utf-8") as out:
            out.write(record.model_dump_json() + "\n")
            out.flush()
            os.fsync(out.fileno())

    def records(self) -> list[RecordT]:
        """All records in the order written; a last line cut off by a crash is left out."""
        lines = self._records.read_bytes().split(b"\n")
        found: list[RecordT] = []
        for number, line in enumerate(lines[:-1], start=1):
            try:
                found.append(self._read_record(line))
            except ValidationError as error:
                raise StoreError(f"{self._records}:{number}: {error}") from error
        return found

    def mend(self) -> None:
        """Cut off an unfinished last line, so that a resumed run can be appended to."""
        data = self._records.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.truncate(self._records, whole)

    def write_raw(self, name: str, data: object) -> str:
        """Store compressed JSON below `raw/`; gives the path below the run's folder."""
        path = self.raw / f"{name}.json.gz"
        with _writing(path), gzip.GzipFile(path, "wb", mtime=0) as out:
            out.write(json.dumps(data, separators=(",", ":")).encode())
        return f"raw/{path.name}"

    def read_raw(self, name: str) -> Any:  # noqa: ANN401 (JSON)
        """What `write_raw` stored under the path it gave."""
        path = self.folder / name
        try:
            return json.loads(gzip.decompress(path.read_bytes()))
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise StoreError(f"{path}: {error}") from error

    def files(self) -> frozenset[str]:
        """Paths of all files below the run's folder but for the reports, which are made of them."""
        found = (p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file())
        return frozenset(found) - REPORTS

    def write_text(self, name: str, text: str) -> Path:
        """Store a whole file beside the records."""
        path = self.folder / name
        with _writing(path):
            _replace(path, text)
        return path

    @abstractmethod
    def _read_run(self, text: str) -> RunT: ...

    @abstractmethod
    def _read_record(self, line: bytes) -> RecordT: ...


class Store(RunFolder[Run, Record]):
    """A run of servers."""

    def _read_run(self, text: str) -> Run:
        return Run.model_validate_json(text)

    def _read_record(self, line: bytes) -> Record:
        return Record.model_validate_json(line)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def _point(link: Path, target: str) -> None:
    temporary = link.with_name(link.name + ".new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)
