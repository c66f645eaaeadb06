"""A report on the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from zoo.report.section import Section, Table

NARROWEST = 124
"""Columns that the widest table needs for its medians."""

WIDE = 160
"""Columns from which on ranges and intervals have room beside the medians."""

RANGES = re.compile(r" \([\d.,]+–[\d.,]+\)| \[[\d.]+, [\d.]+\]")
RATIO = re.compile(r"[\d.]+ \[[\d.]+, [\d.]+\]")


def show(sections: Sequence[Section], console: Console) -> None:
    """Print all sections."""
    for section in sections:
        console.print(f"\n[bold]{escape(section.heading)}[/bold]")
        for paragraph in section.paragraphs:
            console.print(escape(paragraph), highlight=False)
        for table in section.tables:
            console.print()
            _show_table(table, console)
        for bullet in section.bullets:
            console.print(f"• {escape(bullet)}", highlight=False)


def _show_table(table: Table, console: Console) -> None:
    """Wider than a narrow terminal rather than with figures cut off."""
    width = console.width
    console.width = max(width, NARROWEST)
    try:
        console.print(_drawn(table, ranges=width >= WIDE))
    finally:
        console.width = width


def _drawn(table: Table, *, ranges: bool) -> RichTable:
    drawn = RichTable(title=table.title, title_justify="left", header_style="bold", box=None, padding=(0, 1, 0, 0))
    for index, column in enumerate(table.columns):
        drawn.add_column(column, justify="left" if index < table.text else "right", no_wrap=index == 0)
    for row in table.rows:
        cells = row if ranges else [*row[: table.text], *(RANGES.sub("", cell) for cell in row[table.text :])]
        drawn.add_row(*(escape(RATIO.sub(_unbroken, cell)) for cell in cells))
    return drawn


def _unbroken(ratio: re.Match[str]) -> str:
    """A ratio and its interval stay on one line."""
    return ratio.group().replace(" ", "\u00a0")
