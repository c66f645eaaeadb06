"""A run's folder: `run.json`, `records.ndjson` (flushed after each cell), `raw/` and the reports.

Runs that are kept in git have fewer and smaller files but contain every record. To create one:
`python -m zoo.core.run_folder results/RUN results/reference/NAME`. With `--raw` it keeps the histograms and samples.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import shutil
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, TypeAdapter, ValidationError

from zoo.core.data import Data, NewerProtocol
from zoo.core.earlier_jdbc import convert_record, convert_run
from zoo.core.errors import UserError
from zoo.core.interrupts import defer_signals
from zoo.core.record import Record
from zoo.core.run import Run, RunFacts


class StoreError(UserError):
    """A run that cannot be read or written; the message names the file, and the line if there is one."""


@contextmanager
def store_write(path: Path) -> Iterator[None]:
    """Complete a write even if a signal ends the run meanwhile; `StoreError` if the write fails."""
    try:
        with defer_signals():
            yield
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def check_writable(folder: Path) -> None:
    """Create the folder if it is missing, and briefly a file in it; `StoreError` if either fails."""
    with store_write(folder):
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
        tempfile.TemporaryFile(dir=folder).close()


def write_atomically(path: Path, text: str) -> None:
    """Replace a file atomically: a reader finds the old or the new text, even after a crash."""
    temporary = path.with_name(path.name + ".new")
    with store_write(path):
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)


def write_data(path: Path, data: Data, indent: int = 2) -> None:
    with defer_signals():  # pydantic reports an interrupt as a fault of the data
        write_atomically(path, data.model_dump_json(indent=indent) + "\n")


RECORDS = "records.ndjson"
PACKED_RECORDS = "records.ndjson.gz"
PACKED_RAW = "raw.tar.xz"
LARGEST = 20_000
"""Largest size of records that are kept as plain text, in bytes."""


def records_file(folder: Path) -> Path:
    """Return the path of a run's records, packed or not; that of the plain file if neither exists."""
    plain, packed = folder / RECORDS, folder / PACKED_RECORDS
    return packed if packed.exists() and not plain.exists() else plain


def read_lines(path: Path) -> list[bytes]:
    """Return the complete lines of a file of records; a crash may have cut off the last one."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.name == PACKED_RECORDS else data).split(b"\n")[:-1]


@cache
def packed_raw(folder: Path) -> dict[str, bytes]:
    """Return the packed raw files as JSON, by their original names; empty if nothing was packed."""
    path = folder / PACKED_RAW
    if not path.exists():
        return {}
    with tarfile.open(path) as archive:
        members = ((member.name, archive.extractfile(member)) for member in archive)
        return {f"{name}.gz": file.read() for name, file in members if file}


def copy_run(source: Path, target: Path, *, raw: bool = False) -> None:
    """Copy the parts of a run that are kept: `run.json`, the records and, with `raw`, the histograms and samples.

    An existing copy is replaced as a whole, once the new one is complete.
    """
    new, old = (target.with_name(f"{target.name}.{state}") for state in ("new", "old"))
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    new.mkdir(parents=True)
    shutil.copyfile(source / "run.json", new / "run.json")
    lines = records_file(source)
    if lines.name == PACKED_RECORDS or lines.stat().st_size <= LARGEST:
        shutil.copyfile(lines, new / lines.name)
    else:
        with gzip.GzipFile(new / PACKED_RECORDS, "wb", mtime=0) as out:
            out.write(lines.read_bytes())
    if raw:
        _pack(source / "raw", new / PACKED_RAW)
    with defer_signals():
        if target.exists():
            target.rename(old)
        new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _pack(raw: Path, target: Path) -> None:
    """Pack the files that charts are drawn from into one archive; similar files compress far better together."""
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for kind in ("histogram", "samples"):
            for path in sorted(raw.glob(f"*-{kind}.json.gz")):
                text = gzip.decompress(path.read_bytes())
                member = tarfile.TarInfo(f"raw/{path.name.removesuffix('.gz')}")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))


def main() -> None:
    """Copy a run; the arguments are two folders and optionally `--raw`."""
    raw = "--raw" in sys.argv
    source, target = (Path(word) for word in sys.argv[1:] if word != "--raw")
    copy_run(source, target, raw=raw)


if __name__ == "__main__":
    main()


REPORTS = frozenset({"report.md", "report.html"})


def read_kind(folder: Path) -> str | None:
    """Return the kind of run in a folder; None for a run of servers, or if no run can be read."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return run.get("kind") if isinstance(run, dict) else None


