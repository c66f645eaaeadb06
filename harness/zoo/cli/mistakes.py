"""Prints a user's mistake in plain words, without a stack trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from zoo.cli import checkout, screen
from zoo.model.errors import UserError


@contextmanager
def plainly() -> Iterator[None]:
    """A context in which a mistake ends the command with exit code 2, also that it is given in another checkout."""
    try:
        checkout.check_place()
        yield
    except UserError as mistake:
        screen.make(stderr=True).print(f"zoo: {mistake}", markup=False, highlight=False)
        raise typer.Exit(2) from None
