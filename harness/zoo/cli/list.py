"""The entries of the zoo."""

from __future__ import annotations

from rich.table import Table

from zoo.cli import checkout
from zoo.cli.mistakes import plainly
from zoo.cli.screen import console


@plainly()
def command() -> None:
    """The entries of the zoo."""
    table = Table(header_style="bold")
    for column in ("entry", "model", "port", "what it is"):
        table.add_column(column, no_wrap=column != "what it is")
    for entry in checkout.catalog().entries:
        port = str(entry.server.manifest.port)
        table.add_row(entry.id, entry.variant.model, port, entry.variant.summary)
    console.print(table)
