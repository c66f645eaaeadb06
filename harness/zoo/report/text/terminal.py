"""Output of a report on the terminal."""

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
"""Terminal width from which ranges and intervals fit next to the medians, in columns."""

SPACE = 1

RATIO = re.compile(r"[\d.,]+ \[[\d.,]+, [\d.,]+\]")


def print_sections(sections: Sequence[Section], console: Console) -> None:
    """Print all sections."""
    for section in sections:
        console.print(f"\n[bold]{escape(section.heading)}[/bold]")
        for paragraph in section.paragraphs:
            console.print(escape(paragraph), highlight=False)
        for table in section.tables:
            console.print()
            _print_table(table, console)
        for bullet in section.bullets:
            console.print(f"• {escape(bullet)}", highlight=False)


def _print_table(table: Table, console: Console) -> None:
    """Print a table, or print it row by row if its longest words do not fit, so that no figure is cut off or split."""
    rows = [_format_row(table, row, ranges=console.width >= WIDE) for row in table.rows]
    widths = _fit_widths([list(column) for column in zip(table.columns, *rows, strict=True)], console.width)
    if widths:
        console.print(_build_table(table, rows, widths))
        return
    if table.title:
        console.print(escape(table.title), style="italic", highlight=False)
    for row in rows:
        head, rest = row[: table.text], zip(table.columns[table.text :], row[table.text :], strict=True)
        console.print(escape(", ".join(filter(None, head))), highlight=False)
        if figures := "; ".join(f"{column} {cell}" for column, cell in rest if cell):
            console.print(Padding(escape(figures), (0, 0, 0, 2)), highlight=False)


def _format_row(table: Table, row: list[str], *, ranges: bool) -> list[str]:
    """Return a row, without ranges and intervals if these do not fit; a ratio and its interval stay on one line."""
    texts = row if ranges else [*row[: table.text], *(RANGE.sub("", cell) for cell in row[table.text :])]
    return [RATIO.sub(_keep_together, cell) for cell in texts]


def _fit_widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Return column widths that fit into `room`, or None if a word would have to be split.

    The widest columns become narrower first, and the first column is never wrapped. Rich itself would narrow columns
    below the length of their longest word.
    """
    widths = [max(map(cell_len, column)) for column in columns]
    least = [widths[0], *(max(cell_len(word) for cell in column for word in cell.split(" ")) for column in columns[1:])]
    while sum(widths) + len(widths) * SPACE > room:
        wide = [place for place, width in enumerate(widths) if width > least[place]]
        if not wide:
            return None
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _build_table(table: Table, rows: Sequence[Sequence[str]], widths: Sequence[int]) -> RichTable:
    grid = RichTable(
        title=table.title or None, title_justify="left", header_style="bold", box=None, padding=(0, SPACE, 0, 0)
    )
    for index, (column, width) in enumerate(zip(table.columns, widths, strict=True)):
        grid.add_column(column, justify="left" if index < table.text else "right", no_wrap=index == 0, width=width)
    for row in rows:
        grid.add_row(*map(escape, row))
    return grid


def _keep_together(ratio: re.Match[str]) -> str:
    """Keep a ratio and its interval on one line."""
    return ratio.group().replace(" ", "\u00a0")
