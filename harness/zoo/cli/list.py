"""The entries of the zoo."""

from __future__ import annotations

from zoo.cli import checkout
from zoo.cli.screen import console
from zoo.report.section import Section, Table
from zoo.report.text import terminal


def command() -> None:
    """The entries of the zoo."""
    rows = [
        [entry.id, entry.variant.model, str(entry.server.manifest.port), entry.variant.summary]
        for entry in checkout.catalog().entries
    ]
    columns = ["entry", "model", "port", "what it is"]
    terminal.show([Section("Server variants", tables=[Table("", columns, rows, text=len(columns))])], console)
