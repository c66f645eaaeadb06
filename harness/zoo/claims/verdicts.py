"""Judges each claim of the ledger by the runs made here. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from zoo.analysis.metrics import Class
from zoo.claims import estimates
from zoo.claims.estimates import Estimate
from zoo.claims.evidence import Archive
from zoo.claims.judge import ClaimWord, Judgement, all_of, best, by_chance, judge, over_cells
from zoo.claims.ledger import Claim
from zoo.claims.points import ClaimPoint, combinations
from zoo.claims.quantities import QUANTITIES
from zoo.claims.rules import DifferenceRule, GainRule, RatioRule, RecordedRule, Rule, SpreadRule
from zoo.claims.sources import ClaimEvidence


@dataclass(frozen=True)
class RuleVerdict:
    """What one rule of a claim says, and the figures with a judgement each."""

    rule: Rule
    judgement: Judgement
    found: list[tuple[Estimate, Judgement]]


@dataclass(frozen=True)
class ClaimVerdict:
    """What is said of a claim, and why."""

    claim: Claim
    judgement: Judgement
    parts: list[RuleVerdict] = field(default_factory=list)
    unlike: str | None = None
    """Why a claim that does not hold is not contradicted."""

    @property
    def word(self) -> ClaimWord:
        return self.judgement.word

    @property
    def archives(self) -> list[Archive]:
        """The runs behind it."""
        return list(
            dict.fromkeys(
                s.archive for part in self.parts for e, _ in part.found for one in e.series for s in one.sources
            )
        )


def verdicts(claims: Iterable[Claim], runs: Mapping[str, Archive]) -> list[ClaimVerdict]:
    """The verdict on each claim from the runs that it names, as far as they are there."""
    return [verdict(claim, ClaimEvidence([runs[name] for name in claim.runs if name in runs])) for claim in claims]


def verdict(claim: Claim, evidence: ClaimEvidence) -> ClaimVerdict:
    """Every part must hold; parts with the same `either` are alternatives."""
    if claim.unmeasured:
        return ClaimVerdict(claim, Judgement(ClaimWord.NOT_MEASURED, claim.unmeasured))
    parts = [_part(rule, claim, evidence) for rule in claim.rules]
    groups: dict[str, list[Judgement]] = {}
    judged = [part for part in parts if not isinstance(part.rule, RecordedRule)] or parts
    for number, part in enumerate(judged):
        groups.setdefault(part.rule.either or str(number), []).append(part.judgement)
    found = all_of([best(group) for group in groups.values()])
    if found.word is not ClaimWord.DOES_NOT:
        return ClaimVerdict(claim, found, parts)
    unlike = _unlike(claim, [part for part in parts if part.judgement.word is ClaimWord.DOES_NOT])
    word = ClaimWord.NOT_REPRODUCED if unlike else ClaimWord.CONTRADICTED
    return ClaimVerdict(claim, replace(found, word=word), parts, unlike)


def _unlike(claim: Claim, against: Sequence[RuleVerdict]) -> str | None:
    """What sets the test apart from the article's; None where it contradicts the article."""
    for part in against:
        kind = QUANTITIES[part.rule.quantity].kind
        shared = any(not s.archive.machine.apart for estimate, _ in part.found for s in estimate.series)
        if kind in (Class.LOAD, Class.LATENCY) and shared:
            return "the generator has the server's cores, and the figure depends on it"
    return None if claim.like else "machine and versions are others than the article's"


def _part(rule: Rule, claim: Claim, evidence: ClaimEvidence) -> RuleVerdict:
    chosen = list(combinations(rule, [claim.cells[name] for name in rule.names], evidence.cores))
    if not chosen:
        cores = f"{evidence.cores:g} cores" if evidence.cores else "no run"
        return RuleVerdict(
            rule, Judgement(ClaimWord.NOT_MEASURED, f"no tier is large enough for this host ({cores})"), []
        )
    figures = _estimates(rule, chosen, evidence)
    words = by_chance(rule, [(one, judge(rule, one)) for one in figures])
    return RuleVerdict(rule, over_cells(rule, words), list(zip(figures, words, strict=True)))


def _estimates(rule: Rule, chosen: list[tuple[ClaimPoint, ...]], evidence: ClaimEvidence) -> list[Estimate]:
    """One for each combination of cells, or one over all of them."""
    match rule:
        case SpreadRule():
            return [estimates.spread(evidence, chosen, rule.quantity)]
        case RatioRule(together=True):
            return [estimates.mean_ratio(evidence, chosen, rule.quantity)]
        case RatioRule():
            return [estimates.ratio(evidence, pair, rule.quantity) for pair in chosen]
        case DifferenceRule():
            return [estimates.difference(evidence, pair, rule.quantity) for pair in chosen]
        case GainRule():
            return [estimates.gain(evidence, four, rule.quantity) for four in chosen]
        case _:
            return [estimates.figure(evidence, one[0], rule.quantity) for one in chosen]
