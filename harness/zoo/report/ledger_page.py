"""The ledger as one HTML page that needs no network, with its interval strips and its badge. Pure."""

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
from zoo.report import ledger_text
from zoo.report.page import badge
from zoo.report.page.html import ENVIRONMENT, security_policy

SIDES = {
    ClaimWord.HOLDS: "ahead",
    ClaimWord.DOES_NOT: "behind",
    ClaimWord.CONTRADICTED: "behind",
    ClaimWord.NOT_REPRODUCED: "same",
    ClaimWord.OPEN: "open",
    ClaimWord.NOT_MEASURED: "open",
    ClaimWord.RECORDED: "open",
}
"""The style (mark and colour) of each verdict."""


def render_page(ledger: Ledger, verdicts: Sequence[ClaimVerdict]) -> str:
    """Render the page; every claim is a row that opens to show its evidence."""
    counts = ledger_text.count_verdicts(verdicts)
    script = ENVIRONMENT.get_template("ledger.js").render()
    return ENVIRONMENT.get_template("ledger.html").render(
        head=ledger_text.ledger_sections(ledger, verdicts)[0].paragraphs,
        rows=[_claim_data(ledger.articles[verdict.claim.article], verdict) for verdict in verdicts],
        articles=[a for a in ledger.articles.values() if any(v.claim.article == a.key for v in verdicts)],
        origin=ledger_text.describe_origin,
        words=list(counts),
        sides=SIDES,
        badge=Markup(render_badge(counts)),
        script=Markup(script),
        policy=security_policy(script),
    )


def _claim_data(article: Article, verdict: ClaimVerdict) -> dict[str, Any]:
    return {
        "claim": verdict.claim,
        "article": article,
        "word": verdict.word,
        "side": SIDES[verdict.word],
        "size": ledger_text.format_size(verdict.judgement),
        "older": ledger_text.is_of_earlier_build(verdict),
        "published": ledger_text.format_published(verdict.claim),
        "accepted": ledger_text.format_accepted(verdict.claim),
        "measured": ledger_text.format_measured(verdict),
        "reason": ledger_text.explain_verdict(verdict),
        "parts": ledger_text.format_parts(verdict),
        "differences": ledger_text.explain_differences(article, verdict.archives),
        "evidence": [_rule_data(part) for part in verdict.parts],
        "archives": verdict.archives,
    }


def _rule_data(part: RuleVerdict) -> dict[str, Any]:
    rule, estimates = part.rule, [estimate for estimate, _ in part.figures]
    placed = place_strips(rule, estimates) if rule.judged and rule.rule != "count" else [None] * len(estimates)
    return {
        "rule": ledger_text.format_rule(rule),
        "word": part.judgement.word,
        "reason": part.judgement.reason,
        "notes": list(dict.fromkeys(note for estimate in estimates for note in estimate.notes)),
        "figures": [
            {
                "label": estimate.label,
                "text": ledger_text.format_estimate(rule, estimate),
                "rounds": estimate.n or len(estimate.counts),
                "judgement": judgement,
                "strip": strip,
                "records": _record_lines(estimate),
            }
            for (estimate, judgement), strip in zip(part.figures, placed, strict=True)
        ],
    }


def _record_lines(estimate: Estimate) -> list[tuple[Archive, tuple[int, ...]]]:
    """Return, for each run, the line numbers of the records that a figure was computed from."""
    lines: dict[Archive, set[int]] = {}
    for one in (part for whole in estimate.series for part in whole.sources):
        lines.setdefault(one.archive, set()).update(one.lines)
    return [(archive, tuple(sorted(numbers))) for archive, numbers in lines.items()]


# --- strips: intervals drawn on a line, with the band they are judged against

MARGIN = 0.06
"""The share of the line that is left free at each end."""


@dataclass(frozen=True)
class IntervalStrip:
    """Positions on a line, in percent of its width; an open end extends to the edge."""

    value: float
    low: float
    high: float
    band_low: float
    band_high: float
    one: float | None


def place_strips(rule: Rule, estimates: Sequence[Estimate]) -> list[IntervalStrip | None]:
    """Return a strip for each estimate that has a figure, on one common axis: logarithmic if possible."""
    judged = [estimate for estimate in estimates if not estimate.objection]
    linear = rule.rule in ("difference", "spread") or any(estimate.value <= 0 for estimate in judged)
    known = [rule.at_least, rule.at_most, *(end for each in estimates for end in (each.value, each.low, each.high))]
    marks = [end for end in known if end is not None and math.isfinite(end) and (linear or end > 0)]
    ratio = any(estimate.unit == "×" for estimate in estimates) and rule.rule != "spread"
    if ratio:
        marks.append(1.0)
    least, most = min(marks), max(marks)

    def position_of(value: float | None, edge: float) -> float:
        if value is None or math.isinf(value) or (value <= 0 and not linear):
            return edge
        low, high, here = (x if linear else math.log(x) for x in (least, most, value))
        share = (here - low) / (high - low) if high > low else 0.5
        return round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2)

    def strip_of(estimate: Estimate) -> IntervalStrip:
        position = position_of(estimate.value, 50)
        return IntervalStrip(
            value=position,
            low=position if estimate.low is None else position_of(estimate.low, 0),
            high=position if estimate.high is None else position_of(estimate.high, 100),
            band_low=position_of(rule.at_least, 0),
            band_high=position_of(rule.at_most, 100),
            one=position_of(1.0, 50) if ratio else None,
        )

    return [None if estimate.objection else strip_of(estimate) for estimate in estimates]


# --- the badge: a one-line picture for a README that shows how often each verdict was given

LABEL = "published claims, measured"
COLOURS = {
    ClaimWord.HOLDS: "#0b6e4f",
    ClaimWord.CONTRADICTED: "#b34700",
    ClaimWord.NOT_REPRODUCED: "#0b5cad",
    ClaimWord.OPEN: "#6b5b00",
    ClaimWord.NOT_MEASURED: "#5f6770",
    ClaimWord.RECORDED: "#5f6770",
}
"""The colour of each verdict; white text has a contrast of over 4.5:1 on all of them."""


def render_badge(words: Mapping[ClaimWord, int]) -> str:
    """Render the badge as SVG; its title contains the same text."""
    cells = [(LABEL, "#1c2126"), *((word.count_text(count), COLOURS[word]) for word, count in words.items())]
    title = f"{LABEL}: {', '.join(text for text, _ in cells[1:]) or 'none'}"
    return badge.render(title, cells)
