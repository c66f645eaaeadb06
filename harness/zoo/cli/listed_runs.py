"""Carries out the commands of the table of committed runs, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from zoo.cli import checkout, child_process
from zoo.cli.screen import console
from zoo.reference.rerun import Chosen
from zoo.report.formatting import format_duration


def measure(chosen: Sequence[Chosen], number: int, into: Path) -> int:
    """Carry out one of the chosen commands; return its exit code. Ctrl-C ends the whole command."""
    run = chosen[number][0]
    left = format_duration(sum(each.seconds for _, each in chosen[number:]))
    console.print(f"\n{number + 1} of {len(chosen)}, about {left} left: {run.name}", highlight=False)
    code = child_process.run([*run.words, "--results", str(into)], run.env, checkout.ROOT)
    if code == child_process.INTERRUPTED:
        raise typer.Exit(code)
    return code
