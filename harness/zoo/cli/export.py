"""Prints a run's records for other programs."""

from __future__ import annotations

from typing import Annotated

import typer

from zoo.cli import checkout
from zoo.cli.options import RunFolder
from zoo.jdbc.store import JdbcStore, is_jdbc
from zoo.report.columns import round_figures
from zoo.report.text.records_csv import to_csv
from zoo.store.run_folder import Store


def command(
    run: RunFolder = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="comma-separated values, the only form there is")] = True,
) -> None:
    """Print a run's records as a table for other programs, one line a cell and round.

    Example: zoo export results/latest --csv > run.csv
    """
    folder = run or checkout.ROOT / "results" / "latest"
    if is_jdbc(folder):
        print(to_csv(JdbcStore.open(folder).records()), end="")
    else:
        records = Store.open(folder).records()
        print(to_csv(records, round_figures(records)), end="")
