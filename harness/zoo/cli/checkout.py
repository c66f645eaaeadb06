"""The checkout that the commands work in, its servers, and its lock: one run at a time is measured."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import zoo
from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.cli.screen import console
from zoo.host import run_lock
from zoo.host.engine import Engine
from zoo.host.environment import left_behind
from zoo.host.run_metadata import revision
from zoo.model.errors import BenchError
from zoo.runtime import orphans
from zoo.store.run_folder import check_writable

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


def warn_of_environment(reaching: Iterable[str] = ()) -> None:
    """Print which disturbing variables of the caller's shell do not reach what is measured; `reaching` do."""
    line = left_behind(os.environ, reaching)
    if line:
        console.print(line, markup=False, highlight=False)


def be_alone(runs: Path) -> None:
    """`StoreError` where no run can be written below `runs`, `BenchError` while another run is being measured.

    Says what a killed run has left, and why the commit is not known where it is not.
    """
    check_writable(runs)
    if left := [*run_lock.acquire_run_lock(ROOT), *orphans.left(Engine())]:
        console.print(f"ended what a killed run had left behind: {', '.join(left)}")
    if unknown := revision(ROOT).unknown:
        console.print(f"the run is stored without a commit: {unknown}", markup=False, highlight=False)
