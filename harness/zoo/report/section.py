"""The form of a report before it is drawn: headings, paragraphs and tables of text."""

from __future__ import annotations

from dataclasses import dataclass, field

NONE = "–"


@dataclass(frozen=True)
class Table:
    """Cells are text already; the first `text` columns are words and stand left, the others figures and stand right."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    text: int = 1


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    heading: str
    paragraphs: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    bullets: list[str] = field(default_factory=list)
