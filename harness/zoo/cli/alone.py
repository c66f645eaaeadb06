"""Makes sure that one run at a time is measured."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from zoo.cli import checkout
from zoo.cli.screen import console
from zoo.host import run_lock
from zoo.host.engine import Engine
from zoo.host.environment import left_behind
from zoo.host.run_metadata import revision
from zoo.runtime import orphans
from zoo.store.run_folder import check_writable


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
    if left := [*run_lock.acquire_run_lock(checkout.ROOT), *orphans.left(Engine())]:
        console.print(f"ended what a killed run had left behind: {', '.join(left)}")
    if unknown := revision(checkout.ROOT).unknown:
        console.print(f"the run is stored without a commit: {unknown}", markup=False, highlight=False)
