"""The structure of a report before it is rendered: headings, paragraphs and tables of text."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace

NONE = "–"

SYNTHETIC = "(synthetic)"
"""The mark after an entry that nobody would build like this."""


@dataclass(frozen=True)
class Table:
    """A table of text. The first `text` columns are words, aligned left; the others are figures, aligned right."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    text: int = 1


@dataclass(frozen=True)
class Section:
    """A heading with the paragraphs, tables and bullets below it, and details that a document folds."""

    heading: str
    paragraphs: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    bullets: list[str] = field(default_factory=list)
    details: Section | None = None


def mark_synthetic(text: str, entries: Collection[str]) -> str:
    """Return the text with a mark after each of these entries, and after its condition if one is named."""
    if not entries:
        return text
    names = "|".join(map(re.escape, entries))
    return re.sub(rf"(?<![\w-])(?:{names})(?![a-z0-9])[^\s,;|]*", rf"\g<0> {SYNTHETIC}", text)


def mark_tables(section: Section, entries: Collection[str]) -> Section:
    """Return the section with these entries marked in the words of its tables."""
    marked = [
        replace(
            table,
            rows=[
                [*(mark_synthetic(cell, entries) for cell in row[: table.text]), *row[table.text :]]
                for row in table.rows
            ],
        )
        for table in section.tables
    ]
    return replace(section, tables=marked)
