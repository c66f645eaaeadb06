"""Runs commands of `zoo` as child processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from zoo import COMMAND
from zoo.cli import checkout
from zoo.cli.screen import console
from zoo.host.interrupts import interruptible
from zoo.reference.rerun import Chosen
from zoo.report.formatting import format_duration

INTERRUPTED = 130


def run(words: Sequence[str], env: Mapping[str, str], root: Path) -> int:
    """Its exit code. Ctrl-C and SIGTERM end it, and are waited for: it has servers of its own to stop.

    It has a process group of its own, so that Ctrl-C in a terminal reaches it once and through this process alone.
    """
    command = [*COMMAND, *words]
    child = subprocess.Popen(command, cwd=root, env={**os.environ, **env}, stdin=subprocess.DEVNULL, process_group=0)
    with interruptible():
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.terminate()
            child.wait()
            return INTERRUPTED


def run_or_exit(words: Sequence[str], results: Path, env: Mapping[str, str]) -> int:
    """Return the exit code of a command that writes below `results`; Ctrl-C ends this process too."""
    code = run([*words, "--results", str(results)], env, checkout.ROOT)
    if code == INTERRUPTED:
        raise typer.Exit(code)
    return code


def run_listed(chosen: Sequence[Chosen], number: int, results: Path) -> int:
    """Run one of the chosen commands of the table of committed runs; return its exit code."""
    run_of_table = chosen[number][0]
    left = format_duration(sum(each.seconds for _, each in chosen[number:]))
    console.print(f"\n{number + 1} of {len(chosen)}, about {left} left: {run_of_table.name}", highlight=False)
    return run_or_exit(run_of_table.words, results, run_of_table.env)
