"""The ledger as one HTML page that needs no network: every claim a row that opens to its evidence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from zoo.claims.estimates import Estimate
from zoo.claims.evidence import Archive
from zoo.claims.judge import ClaimWord, Judgement
from zoo.claims.ledger import Article, Claim, Ledger
from zoo.claims.rules import CountRule, RecordedRule
from zoo.claims.verdicts import ClaimVerdict, RuleVerdict
from zoo.report.ledger import text as claims
from zoo.report.ledger.badge import badge
from zoo.report.ledger.strips import Strip, strips
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
