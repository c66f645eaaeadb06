"""Verdicts on claims: an estimate and a band decide about one figure, and the results are combined. Pure.

A word is based on the whole 95% interval, never on the point alone. Each claim is a separate question, named before
anything is measured, so there is no correction for the number of claims. If several cells of a claim contradict it,
only those that remain after Holm's correction count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from zoo.claims.estimates import ClaimEvidence, Estimate, estimate_rule
from zoo.claims.evidence import Archive
from zoo.claims.ledger import Claim, Rule, combinations
from zoo.claims.quantities import QUANTITIES
from zoo.stats import holm
from zoo.stats.metrics import MetricKind
from zoo.stats.verdict import MARGIN, format_missing_rounds


class ClaimWord(StrEnum):
    """The verdict on a claim's direction.

    `DOES_NOT` is the verdict on a part; a claim as a whole gets one of the two after it.
    """

    HOLDS = "holds"
    DOES_NOT = "does not hold"
    CONTRADICTED = "contradicted"
    NOT_REPRODUCED = "not reproduced here"
    OPEN = "not decided"
    NOT_MEASURED = "not measured"
    RECORDED = "recorded"

    @property
    def text(self) -> str:
        return MEANING[self]

    def count_text(self, count: int) -> str:
        """Return a number of verdicts in words: `1 holds`, `12 hold`, `3 not decided`."""
        many = {ClaimWord.HOLDS: "hold", ClaimWord.DOES_NOT: "do not hold"}
        return f"{count} {self.value if count == 1 else many.get(self, self.value)}"


MEANING = {
    ClaimWord.HOLDS: "the whole interval is on the published side, or within the band if only a band was published",
    ClaimWord.DOES_NOT: "the interval excludes the claim",
    ClaimWord.CONTRADICTED: "it does not hold, and the test matches the article's in all essentials",
    ClaimWord.NOT_REPRODUCED: "it does not hold here, but the test differs from the article's; the reason is "
    "given next to it",
    ClaimWord.OPEN: "the interval includes a bound of the claim, or both directions and the published size, or the "
    "difference is within noise",
    ClaimWord.NOT_MEASURED: "no committed run has the cells that the claim needs, or no measurement can decide it",
    ClaimWord.RECORDED: "an absolute figure from another machine, shown but never judged",
}


class Size(StrEnum):
    """The size of the effect compared with the published one, whatever its direction."""

    AS_PUBLISHED = "as published"
    SMALLER = "smaller"
    LARGER = "larger"
    OPEN = "not decided"


NO_DIFFERENCE = {"ratio": 1.0, "gain": 1.0, "difference": 0.0}
"""The figure if nothing differs, by kind of rule."""

WORST_FIRST = (ClaimWord.DOES_NOT, ClaimWord.NOT_MEASURED, ClaimWord.OPEN, ClaimWord.HOLDS, ClaimWord.RECORDED)
LEAST_CERTAIN_FIRST = (Size.OPEN, Size.SMALLER, Size.LARGER, Size.AS_PUBLISHED)


@dataclass(frozen=True)
class Judgement:
    """Direction, size if there is one, and the reason if the figures do not show it.

    `rounds_needed` is the number of rounds that would decide an open question if the figures stay as they are. It is
    None if rounds alone would not decide it.
    """

    word: ClaimWord
    reason: str | None = None
    size: Size | None = None
    rounds_needed: int | None = None


@dataclass(frozen=True)
class RuleVerdict:
    """The verdict on one rule of a claim, and the figures with one judgement each."""

    rule: Rule
    judgement: Judgement
    figures: list[tuple[Estimate, Judgement]]


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim. `test_difference` says why a claim that does not hold is not contradicted."""

    claim: Claim
    judgement: Judgement
    parts: list[RuleVerdict] = field(default_factory=list)
    test_difference: str | None = None

    @property
    def word(self) -> ClaimWord:
        return self.judgement.word

    @property
    def estimates(self) -> list[Estimate]:
        return [estimate for part in self.parts for estimate, _ in part.figures]

    @property
    def archives(self) -> list[Archive]:
        """Return the runs on which the verdict is based."""
        series = (one for estimate in self.estimates for one in estimate.series)
        return list(dict.fromkeys(source.archive for one in series for source in one.sources))

    @property
    def deciding(self) -> list[RuleVerdict]:
        """Return the parts that are judged; all parts if none is."""
        return [part for part in self.parts if part.rule.judged] or self.parts


