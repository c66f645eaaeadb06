"""A report as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.report.section import Section, Table


def render(sections: Sequence[Section]) -> str:
    """The first section's heading is the title."""
    parts: list[str] = []
    for depth, section in enumerate(sections):
        parts += [f"{'#' if depth == 0 else '##'} {section.heading}", *body(section)]
    return "\n\n".join(parts) + "\n"


def body(section: Section) -> list[str]:
    """What stands below its heading, by paragraph."""
    parts = list(section.paragraphs)
    for table in section.tables:
        if table.title:
            parts.append(f"**{table.title}**")
        parts.append(render_table(table))
    if section.bullets:
        parts.append("\n".join(f"- {bullet}" for bullet in section.bullets))
    return parts


def render_table(table: Table) -> str:
    """A pipe table; words stand left, figures right."""
    rule = [":--"] * table.text + ["--:"] * (len(table.columns) - table.text)
    return "\n".join("| " + " | ".join(_cell(c) for c in row) + " |" for row in [table.columns, rule, *table.rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
