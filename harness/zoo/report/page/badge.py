"""Badges: pictures of one line for a README. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

LABEL_COLOUR = "#1c2126"
"""The colour behind a badge's label; white text has a contrast of over 4.5:1 on it."""

HEIGHT, PADDING, LETTER = 20, 7, 6.6

CELL = Markup(
    '<rect x="{x}" width="{width}" height="{height}" fill="{colour}"/>'
    '<text x="{text_x}" y="14" textLength="{length}">{text}</text>'
)
BADGE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
    'role="img" aria-label="{title}"><title>{title}</title>'
    '<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">{cells}</g></svg>\n'
)


def render(title: str, cells: Iterable[tuple[str, str]]) -> str:
    """Render a badge as SVG from texts with their colours; the title says the same."""
    x, shapes = 0.0, Markup("")
    for text, colour in cells:
        width = round(len(text) * LETTER + 2 * PADDING, 1)
        shapes += CELL.format(
            x=round(x, 1),
            width=width,
            height=HEIGHT,
            colour=colour,
            text_x=round(x + PADDING, 1),
            length=round(width - 2 * PADDING, 1),
            text=text,
        )
        x += width
    return str(BADGE.format(width=round(x, 1), height=HEIGHT, title=title, cells=shapes))
