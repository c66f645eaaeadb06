"""Generates what documents quote of the reference runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from zoo.catalog.load import load_catalog
from zoo.cli import checkout
from zoo.reference.documents import refresh


def command(
    check: Annotated[bool, typer.Option("--check", help="only say whether they are up to date")] = False,
) -> None:
    """Generate what documents quote of the reference runs (tables, charts, reports) and the schema of records."""
    stale = refresh(checkout.ROOT, load_catalog(checkout.ROOT), write=not check)
    for path in stale:
        print(f"{'stale' if check else 'wrote'}: {path.relative_to(checkout.ROOT)}")
    if stale and check:
        print("run: .venv/bin/zoo docs", file=sys.stderr)
        raise typer.Exit(1)
