"""A run's folder: `run.json`, `records.ndjson` (flushed after each cell), `raw/` and the reports.

Runs that are kept in git have fewer and smaller files, with every record in them. To make one:
`python -m zoo.store.run_folder results/RUN results/reference/NAME`; `--raw` keeps its histograms and samples too.
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
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from zoo.host.interrupts import defer_signals
from zoo.model.data import Data, NewerProtocol
from zoo.model.errors import UserError
from zoo.model.record import Record
from zoo.model.run import Run, RunFacts


class StoreError(UserError):
    """A run that cannot be read or written; the message names the file, and the line where there is one."""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What is written is written to its end, also when the run is told to stop meanwhile; `StoreError` if it fails."""
    try:
        with defer_signals():
            yield
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error


def check_writable(folder: Path) -> None:
    """Create the folder if it is missing, and a file in it for a moment; `StoreError` where that fails."""
    with writing(folder):
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
        tempfile.TemporaryFile(dir=folder).close()


def write_whole(path: Path, text: str) -> None:
    """Replace a file at one stroke: whoever reads it, after a crash too, finds the old text or the new."""
    temporary = path.with_name(path.name + ".new")
    with writing(path):
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)


def write_data(path: Path, data: Data, indent: int = 2) -> None:
    with defer_signals():  # pydantic takes an interrupt for a fault of the data
        write_whole(path, data.model_dump_json(indent=indent) + "\n")


RECORDS = "records.ndjson"
PACKED_RECORDS = "records.ndjson.gz"
PACKED_RAW = "raw.tar.xz"
LARGEST = 20_000
"""Bytes of records that are kept as plain text."""


def records_file(folder: Path) -> Path:
    """Where the records of a run are, packed or not; the plain file where there is neither."""
    plain, packed = folder / RECORDS, folder / PACKED_RECORDS
    return packed if packed.exists() and not plain.exists() else plain


def read_lines(path: Path) -> list[bytes]:
    """The whole lines of a file of records; the last one may have been cut off by a crash."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.name == PACKED_RECORDS else data).split(b"\n")[:-1]


@cache
def packed_raw(folder: Path) -> dict[str, bytes]:
    """JSON by the name of the raw file that it was packed from; empty where nothing was packed."""
    path = folder / PACKED_RAW
    if not path.exists():
        return {}
    with tarfile.open(path) as archive:
        members = ((member.name, archive.extractfile(member)) for member in archive)
        return {f"{name}.gz": file.read() for name, file in members if file}


def keep(source: Path, target: Path, *, raw: bool = False) -> None:
    """Copy what is kept of a run: `run.json`, its records, and of `raw/` at most histograms and samples.

    A run that is already there is replaced as a whole, once the copy is complete.
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
    """One archive of what charts are drawn from: files of like content pack far better together."""
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for kind in ("histogram", "samples"):
            for path in sorted(raw.glob(f"*-{kind}.json.gz")):
                text = gzip.decompress(path.read_bytes())
                member = tarfile.TarInfo(f"raw/{path.name.removesuffix('.gz')}")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))


def main() -> None:
    """Two folders are the arguments, and `--raw`."""
    raw = "--raw" in sys.argv
    source, target = (Path(word) for word in sys.argv[1:] if word != "--raw")
    keep(source, target, raw=raw)


if __name__ == "__main__":
    main()


REPORTS = frozenset({"report.md", "report.html"})


def kind_of(folder: Path) -> str | None:
    """What the run there says it is of; None where it says nothing: a run of servers, or none that can be read."""
    try:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return run.get("kind") if isinstance(run, dict) else None


RunT = TypeVar("RunT", bound=RunFacts)
RecordT = TypeVar("RecordT", bound=BaseModel)


