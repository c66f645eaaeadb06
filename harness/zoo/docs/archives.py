"""Reads the runs that a ledger is judged by."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from zoo import ROOT
from zoo.catalog.build import program_hash
from zoo.catalog.manifest import Catalog
from zoo.claims import evidence
from zoo.claims.evidence import Archive
from zoo.claims.ledger import LedgerError
from zoo.docs.origin import older_builds
from zoo.model.data import NewerProtocol, check_protocol
from zoo.model.record import PROTOCOL
from zoo.store import kept
from zoo.store.run_folder import Store
from zoo.store.writing import StoreError

UNDERSTOOD = {"servers": {2, 3, 4, PROTOCOL}, "jvm": {1, 2}, "jdbc": {1, 2}}
"""Kinds of runs, and their protocols. A ratio's two sides are of one protocol; which one, does not matter to it."""
PROGRAM_OF = {"jvm": "java-hello", "jdbc": "java-jdbc"}
"""Which program a kind of run measures."""


def read(runs: Mapping[str, Path], home: Path, catalog: Catalog) -> tuple[dict[str, Archive], list[str]]:
    """The runs in these folders, by name, and what was left out; links are given from `home`."""
    archives: dict[str, Archive] = {}
    left: list[str] = []
    for name, path in runs.items():
        try:
            run = _json(path / "run.json")
            _check_protocol(run, run)
            found = _read(path, run, Path(os.path.relpath(path, home)).as_posix(), catalog)
            archives[name] = replace(found, records=kept.records_file(path).name)
        except NewerProtocol as fault:
            left.append(f"{path.name}: {fault}")
        except (LedgerError, StoreError) as fault:
            left.append(str(fault))
    return archives, left


def _read(path: Path, run: dict[str, Any], link: str, catalog: Catalog) -> Archive:
    kind = run.get("kind", "servers")
    understood = UNDERSTOOD.get(kind, set())
    if run.get("protocol") not in understood:
        known = " or ".join(map(str, sorted(understood))) or "none of this kind"
        raise LedgerError(f"{path.name}: protocol {run.get('protocol')}, and {known} is what is compared here")
    if kind == "servers":
        store = Store.open(path)
        measured = store.run()
        found = evidence.of_servers(measured, store.records(), link, catalog.reference_id)
        return replace(found, older=frozenset(older_builds(measured, catalog)))
    lines = _lines(kept.records_file(path))
    for line in lines:
        _check_protocol(run, line)
    programs = evidence.of_programs(run, lines, link)
    name = PROGRAM_OF[kind]
    same = run.get("builds", {}).get(name) == program_hash(ROOT, name)
    return replace(programs, program=name, older=frozenset() if same else frozenset({name}))


def _check_protocol(run: dict[str, Any], data: dict[str, Any]) -> None:
    """`NewerProtocol` when the run, or a line of it, is newer than this harness."""
    if known := UNDERSTOOD.get(run.get("kind", "servers")):
        check_protocol(data.get("protocol"), max(known))


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LedgerError(f"{path}: {error}") from error
    if not isinstance(data, dict):
        raise LedgerError(f"{path}: expected a run, got {type(data).__name__}")
    return data


def _lines(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in kept.read_lines(path)]
    except (OSError, ValueError) as error:
        raise LedgerError(f"{path}: {error}") from error
