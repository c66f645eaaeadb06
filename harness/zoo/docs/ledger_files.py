"""Reads the ledger of published claims from `claims/*.toml`."""

from __future__ import annotations

from pathlib import Path

from zoo.catalog import toml_file
from zoo.claims.ledger import Ledger, LedgerError, LedgerFile


def load(folder: Path) -> Ledger:
    """All files of the folder; a fault is told with file and key."""
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise LedgerError(f"{folder}: no ledger there (*.toml)")
    return Ledger(tuple(load_file(path) for path in paths))


def load_file(path: Path) -> LedgerFile:
    """One file, named after its article's key."""
    file = toml_file.read(path, LedgerFile, LedgerError)
    if file.article.key != path.stem:
        raise LedgerError(f'{path}: article.key: expected the file\'s name "{path.stem}", got "{file.article.key}"')
    return file
