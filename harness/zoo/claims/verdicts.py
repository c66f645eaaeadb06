"""The ledger and the runs made here → a verdict for each claim. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from zoo.analysis.metrics import Class
from zoo.claims import estimates
from zoo.claims.estimates import Estimate
from zoo.claims.evidence import Archive
from zoo.claims.judge import Judgement, Word, all_of, best, by_chance, judge, over_cells
from zoo.claims.ledger import Claim
from zoo.claims.points import Point, combinations
from zoo.claims.quantities import QUANTITIES
from zoo.claims.rules import Difference, Gain, Ratio, Recorded, Rule, Spread
from zoo.claims.sources import Evidence


@dataclass(frozen=True)
class Part:
    """What one rule of a claim says, and the figures with a judgement each."""

    rule: Rule
    judgement: Judgement
    found: list[tuple[Estimate, Judgement]]


@dataclass(frozen=True)
class Verdict:
    """What is said of a claim, and why."""

    claim: Claim
    judgement: Judgement
    parts: list[Part] = field(default_factory=list)
    unlike: str | None = None
    """Why a claim that does not hold is not contradicted."""

    @property
    def word(self) -> Word:
        return self.judgement.word

    @property
    def archives(self) -> list[Archive]:
        """The runs behind it."""
        return list(
            dict.fromkeys(
                s.archive for part in self.parts for e, _ in part.found for one in e.series for s in one.sources
            )
        )


def verdicts(claims: Sequence[Claim], evidence: Evidence) -> list[Verdict]:
    """In the order of the claims."""
    return [verdict(claim, replace(evidence, wanted=claim.rounds)) for claim in claims]


def verdict(claim: Claim, evidence: Evidence) -> Verdict:
    """Every part must hold; parts with the same `either` are alternatives."""
    if claim.unmeasured:
        return Verdict(claim, Judgement(Word.NOT_MEASURED, claim.unmeasured))
    parts = [_part(rule, claim, evidence) for rule in claim.rules]
    groups: dict[str, list[Judgement]] = {}
    judged = [part for part in parts if not isinstance(part.rule, Recorded)] or parts
    for number, part in enumerate(judged):
        groups.setdefault(part.rule.either or str(number), []).append(part.judgement)
    found = all_of([best(group) for group in groups.values()])
    if found.word is not Word.DOES_NOT:
        return Verdict(claim, found, parts)
    unlike = _unlike(claim, [part for part in parts if part.judgement.word is Word.DOES_NOT])
    word = Word.NOT_REPRODUCED if unlike else Word.CONTRADICTED
    return Verdict(claim, replace(found, word=word), parts, unlike)


def _unlike(claim: Claim, against: Sequence[Part]) -> str | None:
    """What sets the test apart from the article's; None where it contradicts the article."""
    for part in against:
        kind = QUANTITIES[part.rule.quantity].kind
        shared = any(not s.archive.machine.apart for estimate, _ in part.found for s in estimate.series)
        if kind in (Class.LOAD, Class.LATENCY) and shared:
            return "the generator has the server's cores, and the figure depends on it"
    return None if claim.like else "machine and versions are others than the article's"


def _part(rule: Rule, claim: Claim, evidence: Evidence) -> Part:
    chosen = list(combinations(rule, [claim.cells[name] for name in rule.names], evidence.cores))
    if not chosen:
        cores = f"{evidence.cores:g} cores" if evidence.cores else "no run"
        return Part(rule, Judgement(Word.NOT_MEASURED, f"no tier is large enough for this host ({cores})"), [])
    figures = _estimates(rule, chosen, evidence)
    words = by_chance(rule, [(one, judge(rule, one)) for one in figures])
    return Part(rule, over_cells(rule, words), list(zip(figures, words, strict=True)))


def _estimates(rule: Rule, chosen: list[tuple[Point, ...]], evidence: Evidence) -> list[Estimate]:
    """One for each combination of cells, or one over all of them."""
    match rule:
        case Spread():
            return [estimates.spread(evidence, chosen, rule.quantity)]
        case Ratio(together=True):
            return [estimates.mean_ratio(evidence, chosen, rule.quantity)]
        case Ratio():
            return [estimates.ratio(evidence, pair, rule.quantity) for pair in chosen]
        case Difference():
            return [estimates.difference(evidence, pair, rule.quantity) for pair in chosen]
        case Gain():
            return [estimates.gain(evidence, four, rule.quantity) for four in chosen]
        case _:
            return [estimates.figure(evidence, one[0], rule.quantity) for one in chosen]