class RunFolder(Generic[RunT, RecordT]):
    """Reads and writes one run's folder; a subclass says what form its run and its records have."""

    LATEST: ClassVar[str] = "latest"
    """The link to the newest run of this kind."""

    RUN: TypeAdapter[RunT]
    RECORD: TypeAdapter[RecordT]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.raw = folder / "raw"
        self._records = records_file(folder)

    @classmethod
    def create(cls, results: Path, run: RunT) -> Self:
        """A new folder named after the run, made the `latest`; `StoreError` where it cannot be made."""
        store = cls(results / run.id)
        with writing(store.folder):
            store.raw.mkdir(parents=True)
            store._records.touch()
        store.write_run(run)
        with writing(results / cls.LATEST):
            _point(results / cls.LATEST, run.id)
        return store

    @classmethod
    def open(cls, folder: Path) -> Self:
        """An existing run; `StoreError` when there is none."""
        if not (folder / "run.json").is_file():
            raise StoreError(f"{folder}: no run there (run.json is missing); start one with: make bench-quick")
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
        """Write records in one piece and force them to disk; those of one turn belong together."""
        self._check_plain()
        with writing(self._records), self._records.open("ab") as out:
            out.write("".join(record.model_dump_json(round_trip=True) + "\n" for record in records).encode())
            out.flush()
            os.fsync(out.fileno())

    def records(self) -> list[RecordT]:
        """All records in the order written; a last line cut off by a crash is left out."""
        found: list[RecordT] = []
        for number, line in enumerate(read_lines(self._records), start=1):
            try:
                found.append(self.RECORD.validate_json(line))
            except (ValidationError, NewerProtocol) as error:
                raise StoreError(f"{self._records}:{number}: {error}") from error
        return found

    def mend(self) -> None:
        """Cut off an unfinished last line, so that a resumed run can be appended to."""
        self._check_plain()
        data = self._records.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole != len(data):
            os.truncate(self._records, whole)

    def write_raw(self, name: str, data: object) -> str:
        """Store compressed JSON below `raw/`; gives the path below the run's folder."""
        path = self.raw / f"{name}.json.gz"
        with writing(path), gzip.GzipFile(path, "wb", mtime=0) as out:
            out.write(json.dumps(data, separators=(",", ":")).encode())
        return f"raw/{path.name}"

    def new_log(self, name: str) -> Path:
        """An empty file below `raw/` for what a server says, beside those of its earlier starts."""
        path = next(p for n in itertools.count(1) if not (p := self.raw / f"{name}{f'-{n}' * (n > 1)}.log").exists())
        with writing(path):
            path.touch()
        return path

    def read_raw(self, name: str) -> Any:  # noqa: ANN401 (JSON)
        """What `write_raw` stored under the path it gave."""
        path = self.folder / name
        packed = packed_raw(self.folder).get(name)
        try:
            return json.loads(gzip.decompress(path.read_bytes()) if packed is None else packed)
        except (OSError, EOFError, zlib.error, ValueError) as error:
            raise StoreError(f"{path}: {error}") from error

    def files(self) -> frozenset[str]:
        """Paths of all files below the run's folder but for the reports, which are made of them."""
        found = (p.relative_to(self.folder).as_posix() for p in self.folder.rglob("*") if p.is_file())
        return frozenset(found) - REPORTS

    def raw_names(self) -> frozenset[str]:
        """Names of all raw files, packed or not; empty where the run was kept without them."""
        return frozenset(name for name in self.files() if name.startswith("raw/")) | packed_raw(self.folder).keys()

    def write_text(self, name: str, text: str) -> Path:
        """Store a whole file beside the records."""
        path = self.folder / name
        write_whole(path, text)
        return path

    def _check_plain(self) -> None:
        if self._records.name != RECORDS:
            raise StoreError(f"{self._records} is packed; to add to it, first run: gunzip {self._records}")


class Store(RunFolder[Run, Record]):
    """A run of servers."""

    RUN, RECORD = TypeAdapter(Run), TypeAdapter(Record)


def _point(link: Path, target: str) -> None:
    temporary = link.with_name(link.name + ".new")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target)
    temporary.replace(link)
