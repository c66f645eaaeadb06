"""A report as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.report.section import Section, Table


def render(sections: Sequence[Section]) -> str:
    """Render sections as Markdown; the heading of the first section is the title."""
    parts: list[str] = []
    for depth, section in enumerate(sections):
        parts += [f"{'#' if depth == 0 else '##'} {section.heading}", *render_body(section)]
    return "\n\n".join(parts) + "\n"


def render_body(section: Section) -> list[str]:
    """Return the paragraphs, tables and bullets below a section's heading, and then its details, folded."""
    parts = list(section.paragraphs)
    for table in section.tables:
        if table.title:
            parts.append(f"**{table.title}**")
        parts.append(render_table(table))
    if section.bullets:
        parts.append("\n".join(f"- {bullet}" for bullet in section.bullets))
    if section.details:
        parts += [
            f"<details><summary>{section.details.heading}</summary>",
            *render_body(section.details),
            "</details>",
        ]
    return parts


def render_table(table: Table) -> str:
    """Render a pipe table; words are aligned left, figures right."""
    rule = [":--"] * table.text + ["--:"] * (len(table.columns) - table.text)
    return "\n".join(
        "| " + " | ".join(_escape_cell(c) for c in row) + " |" for row in [table.columns, rule, *table.rows]
    )


def _escape_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