RunT = TypeVar("RunT", bound=RunFacts)
RecordT = TypeVar("RecordT", bound=BaseModel)


class RunFolder(Generic[RunT, RecordT]):
    """Reads and writes one run's folder; a subclass sets the formats of its run and its records."""

    RUN: TypeAdapter[RunT]
    RECORD: TypeAdapter[RecordT]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw = folder / "raw"
        self._records = records_file(folder)

    @classmethod
    def create(cls, results: Path, run: RunT, latest: str = "latest") -> Self:
        """Create a folder named after the run, and a link to it; `StoreError` if that fails."""
        store = cls(results / run.id)
        with store_write(store.folder):
            store.raw.mkdir(parents=True)
            store._records.touch()
        store.write_run(run)
        with store_write(results / latest):
            _replace_link(results / latest, run.id)
        return store

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open an existing run; `StoreError` if there is none."""
        if not (folder / "run.json").is_file():
            raise StoreError(f"{folder} contains no run (run.json is missing); start one with make bench-quick")
        return cls(folder.resolve())

    def write_run(self, run: RunT) -> None:
        write_data(self.folder / "run.json", run)

    def run(self) -> RunT:
        path = self.folder / "run.json"
        try:
            return self.RUN.validate_json(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, ValidationError, NewerProtocol) as error:
            raise StoreError(f"{path}: {error}") from error

    def append(self, *records: RecordT) -> None:
        """Write records in one piece and force them to disk. The records of one window belong together."""
        self._check_appendable()
        with store_write(self._records), self._records.open("ab") as out:
            out.write("".join(record.model_dump_json(round_trip=True) + "\n" for record in records).encode())
            out.flush()
            os.fsync(out.fileno())

    def records(self) -> list[RecordT]:
        """Return all records in the order written, without a last line that a crash cut off."""
        found: list[RecordT] = []
        for number, line in enumerate(read_lines(self._records), start=1):
            try:
                found.append(self.RECORD.validate_json(line))
            except (ValidationError, NewerProtocol) as error:
                raise StoreError(f"{self._records}:{number}: {error}") from error
        return found

    def truncate_incomplete_record(self) -> None:
        """Cut off an incomplete last line, so that a resumed run can append to the file."""
        self._check_appendable()
        data = self._records.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.truncate(self._records, whole)

    def write_raw(self, name: str, data: object) -> str:
        """Store compressed JSON below `raw/`; return the path below the run's folder."""
        path = self.raw / f"{name}.json.gz"
        with store_write(path), gzip.GzipFile(path, "wb", mtime=0) as out:
            out.write(json.dumps(data, separators=(",", ":")).encode())
        return f"raw/{path.name}"

    def new_log(self, name: str) -> Path:
        """Create an empty file below `raw/` for a server's output, next to those of its earlier starts."""
        path = next(p for n in itertools.count(1) if not (p := self.raw / f"{name}{f'-{n}' * (n > 1)}.log").exists())
        with store_write(path):
            path.touch()
        return path

    def read_raw(self, name: str) -> Any:  # noqa: ANN401 (JSON)
        """Return the data that `write_raw` stored under this path."""
        path = self.folder / name
        packed = packed_raw(self.folder).get(name)
        try:
            return json.loads(gzip.decompress(path.read_bytes()) if packed is None else packed)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise StoreError(f"{path}: {error}") from error

    def files(self) -> frozenset[str]:
        """Return the paths of all files below the run's folder, except for the reports generated from them."""
        found = (p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file())
        return frozenset(found) - REPORTS

    def raw_names(self) -> frozenset[str]:
        """Return the names of all raw files, packed or not; empty if the run was kept without them."""
        return frozenset(name for name in self.files() if name.startswith("raw/")) | packed_raw(self.folder).keys()

    def write_text(self, name: str, text: str) -> Path:
        """Write a complete file next to the records."""
        path = self.folder / name
        write_atomically(path, text)
        return path

    def _check_appendable(self) -> None:
        if self._records.name != RECORDS:
            raise StoreError(f"{self._records} is compressed; to add to it, first run gunzip {self._records}")


class Store(RunFolder[Run, Record]):
    """The folder of a run of servers or databases."""

    RUN = TypeAdapter[Run](Annotated[Run, BeforeValidator(convert_run)])
    RECORD = TypeAdapter[Record](Annotated[Record, BeforeValidator(convert_record)])


def _replace_link(link: Path, target: str) -> None:
    temporary = link.with_name(link.name + ".new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)
