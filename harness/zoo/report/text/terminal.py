"""A report on the terminal."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as RichTable

from zoo.report.formatting import RANGE
from zoo.report.section import Section, Table

WIDE = 160
"""Columns from which on ranges and intervals have room beside the medians."""

SPACE = 1

RATIO = re.compile(r"[\d.,]+ \[[\d.,]+, [\d.,]+\]")


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
    """As a table where its longest words have room, otherwise row by row, so that no figure is cut off or broken."""
    rows = [_cells(table, row, ranges=console.width >= WIDE) for row in table.rows]
    widths = _widths([list(column) for column in zip(table.columns, *rows, strict=True)], console.width)
    if widths:
        console.print(_drawn(table, rows, widths))
        return
    if table.title:
        console.print(escape(table.title), style="italic", highlight=False)
    for row in rows:
        head, rest = row[: table.text], zip(table.columns[table.text :], row[table.text :], strict=True)
        console.print(escape(", ".join(filter(None, head))), highlight=False)
        if figures := "; ".join(f"{column} {cell}" for column, cell in rest if cell):
            console.print(Padding(escape(figures), (0, 0, 0, 2)), highlight=False)


def _cells(table: Table, row: list[str], *, ranges: bool) -> list[str]:
    """A row without ranges and intervals where these have no room; a ratio and its interval stay on one line."""
    shown = row if ranges else [*row[: table.text], *(RANGE.sub("", cell) for cell in row[table.text :])]
    return [RATIO.sub(_unbroken, cell) for cell in shown]


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """The widths of columns that fit into `room`, the widest made narrower first; None where a word would be broken.

    Rich narrows columns below their longest word. The first column is never broken.
    """
    widths = [max(map(cell_len, column)) for column in columns]
    least = [widths[0], *(max(cell_len(word) for cell in column for word in cell.split(" ")) for column in columns[1:])]
    while sum(widths) + len(widths) * SPACE > room:
        wide = [place for place, width in enumerate(widths) if width > least[place]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _drawn(table: Table, rows: Sequence[Sequence[str]], widths: Sequence[int]) -> RichTable:
    drawn = RichTable(
        title=table.title or None, title_justify="left", header_style="bold", box=None, padding=(0, SPACE, 0, 0)
    )
    for index, (column, width) in enumerate(zip(table.columns, widths, strict=True)):
        drawn.add_column(column, justify="left" if index < table.text else "right", no_wrap=index == 0, width=width)
    for row in rows:
        drawn.add_row(*map(escape, row))
    return drawn


def _unbroken(ratio: re.Match[str]) -> str:
    """A ratio and its interval stay on one line."""
    return ratio.group().replace(" ", "\u00a0")
