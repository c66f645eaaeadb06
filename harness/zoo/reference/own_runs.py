"""Runs that the commands of the table made on this machine, for claims: results/claims/NAME."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from zoo.reference.rerun import newest
from zoo.reference.runs import CommittedRun

MADE = Path("results/claims")
UNFINISHED = MADE / "unfinished"
"""The folder of a run until it is complete, so that an interrupted one is measured again."""


def folders(runs: Iterable[CommittedRun], root: Path) -> dict[str, Path]:
    """The runs that are there, by name."""
    return {run.name: root / MADE / run.name for run in runs if (root / MADE / run.name / "run.json").exists()}


def begin(run: CommittedRun, root: Path) -> Path:
    """Return the folder in which the command puts its run; what was interrupted there is removed."""
    folder = root / UNFINISHED / run.name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def finish(run: CommittedRun, root: Path) -> None:
    """Keep the run under its name."""
    folder = root / UNFINISHED / run.name
    if made := newest(folder):
        to = root / MADE / run.name
        to.parent.mkdir(parents=True, exist_ok=True)
        made.rename(to)
        shutil.rmtree(folder)
