"""Formats what documents quote of a run: a section without its heading, and the line that says where it is from."""

from __future__ import annotations

from zoo.catalog.manifest import Catalog
from zoo.docs.origin import origin
from zoo.reference.committed import Committed
from zoo.report.section import Section
from zoo.report.text.markdown import render_table


def quote(section: Section, source: str) -> str:
    """Render a section without its heading as Markdown."""
    bullets = [f"- {bullet}" for bullet in section.bullets]
    tables = [render_table(table) for table in section.tables]
    return "\n\n".join([*tables, *section.paragraphs, *(["\n".join(bullets)] if bullets else []), source])


def source(committed: Committed, catalog: Catalog) -> str:
    """Render the line that says where figures are from."""
    return f"[Committed run](../{committed.link}): {origin(committed.run, catalog)}."
