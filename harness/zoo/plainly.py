"""A user's mistake is told in plain words, without a stack trace."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def plainly(faults: tuple[type[Exception], ...]) -> Iterator[None]:
    """A context in which a fault of these kinds ends the command with exit code 2."""
    try:
        yield
    except faults as fault:
        print(f"zoo: {fault}", file=sys.stderr)
        raise typer.Exit(2) from None
