"""The checkout that the commands work in, its servers, and its lock, which allows only one run at a time."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import zoo
from zoo.cli.display import console, display
from zoo.core.errors import BenchError
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.core.run_folder import check_writable
from zoo.host import run_lock
from zoo.host.engine import Engine
from zoo.host.environment import describe_disturbing
from zoo.host.run_metadata import revision
from zoo.runtime import orphans

ROOT = zoo.ROOT


def check_place() -> None:
    """Raise `BenchError` in a checkout other than this harness's own.

    Otherwise the harness would measure its own servers, not those of the checkout that the user is in.
    """
    with suppress(FileNotFoundError):  # the working folder may have been removed
        folder = Path.cwd()
        other = next((at for at in (folder, *folder.parents) if (at / "harness/zoo/__init__.py").is_file()), None)
        if other and not other.samefile(zoo.ROOT):
            raise BenchError(f"this command belongs to {zoo.ROOT}, not to {other}; there, run ./zoo")


def catalog() -> Catalog:
    """Return the servers of the zoo and those in the folder that ZOO names."""
    folder = os.environ.get("ZOO")
    return load_catalog(ROOT, Path(folder) if folder else None)


def format_path(path: Path) -> str:
    """Return the path as a user would type it at the root of the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def warn_of_environment(reaching: Iterable[str] = ()) -> None:
    """Print the variables of the caller's shell that could disturb a server but are not passed on.

    The variables in `reaching` are passed on.
    """
    line = describe_disturbing(os.environ, reaching)
    if line:
        display.line(line)


def acquire_run_lock(runs: Path) -> None:
    """Acquire the lock of the checkout.

    Raise `StoreError` if no run can be written below `runs`, and `BenchError` while another run is being measured.
    Print what a killed run left behind, and why the commit is unknown if it is.
    """
    check_writable(runs)
    if stopped := [*run_lock.acquire_run_lock(ROOT), *orphans.remove_leftovers(Engine())]:
        console.print(f"stopped what a killed run had left running: {', '.join(stopped)}")
    found = revision(ROOT)
    if found.commit is None:
        display.line(f"the run is stored without a commit: {found.unknown}")
