"""How often each verdict was given, as a picture of one line for a README. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup, escape

from zoo.claims.judge import ClaimWord

LABEL = "published claims, measured"
COLOURS = {
    ClaimWord.HOLDS: "#0b6e4f",
    ClaimWord.CONTRADICTED: "#b34700",
    ClaimWord.NOT_REPRODUCED: "#0b5cad",
    ClaimWord.OPEN: "#6b5b00",
    ClaimWord.NOT_MEASURED: "#5f6770",
    ClaimWord.RECORDED: "#5f6770",
}
"""White text stands at over 4.5:1 on each of them."""

HEIGHT, PADDING, LETTER = 20, 7, 6.6


def badge(words: Mapping[ClaimWord, int]) -> str:
    """An SVG that says in its title what it shows."""
    cells = [(LABEL, "#1c2126"), *((word.of(count), COLOURS[word]) for word, count in words.items())]
    title = f"{LABEL}: {', '.join(text for text, _ in cells[1:]) or 'none'}"
    left, drawn = 0.0, []
    for text, colour in cells:
        width = round(len(text) * LETTER + 2 * PADDING, 1)
        drawn.append(
            Markup(
                '<rect x="{x}" width="{w}" height="{h}" fill="{c}"/><text x="{t}" y="14" textLength="{l}">{s}</text>'
            ).format(
                x=round(left, 1),
                w=width,
                h=HEIGHT,
                c=colour,
                t=round(left + PADDING, 1),
                l=round(width - 2 * PADDING, 1),
                s=text,
            )
        )
        left += width
    head = Markup(
        '<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
        'role="img" aria-label="{t}">'
    ).format(w=round(left, 1), h=HEIGHT, t=title)
    style = Markup('<g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">')
    return str(
        head
        + Markup("<title>")
        + escape(title)
        + Markup("</title>")
        + style
        + Markup("").join(drawn)
        + Markup("</g></svg>\n")
    )
