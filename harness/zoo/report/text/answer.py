"""The answer for one server as lines of text. Pure."""

from __future__ import annotations

import textwrap

from zoo.report.answer import Answer, AnswerBlock

WIDTH, INDENT = 100, 22
"""Columns of a line, and of the headings on its left."""


def render_lines(answer: Answer) -> list[str]:
    """Return the answer: a title, a paragraph for each block, and how certain it is."""
    lines = [f"{answer.server}: {answer.other_name} or a pool?"]
    for block in answer.blocks:
        lines += _paragraph(SHORT.get(block.name, block.heading), _text(block))
        if block.notes:
            lines += _paragraph("", "After that change:")
            for note in block.notes:
                lines += _paragraph("", f"- {note}")
    lines += _paragraph("Certainty", " ".join([*answer.certainty, *answer.limits[:1]]))
    if answer.command:
        lines += _paragraph("More certain with", answer.command)
    return lines


SHORT = {"memory": "A waiting request", "database": "A database pool"}
"""Headings that are too long for their column, shortened."""


def _text(block: AnswerBlock) -> str:
    """Return the block's summary and where it was measured. The page has the other lines."""
    source = f"({block.source}{f': {block.run}' if block.run else ''})" if block.source else ""
    command = f"Measure it with: {block.command}" if block.command else ""
    return " ".join(filter(None, [block.summary, source, command]))


def _paragraph(heading: str, text: str) -> list[str]:
    """Return a paragraph whose first line starts with the heading."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"  {heading}".ljust(INDENT),
        subsequent_indent=" " * INDENT,
        break_on_hyphens=False,
        break_long_words=False,
    )
