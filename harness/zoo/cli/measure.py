"""Measures what a begun run lacks: the process that `zoo bench` becomes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from zoo.catalog.manifest import Catalog
from zoo.cli import checkout, report
from zoo.cli.progress import Live
from zoo.cli.screen import console
from zoo.host import network
from zoo.measure.session import carry_out
from zoo.store.run_folder import Store, StoreError


def command(
    folder: Path,
    private: Annotated[bool, typer.Option(help="this process is in a network namespace of its own")],
) -> None:
    """Measure what the run in this folder lacks."""
    if private:
        for name in network.prepare_namespace():
            console.print(f"{name} could not be set in the run's network namespace")
    catalog = checkout.catalog()
    _carry_out(Store.open(folder), catalog)


def _say(text: str) -> None:
    console.print(text, highlight=False)


def _carry_out(store: Store, catalog: Catalog) -> None:
    try:
        records = carry_out(checkout.ROOT, store, catalog, console.status, partial(Live, console), _say)
    except KeyboardInterrupt:
        report.show(store, catalog, quiet=True)
        console.print("\ninterrupted; what is done is kept. Go on with: make bench RESUME=1")
        raise typer.Exit(130) from None
    except StoreError as fault:
        raise StoreError(f"{fault}; what is done is kept. When mended, go on with: make bench RESUME=1") from fault
    report.conclude(store, catalog)
    failed = sum(record.failure is not None for record in records)
    if failed:
        console.print(f"{failed} cell(s) failed; see the report and the logs in {checkout.shown(store.raw)}")
        raise typer.Exit(1)