def judge_each(claims: Iterable[Claim], runs: Mapping[str, Archive]) -> list[ClaimVerdict]:
    """Return the verdict on each claim from those of its runs that exist."""
    return [judge_claim(claim, ClaimEvidence([runs[name] for name in claim.runs if name in runs])) for claim in claims]


def judge_claim(claim: Claim, evidence: ClaimEvidence) -> ClaimVerdict:
    """Judge a claim: every part must hold; parts with the same `either` are alternatives."""
    if claim.unmeasured:
        return ClaimVerdict(claim, Judgement(ClaimWord.NOT_MEASURED, claim.unmeasured))
    judged = ClaimVerdict(
        claim, Judgement(ClaimWord.OPEN), [_judge_rule(rule, claim, evidence) for rule in claim.rules]
    )
    groups: dict[str, list[Judgement]] = {}
    for number, part in enumerate(judged.deciding):
        groups.setdefault(part.rule.either or str(number), []).append(part.judgement)
    combined = combine_parts([combine_alternatives(group) for group in groups.values()])
    if not claim.published:
        combined = replace(combined, size=None)
    if combined.word is not ClaimWord.DOES_NOT:
        return replace(judged, judgement=combined)
    difference = _find_test_difference(
        claim, [part for part in judged.parts if part.judgement.word is ClaimWord.DOES_NOT]
    )
    word = ClaimWord.NOT_REPRODUCED if difference else ClaimWord.CONTRADICTED
    return replace(judged, judgement=replace(combined, word=word), test_difference=difference)


def _find_test_difference(claim: Claim, against: Sequence[RuleVerdict]) -> str | None:
    """Return how the test differs from the article's; None if it contradicts the article."""
    for part in against:
        kind = QUANTITIES[part.rule.quantity].kind
        shared = any(not s.archive.machine.cores_split for estimate, _ in part.figures for s in estimate.series)
        if kind in (MetricKind.LOAD, MetricKind.LATENCY) and shared:
            return "the generator shares the server's cores, and the figure depends on that"
    return None if claim.like else "machine and versions differ from the article's"


def _judge_rule(rule: Rule, claim: Claim, evidence: ClaimEvidence) -> RuleVerdict:
    chosen = list(combinations(rule, [claim.cells[name] for name in rule.names], evidence.cores))
    if not chosen:
        cores = f"{evidence.cores:g} cores" if evidence.cores else "no run"
        reason = f"no connection count is large enough for this host ({cores})"
        return RuleVerdict(rule, Judgement(ClaimWord.NOT_MEASURED, reason), [])
    figures = estimate_rule(rule, chosen, evidence)
    words = correct_for_chance(rule, [(one, judge(rule, one)) for one in figures])
    return RuleVerdict(rule, combine_cells(rule, words), list(zip(figures, words, strict=True)))


# --- one figure


def judge(rule: Rule, estimate: Estimate) -> Judgement:
    """Judge one cell, or one figure over several cells."""
    if estimate.objection:
        return Judgement(ClaimWord.NOT_MEASURED, estimate.objection)
    if not rule.judged:
        return Judgement(ClaimWord.RECORDED)
    if rule.rule == "count":
        return _judge_counts(rule, estimate.counts)
    if estimate.low is None or estimate.high is None:
        too_few = "one round has" if estimate.n < 2 else "so few or such different figures have"
        return _leave_open(rule, f"{too_few} no interval")
    return _judge_interval(rule, estimate, estimate.low, estimate.high)


def _judge_interval(rule: Rule, estimate: Estimate, low: float, high: float) -> Judgement:
    if _is_noise(rule, estimate, low, high):
        return _leave_open(rule, "the difference is within the noise of the same program measured twice")
    judgement = _judge_direction(rule, low, high)
    rounds = _rounds_until_decided(rule, estimate, low, high) if judgement.word is ClaimWord.OPEN else None
    return (
        replace(judgement, reason=f"{judgement.reason}; {format_missing_rounds(rounds)}", rounds_needed=rounds)
        if rounds
        else judgement
    )


def _judge_counts(rule: Rule, counts: Sequence[float]) -> Judgement:
    low, high = _band(rule)
    inside = [low <= count <= high for count in counts]
    if any(inside) and not all(inside):
        return _leave_open(rule, f"it holds in {sum(inside)} of {len(inside)} rounds")
    return _judge_direction(rule, min(counts), max(counts))


