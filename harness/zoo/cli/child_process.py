"""Commands of `zoo` as child processes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import typer

from zoo import COMMAND
from zoo.cli import checkout
from zoo.cli.display import display
from zoo.core.interrupts import interruptible
from zoo.reference.rerun import TimedRun
from zoo.report.formatting import format_duration

INTERRUPTED = 130


def run(words: Sequence[str], env: Mapping[str, str], root: Path) -> int:
    """Run a command of `zoo` and return its exit code.

    Ctrl-C and SIGTERM end the command, and this process waits for it, because it has servers to stop. The command has
    its own process group, so that Ctrl-C in a terminal reaches it only once, through this process.
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
    """Run a command that writes below `results` and return its exit code; Ctrl-C ends this process too."""
    code = run([*words, "--results", str(results)], env, checkout.ROOT)
    if code == INTERRUPTED:
        raise typer.Exit(code)
    return code


def run_listed(chosen: Sequence[TimedRun], number: int, results: Path) -> int:
    """Run the command of one of the chosen committed runs, and return its exit code."""
    run_of_table = chosen[number][0]
    left = format_duration(sum(each.seconds for _, each in chosen[number:]))
    display.line(f"\n{number + 1} of {len(chosen)}, about {left} left: {run_of_table.name}")
    return run_or_exit(run_of_table.words, results, run_of_table.env)
