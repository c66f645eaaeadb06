"""How often each verdict was given, as a picture of one line for a README. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from zoo.claims.estimates import Estimate
from zoo.claims.evidence import Archive
from zoo.claims.ledger import Article, Claim, CountRule, DifferenceRule, Judged, Ledger, RecordedRule, SpreadRule
from zoo.claims.verdicts import ClaimVerdict, ClaimWord, Judgement, RuleVerdict
from zoo.report import ledger_text as claims
from zoo.report.page.html import ENVIRONMENT, policy

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


MARGIN = 0.06
"""Of the line, left free at both ends."""


@dataclass(frozen=True)
class Strip:
    """In per cent of the width; an end that is open runs to the edge."""

    value: float
    low: float
    high: float
    band_low: float
    band_high: float
    one: float | None


def strips(rule: Judged, found: Sequence[Estimate]) -> list[Strip | None]:
    """One for each estimate that has a figure, all on the same axis."""
    plain = isinstance(rule, DifferenceRule | SpreadRule) or any(seen.value <= 0 for seen in found if not seen.why)
    known = [rule.at_least, rule.at_most, *(end for seen in found for end in (seen.value, seen.low, seen.high))]
    marks = [end for end in known if end is not None and math.isfinite(end) and (plain or end > 0)]
    ratio = any(seen.unit == "×" for seen in found) and not isinstance(rule, SpreadRule)
    if ratio:
        marks.append(1.0)
    axis = _Axis(min(marks), max(marks), plain)
    return [None if seen.why else _strip(rule, seen, axis, ratio=ratio) for seen in found]


@dataclass(frozen=True)
class _Axis:
    least: float
    most: float
    plain: bool

    def at(self, value: float | None, edge: float) -> float:
        """`edge` where there is no such end."""
        if value is None or math.isinf(value) or (value <= 0 and not self.plain):
            return edge
        low, high, here = (x if self.plain else math.log(x) for x in (self.least, self.most, value))
        share = (here - low) / (high - low) if high > low else 0.5
        return round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2)


def _strip(rule: Judged, seen: Estimate, axis: _Axis, *, ratio: bool) -> Strip:
    here = axis.at(seen.value, 50)
    return Strip(
        value=here,
        low=here if seen.low is None else axis.at(seen.low, 0),
        high=here if seen.high is None else axis.at(seen.high, 100),
        band_low=axis.at(rule.at_least, 0),
        band_high=axis.at(rule.at_most, 100),
        one=axis.at(1.0, 50) if ratio else None,
    )


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


@dataclass(frozen=True)
class LedgerFigure:
    """One estimate of a part, and its place on a line."""

    label: str
    text: str
    rounds: int
    said: Judgement
    strip: Strip | None
    records: list[tuple[Archive, tuple[int, ...]]]


@dataclass(frozen=True)
class LedgerSource:
    """A part as it is shown."""

    asked: str
    word: ClaimWord
    why: str | None
    notes: list[str]
    figures: list[LedgerFigure]


@dataclass(frozen=True)
class LedgerRow:
    """A claim as it is shown."""

    claim: Claim
    article: Article
    word: ClaimWord
    side: str
    size: str
    older: bool
    published: str
    accepted: str
    measured: str
    why: str | None
    parts: str | None
    differences: str
    evidence: list[LedgerSource]
    archives: list[Archive]


def page(ledger: Ledger, verdicts: Sequence[ClaimVerdict]) -> str:
    """The whole page."""
    counted = claims.Counted.of(verdicts)
    script = ENVIRONMENT.get_template("ledger.js").render()
    head = claims.sections(ledger, verdicts)[0]
    return ENVIRONMENT.get_template("ledger.html").render(
        head=head.paragraphs,
        rows=[_row(ledger.articles[verdict.claim.article], verdict) for verdict in verdicts],
        articles=[a for a in ledger.articles.values() if any(v.claim.article == a.key for v in verdicts)],
        origin=claims.origin,
        words=list(counted.words),
        sides=SIDES,
        badge=Markup(badge(counted.words)),
        script=Markup(script),
        policy=policy(script),
    )


def _row(article: Article, verdict: ClaimVerdict) -> LedgerRow:
    return LedgerRow(
        claim=verdict.claim,
        article=article,
        word=verdict.word,
        side=SIDES[verdict.word],
        size=claims.size(verdict.judgement),
        older=claims.older(verdict),
        published=claims.published(verdict.claim),
        accepted=claims.accepted(verdict.claim),
        measured=claims.measured(verdict),
        why=claims.why(verdict),
        parts=claims.parts(verdict),
        differences=claims.differences(article, verdict.archives),
        evidence=[_evidence(part) for part in verdict.parts],
        archives=verdict.archives,
    )


def _evidence(part: RuleVerdict) -> LedgerSource:
    rule, found = part.rule, [estimate for estimate, _ in part.found]
    drawn: list[Strip | None] = [None] * len(found)
    if not isinstance(rule, CountRule | RecordedRule):
        drawn = strips(rule, found)
    figures = [
        LedgerFigure(seen.label, claims.value(rule, seen), seen.n or len(seen.counts), said, strip, _records(seen))
        for (seen, said), strip in zip(part.found, drawn, strict=True)
    ]
    return LedgerSource(claims.asked(rule), part.judgement.word, part.judgement.why, claims.notes(part), figures)


def _records(seen: Estimate) -> list[tuple[Archive, tuple[int, ...]]]:
    """The lines of each run's records that a figure was made of."""
    lines: dict[Archive, set[int]] = {}
    for one in (part for whole in seen.series for part in whole.sources):
        lines.setdefault(one.archive, set()).update(one.lines)
    return [(archive, tuple(sorted(numbers))) for archive, numbers in lines.items()]
