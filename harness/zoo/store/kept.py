"""Runs that are kept in git: fewer and smaller files than a run leaves behind, with every record in them.

`python -m zoo.store.kept results/RUN results/reference/NAME` makes one; `--raw` keeps its histograms and samples too.
"""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import tarfile
from functools import cache
from pathlib import Path

from zoo.host.interrupts import defer_signals

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