def _leave_open(rule: Rule, reason: str) -> Judgement:
    """Leave a rule open; if the claim is only a band, there is no size to report."""
    return Judgement(ClaimWord.OPEN, reason, Size.OPEN if _published_side(rule) else None)


def _rounds_until_decided(rule: Rule, estimate: Estimate, low: float, high: float) -> int | None:
    """Return the rounds until the interval excludes enough of its bounds to decide.

    The interval's half-width shrinks with the square root of their number, on the log scale for a ratio.
    """
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    scale = math.log if rule.rule in ("ratio", "gain") and low > 0 else float
    side = _published_side(rule)
    bounds = _band(rule) if side is None else (side[1], _nearest_published(rule, side[0]))
    distances = [abs(scale(estimate.value) - scale(bound)) for bound in bounds if low < bound < high]
    if not distances:
        return None
    # a direction is decided without its bound or without the published size, a band only without both of its bounds
    distance = max(distances) if side else min(distances)
    half = (scale(high) - scale(low)) / 2
    return max(1, math.ceil(estimate.n * (half / distance) ** 2) - estimate.n) if distance > 0 else None


def _judge_direction(rule: Rule, low: float, high: float) -> Judgement:
    side = _published_side(rule)
    if side is None:
        return _judge_band(rule, low, high)
    sign, bound = side
    near, far = (low, high) if sign > 0 else (high, low)
    if sign * (near - bound) > 0:
        return Judgement(ClaimWord.HOLDS, size=_judge_size(rule, sign, low, high))
    if _shows_no_difference(rule, low, high):
        return Judgement(ClaimWord.DOES_NOT, f"the whole interval is within {100 * MARGIN:.0f}% of no difference")
    if sign * (far - bound) <= 0:
        return Judgement(ClaimWord.DOES_NOT)
    size = _judge_size(rule, sign, low, high)
    if size is Size.SMALLER:
        return Judgement(ClaimWord.DOES_NOT, "the interval includes both directions, but not the published size")
    return Judgement(ClaimWord.OPEN, "the interval includes both directions", size)


def _nearest_published(rule: Rule, sign: int) -> float:
    """Return the least of the sizes that count as published, the one nearest to no difference."""
    least, most = _band(rule)
    return least if sign > 0 else most


def _judge_band(rule: Rule, low: float, high: float) -> Judgement:
    """Judge a claim that is its band. Outside the band it can be open up to the point where it is contradicted."""
    least, most = _band(rule)
    if least <= low and high <= most:
        return Judgement(ClaimWord.HOLDS)
    if low <= most and high >= least:
        return Judgement(ClaimWord.OPEN, "the interval includes the bound")
    above, below = rule.contradicted_above, rule.contradicted_below
    if (above is not None and most < low <= above) or (below is not None and least > high >= below):
        return Judgement(ClaimWord.OPEN, "between the bands that reproduce and contradict it")
    return Judgement(ClaimWord.DOES_NOT)


def _published_side(rule: Rule) -> tuple[int, float] | None:
    """Return 1 or -1 for above or below, and the bound of the published direction; None if the claim is its band."""
    if rule.leans_above is not None:
        return 1, rule.leans_above
    if rule.leans_below is not None:
        return -1, rule.leans_below
    none = NO_DIFFERENCE.get(rule.rule)
    least, most = _band(rule)
    if none is not None and least > none:
        return 1, none
    return (-1, none) if none is not None and most < none else None


def _judge_size(rule: Rule, sign: int, low: float, high: float) -> Size:
    least, most = _band(rule)
    if least <= low and high <= most:
        return Size.AS_PUBLISHED
    if low > most:
        return Size.LARGER if sign > 0 else Size.SMALLER
    if high < least:
        return Size.SMALLER if sign > 0 else Size.LARGER
    return Size.OPEN


def _is_noise(rule: Rule, estimate: Estimate, low: float, high: float) -> bool:
    """Return True if a difference is claimed, but the one seen is within noise and equality is not shown either."""
    least, most = _band(rule)
    if estimate.noise is None or least < 1 < most:
        return False
    return 1 / estimate.noise <= estimate.value <= estimate.noise and not _shows_no_difference(rule, low, high)


def _shows_no_difference(rule: Rule, low: float, high: float) -> bool:
    """Return True if a ratio surely shows no relevant difference, although one is claimed."""
    least, most = _band(rule)
    claimed = rule.rule in ("ratio", "gain") and (least >= 1 + MARGIN or most <= 1 / (1 + MARGIN))
    return claimed and low >= 1 / (1 + MARGIN) and high <= 1 + MARGIN


