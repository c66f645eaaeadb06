"""The ledger as one HTML page that needs no network, its strips of intervals, and its badge. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from zoo.claims.estimates import Estimate
from zoo.claims.evidence import Archive
from zoo.claims.ledger import Article, Ledger, Rule
from zoo.claims.verdicts import ClaimVerdict, ClaimWord, RuleVerdict
from zoo.report import ledger_text as told
from zoo.report.page.html import ENVIRONMENT, policy

SIDES = {
    ClaimWord.HOLDS: "ahead",
    ClaimWord.DOES_NOT: "behind",
    ClaimWord.CONTRADICTED: "behind",
    ClaimWord.NOT_REPRODUCED: "same",
    ClaimWord.OPEN: "open",
    ClaimWord.NOT_MEASURED: "open",
    ClaimWord.RECORDED: "open",
}
"""The style of each verdict: mark and colour."""


def page(ledger: Ledger, verdicts: Sequence[ClaimVerdict]) -> str:
    """Render the page: every claim is a row that opens to its evidence."""
    counted = told.count_words(verdicts)
    script = ENVIRONMENT.get_template("ledger.js").render()
    return ENVIRONMENT.get_template("ledger.html").render(
        head=told.sections(ledger, verdicts)[0].paragraphs,
        rows=[_row(ledger.articles[verdict.claim.article], verdict) for verdict in verdicts],
        articles=[a for a in ledger.articles.values() if any(v.claim.article == a.key for v in verdicts)],
        origin=told.origin,
        words=list(counted),
        sides=SIDES,
        badge=Markup(badge(counted)),
        script=Markup(script),
        policy=policy(script),
    )


def _row(article: Article, verdict: ClaimVerdict) -> dict[str, Any]:
    return {
        "claim": verdict.claim,
        "article": article,
        "word": verdict.word,
        "side": SIDES[verdict.word],
        "size": told.size(verdict.judgement),
        "older": told.older(verdict),
        "published": told.published(verdict.claim),
        "accepted": told.accepted(verdict.claim),
        "measured": told.measured(verdict),
        "why": told.why(verdict),
        "parts": told.parts(verdict),
        "differences": told.differences(article, verdict.archives),
        "evidence": [_part(part) for part in verdict.parts],
        "archives": verdict.archives,
    }


def _part(part: RuleVerdict) -> dict[str, Any]:
    rule, found = part.rule, [estimate for estimate, _ in part.found]
    drawn = strips(rule, found) if rule.judged and rule.rule != "count" else [None] * len(found)
    return {
        "asked": told.asked(rule),
        "word": part.judgement.word,
        "why": part.judgement.why,
        "notes": list(dict.fromkeys(note for estimate in found for note in estimate.notes)),
        "figures": [
            {
                "label": seen.label,
                "text": told.value(rule, seen),
                "rounds": seen.n or len(seen.counts),
                "said": said,
                "strip": strip,
                "records": _records(seen),
            }
            for (seen, said), strip in zip(part.found, drawn, strict=True)
        ],
    }


def _records(seen: Estimate) -> list[tuple[Archive, tuple[int, ...]]]:
    """Return the lines of each run's records that a figure was made of."""
    lines: dict[Archive, set[int]] = {}
    for one in (part for whole in seen.series for part in whole.sources):
        lines.setdefault(one.archive, set()).update(one.lines)
    return [(archive, tuple(sorted(numbers))) for archive, numbers in lines.items()]


# --- strips: intervals on a line with the band they are judged by

MARGIN = 0.06
"""The share of the line that is left free at both ends."""


@dataclass(frozen=True)
class Strip:
    """Places in per cent of the width; an end that is open runs to the edge."""

    value: float
    low: float
    high: float
    band_low: float
    band_high: float
    one: float | None


def strips(rule: Rule, found: Sequence[Estimate]) -> list[Strip | None]:
    """Return a strip for each estimate that has a figure, all on the same axis: logarithmic where that is possible."""
    linear = rule.rule in ("difference", "spread") or any(seen.value <= 0 for seen in found if not seen.why)
    known = [rule.at_least, rule.at_most, *(end for seen in found for end in (seen.value, seen.low, seen.high))]
    marks = [end for end in known if end is not None and math.isfinite(end) and (linear or end > 0)]
    ratio = any(seen.unit == "×" for seen in found) and rule.rule != "spread"
    if ratio:
        marks.append(1.0)
    least, most = min(marks), max(marks)

    def at(value: float | None, edge: float) -> float:
        if value is None or math.isinf(value) or (value <= 0 and not linear):
            return edge
        low, high, here = (x if linear else math.log(x) for x in (least, most, value))
        share = (here - low) / (high - low) if high > low else 0.5
        return round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2)

    def strip(seen: Estimate) -> Strip:
        here = at(seen.value, 50)
        return Strip(
            value=here,
            low=here if seen.low is None else at(seen.low, 0),
            high=here if seen.high is None else at(seen.high, 100),
            band_low=at(rule.at_least, 0),
            band_high=at(rule.at_most, 100),
            one=at(1.0, 50) if ratio else None,
        )

    return [None if seen.why else strip(seen) for seen in found]


# --- the badge: how often each verdict was given, as a picture of one line for a README

LABEL = "published claims, measured"
COLOURS = {
    ClaimWord.HOLDS: "#0b6e4f",
    ClaimWord.CONTRADICTED: "#b34700",
    ClaimWord.NOT_REPRODUCED: "#0b5cad",
    ClaimWord.OPEN: "#6b5b00",
    ClaimWord.NOT_MEASURED: "#5f6770",
    ClaimWord.RECORDED: "#5f6770",
}
"""White text has a contrast of over 4.5:1 on each of them."""

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


def badge(words: Mapping[ClaimWord, int]) -> str:
    """Render an SVG whose title says what it shows."""
    cells = [(LABEL, "#1c2126"), *((word.of(count), COLOURS[word]) for word, count in words.items())]
    title = f"{LABEL}: {', '.join(text for text, _ in cells[1:]) or 'none'}"
    left, drawn = 0.0, Markup("")
    for text, colour in cells:
        width = round(len(text) * LETTER + 2 * PADDING, 1)
        drawn += CELL.format(
            x=round(left, 1),
            width=width,
            height=HEIGHT,
            colour=colour,
            text_x=round(left + PADDING, 1),
            length=round(width - 2 * PADDING, 1),
            text=text,
        )
        left += width
    return str(BADGE.format(width=round(left, 1), height=HEIGHT, title=title, cells=drawn))
