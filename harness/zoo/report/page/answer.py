"""The answer for one server as a page that needs no network, as a badge and as a picture. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from markupsafe import Markup

from zoo.report.answer import NOT_MEASURED, Answer, Line, format_levels
from zoo.report.page import badge
from zoo.report.page.html import ENVIRONMENT, security_policy
from zoo.report.wording import format_signed


def render_page(answer: Answer) -> str:
    """Render the page, which needs no script."""
    return ENVIRONMENT.get_template("answer.html").render(
        answer=answer, picture=Markup(render_picture(answer)), policy=security_policy()
    )


ADVICE, COST, UNKNOWN = "#0b5cad", "#6b5b00", "#5f6770"
"""Colours of a badge; white text has a contrast of over 4.5:1 on all of them."""


def render_badge(answer: Answer) -> str:
    """Render the badge: what to do if requests wait, and the cost if nothing waits."""
    waiting, cost = answer.block("waiting").verdict, answer.block("cost").verdict
    cells = [
        (f"{answer.server}: {answer.other_name}?", badge.LABEL_COLOUR),
        (f"requests wait: {waiting}", UNKNOWN if waiting == NOT_MEASURED else ADVICE),
        (f"nothing waits: {cost}", UNKNOWN if cost == NOT_MEASURED else COST),
    ]
    return badge.render(", ".join(text for text, _ in cells), cells)


# --- the picture: the ratio of CPU time and throughput with their intervals

WIDTH, LEFT, RIGHT, ROW, TOP = 380, 8, 372, 42, 64
LEAST_SPAN, MOST_SPAN = 1.25, 3.0
"""The ratio at the right end of the axis, which is logarithmic: at least so that a small difference looks small."""

DRAWN = ("CPU", "Requests")
"""The first words of the lines that the picture shows."""

ROW_SHAPE = Markup(
    '<text x="8" y="{y}">{text}</text><path class="rule" d="M{one} {top}v16"/>{bar}<circle cx="{x}" cy="{at}" r="4.5"/>'
)
BAR = Markup('<path d="M{low} {at}H{high}"/>')
STYLE = Markup(
    "<style>.paper{fill:#fff}text{font:12px system-ui,sans-serif;fill:#1c2126}.title{font-weight:600;font-size:14px}"
    ".soft{fill:#5a636d}path{stroke:#0072b2;stroke-width:2}circle{fill:#0072b2}.rule{stroke:#888}"
    "@media screen and (prefers-color-scheme:dark){.paper{fill:#14171a}text{fill:#e4e8ec}.soft{fill:#a3adb7}"
    "path{stroke:#4aa3df}circle{fill:#4aa3df}.rule{stroke:#8a939c}}</style>"
)
PICTURE = Markup(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}">'
    '<title>{title}</title>{style}<rect class="paper" width="100%" height="100%"/>'
    '<text class="title" x="8" y="20">{heading}</text><text class="soft" x="8" y="38">{axis}</text>{rows}</svg>\n'
)


def render_picture(answer: Answer) -> str:
    """Render the cost as SVG, 380 units wide so that it is readable on a phone, in light and dark."""
    lines = [line for line in answer.block("cost").lines if line.ratio and line.subject.startswith(DRAWN)]
    span = _span(lines)

    def place(ratio: float) -> float:
        share = min(1.0, max(0.0, (math.log(ratio) / math.log(span) + 1) / 2))
        return round(LEFT + share * (RIGHT - LEFT), 1)

    rows = Markup("")
    for number, line in enumerate(lines):
        ratio, y = line.ratio, TOP + ROW * number
        assert ratio is not None
        known = ratio.low is not None and ratio.high is not None
        bar = BAR.format(low=place(ratio.low or 1), high=place(ratio.high or 1), at=y + 13) if known else Markup("")
        rows += ROW_SHAPE.format(
            y=y, text=_label(line), one=place(1), top=y + 5, bar=bar, x=place(ratio.value), at=y + 13
        )
    heading = f"{answer.server}: {answer.other_name} vs. the pool"
    told = "; ".join(f"{line.subject}: {line.text}" for line in lines) or NOT_MEASURED
    ends = f"from {format_signed(1 / span)} to {format_signed(span)}, 95% intervals"
    return str(
        PICTURE.format(
            width=WIDTH,
            height=TOP + ROW * len(lines) - 12,
            title=f"{heading}, if nothing waits: {told}",
            heading=heading,
            axis=f"if nothing waits, {ends}" if lines else f"if nothing waits: {NOT_MEASURED}",
            style=STYLE,
            rows=rows,
        )
    )


def _span(lines: Sequence[Line]) -> float:
    """Return the ratio at the right end of the axis: all intervals fit, except very wide ones."""
    ends = [end for line in lines if line.ratio for end in (line.ratio.low, line.ratio.high, line.ratio.value) if end]
    return min(MOST_SPAN, max([LEAST_SPAN, *(max(end, 1 / end) for end in ends)]))


def _label(line: Line) -> str:
    """Return the subject with the figures of both sides, short enough for one line."""
    levels = format_levels(line.pool, line.other) or line.verdict
    return f"{line.subject.replace('Requests per second', 'Requests').replace(' connections', '')}: {levels}"
