"""The checkout that the commands work in, and its servers."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import zoo
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.model.errors import BenchError

ROOT = zoo.ROOT


def check_place() -> None:
    """`BenchError` in another checkout than that of this harness, which would measure its own servers."""
    with suppress(FileNotFoundError):  # a working folder that was removed
        here = Path.cwd()
        other = next((at for at in (here, *here.parents) if (at / "harness/zoo/__init__.py").is_file()), None)
        if other and not other.samefile(zoo.ROOT):
            raise BenchError(f"this is the harness of {zoo.ROOT}; in {other} run: make setup && .venv/bin/zoo")


def catalog() -> Catalog:
    """The zoo, and what ZOO names beside it."""
    beside = os.environ.get("ZOO")
    return load_catalog(ROOT, Path(beside) if beside else None)


def shown(path: Path) -> str:
    """The path as a person would type it in the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
