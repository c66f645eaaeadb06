"""Reads the runs that a ledger is judged by."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zoo.claims import evidence
from zoo.claims.evidence import Archive
from zoo.claims.ledger import LedgerError
from zoo.jdbc.quoted import REFERENCES
from zoo.proved import AA, DESIGNS, SLOWDOWN
from zoo.records import PROTOCOL
from zoo.store import Store, StoreError

LEFT_OUT = {"reference", "proof", *(path.name for path in (AA, SLOWDOWN, DESIGNS, REFERENCES["results"]))}
PROGRAMS = {"jvm": 1, "jdbc": 1}
"""Kinds of runs that are not of servers, and the protocol of each that is understood."""


def folders(root: Path) -> list[Path]:
    """All runs below a folder, each once, whatever links there are to them; committed ones only where they are asked
    for, as they may be another machine's, none that proves the method (short warm-ups, designs that were not chosen),
    and not the committed one of the short database profile, whose JIT compiler was not done."""
    found = (path.parent for path in root.rglob("run.json"))
    return sorted({path.resolve() for path in found if not LEFT_OUT.intersection(path.relative_to(root).parts)})


def read(paths: Iterable[Path], home: Path, reference: str | None) -> tuple[list[Archive], list[str]]:
    """The runs in these folders, newest first, and what was left out; links are given from `home`."""
    archives, left = [], []
    for path in paths:
        try:
            archives.append(_read(path, Path(os.path.relpath(path, home)).as_posix(), reference))
        except (LedgerError, StoreError) as fault:
            left.append(str(fault))
    return sorted(archives, key=lambda archive: archive.started_at, reverse=True), left


def _read(path: Path, link: str, reference: str | None) -> Archive:
    run = _json(path / "run.json")
    kind = run.get("kind", "servers")
    understood = PROGRAMS.get(kind, PROTOCOL)
    if run.get("protocol") != understood:
        raise LedgerError(f"{path.name}: protocol {run.get('protocol')}, and {understood} is what is compared here")
    if kind == "servers":
        store = Store.open(path)
        return evidence.of_servers(store.run(), store.records(), link, reference)
    return evidence.of_programs(run, _lines(path / "records.ndjson"), link)


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LedgerError(f"{path}: {error}") from error
    if not isinstance(data, dict):
        raise LedgerError(f"{path}: expected a run, got {type(data).__name__}")
    return data


def _lines(path: Path) -> list[dict[str, Any]]:
    """Whole lines alone: the last one may have been cut off."""
    try:
        return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]
    except (OSError, ValueError) as error:
        raise LedgerError(f"{path}: {error}") from error