def _band(rule: Rule) -> tuple[float, float]:
    low, high = rule.at_least, rule.at_most
    return -math.inf if low is None else low, math.inf if high is None else high


# --- several figures


def correct_for_chance(rule: Rule, figures: Sequence[tuple[Estimate, Judgement]]) -> list[Judgement]:
    """Return the judgements of the cells that one rule judges, in their order.

    A cell that contradicts the claim becomes open if it does not remain after Holm's correction over all cells, because
    among many cells one does so by chance.
    """
    words = [judgement for _, judgement in figures]
    if not rule.judged or rule.rule == "count" or len(figures) < 2:
        return words
    ps = [_p_value(rule, seen) if word.word is ClaimWord.DOES_NOT else 1.0 for seen, word in figures]
    undecided = _leave_open(rule, f"with {len(figures)} cells, chance alone often gives one such cell")
    rejected = [adjusted.rejected for adjusted in holm(ps)]
    return [undecided if w.word is ClaimWord.DOES_NOT and not rejected[i] else w for i, w in enumerate(words)]


def _p_value(rule: Rule, estimate: Estimate) -> float:
    """Return the p-value of "the true ratio lies where the claim holds"; 0 if the figure is not a ratio."""
    if estimate.ratio is None or estimate.low is None or estimate.high is None:
        return 0.0
    side, (least, most) = _published_side(rule), _band(rule)
    if _shows_no_difference(rule, estimate.low, estimate.high):
        return max(estimate.ratio.p_of(1 + MARGIN), estimate.ratio.p_of(1 / (1 + MARGIN)))
    if side:
        sign, bound = side
        opposite = sign * ((estimate.high if sign > 0 else estimate.low) - bound) <= 0
        return estimate.ratio.p_of(bound if opposite else _nearest_published(rule, sign))
    return estimate.ratio.p_of(
        (rule.contradicted_above or most) if estimate.low > most else (rule.contradicted_below or least)
    )


def combine_cells(rule: Rule, words: Sequence[Judgement]) -> Judgement:
    """Combine the judgements of several cells into that of their rule."""
    missing = [w for w in words if w.word is ClaimWord.NOT_MEASURED]
    if len(words) == 1 or not rule.judged:
        return missing[0] if missing else words[0]
    good, unsure = (sum(w.word is word for w in words) for word in (ClaimWord.HOLDS, ClaimWord.OPEN))
    needed = {"every": len(words), "any": 1}.get(str(rule.in_cells)) or math.ceil(float(rule.in_cells) * len(words))
    counts = f"it holds in {good} of {len(words)} cells, {needed} needed" + (
        f"; {unsure} not decided" if unsure else ""
    )
    if good >= needed:
        return Judgement(ClaimWord.HOLDS, counts, _combine_sizes(words, needed))
    if good + unsure + len(missing) < needed:
        return Judgement(ClaimWord.DOES_NOT, counts)
    rounds = max((w.rounds_needed or 0 for w in words), default=0) or None
    reason = f"{counts}; {format_missing_rounds(rounds)}" if rounds else counts
    return missing[0] if missing else Judgement(ClaimWord.OPEN, reason, _combine_sizes(words, len(words)), rounds)


def _combine_sizes(words: Sequence[Judgement], needed: int) -> Size | None:
    """Return the size that at least `needed` cells share; open if they differ, None if no cell has one."""
    sizes = [w.size for w in words if w.size]
    return next((size for size in Size if sizes.count(size) >= needed), Size.OPEN) if sizes else None


def combine_alternatives(words: Sequence[Judgement]) -> Judgement:
    """Combine alternatives: one that holds is enough. Unless all were judged, they cannot contradict a claim."""
    missing = next((w for w in words if w.word is ClaimWord.NOT_MEASURED), None)
    found = max(words, key=lambda w: WORST_FIRST.index(w.word))
    return missing if missing and found.word is ClaimWord.DOES_NOT else found


def combine_parts(words: Sequence[Judgement]) -> Judgement:
    """Combine a claim's parts: one that does not hold decides against it, one that was not measured leaves it open."""
    worst = min(words, key=lambda w: WORST_FIRST.index(w.word))
    sizes = [w.size for w in words if w.size]
    known = worst.word in (ClaimWord.HOLDS, ClaimWord.OPEN)
    return replace(worst, size=min(sizes, key=LEAST_CERTAIN_FIRST.index) if known and sizes else None)
