"""Judges claims: an estimate and a band give the verdict on one figure, and these are combined. Pure.

A word is given for the whole 95 % interval, never for the point alone. Each claim is a question of its own, named
before anything is measured, so nothing is corrected for their number; of the cells of one claim that speak against it,
only as many count as Holm's correction leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from zoo.analysis.metrics import Class
from zoo.analysis.stats import holm
from zoo.analysis.verdict import MARGIN, would_decide
from zoo.claims.estimates import ClaimEvidence, Estimate, estimates
from zoo.claims.evidence import Archive
from zoo.claims.ledger import Claim, Rule, combinations
from zoo.claims.quantities import QUANTITIES


class ClaimWord(StrEnum):
    """The verdict on a claim's direction. `DOES_NOT` is that of a part; a whole claim has one of the two after it."""

    HOLDS = "holds"
    DOES_NOT = "does not hold"
    CONTRADICTED = "contradicted"
    NOT_REPRODUCED = "not reproduced here"
    OPEN = "open"
    NOT_MEASURED = "not measured"
    RECORDED = "recorded"

    @property
    def text(self) -> str:
        return MEANING[self]

    def of(self, count: int) -> str:
        """`1 holds`, `12 hold`, `3 open`"""
        many = {ClaimWord.HOLDS: "hold", ClaimWord.DOES_NOT: "do not hold"}
        return f"{count} {self.value if count == 1 else many.get(self, self.value)}"


MEANING = {
    ClaimWord.HOLDS: "the whole interval lies on the side published; where only a band was published, within it",
    ClaimWord.DOES_NOT: "the whole interval lies where the claim does not hold",
    ClaimWord.CONTRADICTED: "it does not hold, and the test is the article's in what matters",
    ClaimWord.NOT_REPRODUCED: "it does not hold here, by a test that differs from the article's; the reason is "
    "beside it",
    ClaimWord.OPEN: "the interval straddles a bound, or the difference is no more than noise",
    ClaimWord.NOT_MEASURED: "nothing was measured that could decide it",
    ClaimWord.RECORDED: "an absolute figure of another machine: shown, never judged",
}


class Size(StrEnum):
    """How large the effect is next to the one published, whatever the direction."""

    AS_PUBLISHED = "as published"
    SMALLER = "smaller"
    LARGER = "larger"
    OPEN = "open"


NO_DIFFERENCE = {"ratio": 1.0, "gain": 1.0, "difference": 0.0}
"""The figure where nothing differs, by kind of rule."""

WORST_FIRST = (ClaimWord.DOES_NOT, ClaimWord.NOT_MEASURED, ClaimWord.OPEN, ClaimWord.HOLDS, ClaimWord.RECORDED)
LEAST_CERTAIN_FIRST = (Size.OPEN, Size.SMALLER, Size.LARGER, Size.AS_PUBLISHED)


@dataclass(frozen=True)
class Judgement:
    """Direction, size where there is one, and their reason where the figures do not show it.

    `more`: rounds that would decide what is open, if figures stay as they are; None where rounds alone would not.
    """

    word: ClaimWord
    why: str | None = None
    size: Size | None = None
    more: int | None = None


@dataclass(frozen=True)
class RuleVerdict:
    """The verdict on one rule of a claim, and the figures with a judgement each."""

    rule: Rule
    judgement: Judgement
    found: list[tuple[Estimate, Judgement]]


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim. `unlike`: why a claim that does not hold is not contradicted."""

    claim: Claim
    judgement: Judgement
    parts: list[RuleVerdict] = field(default_factory=list)
    unlike: str | None = None

    @property
    def word(self) -> ClaimWord:
        return self.judgement.word

    @property
    def estimates(self) -> list[Estimate]:
        return [estimate for part in self.parts for estimate, _ in part.found]

    @property
    def archives(self) -> list[Archive]:
        """The runs behind it."""
        series = (one for estimate in self.estimates for one in estimate.series)
        return list(dict.fromkeys(source.archive for one in series for source in one.sources))

    @property
    def deciding(self) -> list[RuleVerdict]:
        """The parts that are judged; all, if none is."""
        return [part for part in self.parts if part.rule.judged] or self.parts


def verdicts(claims: Iterable[Claim], runs: Mapping[str, Archive]) -> list[ClaimVerdict]:
    """Return the verdict on each claim from those of its runs that are there."""
    return [verdict(claim, ClaimEvidence([runs[name] for name in claim.runs if name in runs])) for claim in claims]


def verdict(claim: Claim, evidence: ClaimEvidence) -> ClaimVerdict:
    """Judge a claim: every part must hold; parts with the same `either` are alternatives."""
    if claim.unmeasured:
        return ClaimVerdict(claim, Judgement(ClaimWord.NOT_MEASURED, claim.unmeasured))
    made = ClaimVerdict(claim, Judgement(ClaimWord.OPEN), [_part(rule, claim, evidence) for rule in claim.rules])
    groups: dict[str, list[Judgement]] = {}
    for number, part in enumerate(made.deciding):
        groups.setdefault(part.rule.either or str(number), []).append(part.judgement)
    found = all_of([best(group) for group in groups.values()])
    if found.word is not ClaimWord.DOES_NOT:
        return replace(made, judgement=found)
    unlike = _unlike(claim, [part for part in made.parts if part.judgement.word is ClaimWord.DOES_NOT])
    word = ClaimWord.NOT_REPRODUCED if unlike else ClaimWord.CONTRADICTED
    return replace(made, judgement=replace(found, word=word), unlike=unlike)


def _unlike(claim: Claim, against: Sequence[RuleVerdict]) -> str | None:
    """Return how the test differs from the article's; None where it contradicts the article."""
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
        why = f"no tier is large enough for this host ({cores})"
        return RuleVerdict(rule, Judgement(ClaimWord.NOT_MEASURED, why), [])
    figures = estimates(rule, chosen, evidence)
    words = by_chance(rule, [(one, judge(rule, one)) for one in figures])
    return RuleVerdict(rule, over_cells(rule, words), list(zip(figures, words, strict=True)))


# --- one figure


def judge(rule: Rule, seen: Estimate) -> Judgement:
    """Judge one cell, or one figure over several."""
    if seen.why:
        return Judgement(ClaimWord.NOT_MEASURED, seen.why)
    if not rule.judged:
        return Judgement(ClaimWord.RECORDED)
    if rule.rule == "count":
        return _counted(rule, seen.counts)
    if seen.low is None or seen.high is None:
        few = "one round has" if seen.n < 2 else "so few or so different figures have"
        return _open(rule, f"{few} no interval")
    return _placed(rule, seen, seen.low, seen.high)


def _placed(rule: Rule, seen: Estimate, low: float, high: float) -> Judgement:
    if _is_noise(rule, seen, low, high):
        return _open(rule, "no more than one and the same program differs from itself")
    found = _towards(rule, low, high)
    more = _more(rule, seen, low, high) if found.word is ClaimWord.OPEN else None
    return replace(found, why=f"{found.why}; {would_decide(more)}", more=more) if more else found


def _counted(rule: Rule, counts: Sequence[float]) -> Judgement:
    low, high = _band(rule)
    inside = [low <= count <= high for count in counts]
    if any(inside) and not all(inside):
        return _open(rule, f"so in {sum(inside)} of {len(inside)} rounds")
    return _towards(rule, min(counts), max(counts))


def _open(rule: Rule, why: str) -> Judgement:
    """Leave a rule open; a claim that is its band has no size next to it."""
    return Judgement(ClaimWord.OPEN, why, Size.OPEN if _side(rule) else None)


def _more(rule: Rule, seen: Estimate, low: float, high: float) -> int | None:
    """Return the rounds until the interval no longer holds the bound that is nearest to the figure.

    Its half-width shrinks with the square root of their number, on logarithms for a ratio.
    """
    side = _side(rule)
    within = [bound for bound in ((side[1],) if side else _band(rule)) if low < bound < high]
    if not within or not (math.isfinite(low) and math.isfinite(high)):
        return None
    scale = math.log if rule.rule in ("ratio", "gain") and low > 0 else float
    apart = min(abs(scale(seen.value) - scale(bound)) for bound in within)
    half = (scale(high) - scale(low)) / 2
    return max(1, math.ceil(seen.n * (half / apart) ** 2) - seen.n) if apart > 0 else None


def _towards(rule: Rule, low: float, high: float) -> Judgement:
    side = _side(rule)
    if side is None:
        return _within(rule, low, high)
    sign, bound = side
    near, far = (low, high) if sign > 0 else (high, low)
    if sign * (near - bound) > 0:
        return Judgement(ClaimWord.HOLDS, size=_size(rule, sign, low, high))
    if _alike(rule, low, high):
        return Judgement(ClaimWord.DOES_NOT, f"surely within {100 * MARGIN:.0f} % of no difference")
    if sign * (far - bound) <= 0:
        return Judgement(ClaimWord.DOES_NOT)
    return Judgement(ClaimWord.OPEN, "the interval has both directions", _size(rule, sign, low, high))


def _within(rule: Rule, low: float, high: float) -> Judgement:
    """Judge a claim that is its band: outside of it, it may be open until where it is contradicted."""
    least, most = _band(rule)
    if least <= low and high <= most:
        return Judgement(ClaimWord.HOLDS)
    if low <= most and high >= least:
        return Judgement(ClaimWord.OPEN, "the interval straddles the bound")
    above, below = rule.contradicted_above, rule.contradicted_below
    if (above is not None and most < low <= above) or (below is not None and least > high >= below):
        return Judgement(ClaimWord.OPEN, "between what reproduces and what contradicts it")
    return Judgement(ClaimWord.DOES_NOT)


def _side(rule: Rule) -> tuple[int, float] | None:
    """Return 1 or -1 for above or below, and the bound of the direction published; None where the claim is its band."""
    if rule.leans_above is not None:
        return 1, rule.leans_above
    if rule.leans_below is not None:
        return -1, rule.leans_below
    none = NO_DIFFERENCE.get(rule.rule)
    least, most = _band(rule)
    if none is not None and least > none:
        return 1, none
    return (-1, none) if none is not None and most < none else None


def _size(rule: Rule, sign: int, low: float, high: float) -> Size:
    least, most = _band(rule)
    if least <= low and high <= most:
        return Size.AS_PUBLISHED
    if low > most:
        return Size.LARGER if sign > 0 else Size.SMALLER
    if high < least:
        return Size.SMALLER if sign > 0 else Size.LARGER
    return Size.OPEN


def _is_noise(rule: Rule, seen: Estimate, low: float, high: float) -> bool:
    """Whether a difference is claimed, and the one seen is no more than noise makes, yet no proof of likeness."""
    least, most = _band(rule)
    if seen.noise is None or least < 1 < most:
        return False
    return 1 / seen.noise <= seen.value <= seen.noise and not _alike(rule, low, high)


def _alike(rule: Rule, low: float, high: float) -> bool:
    """Whether a ratio is surely no difference that matters, where one that does is claimed."""
    least, most = _band(rule)
    claimed = rule.rule in ("ratio", "gain") and (least >= 1 + MARGIN or most <= 1 / (1 + MARGIN))
    return claimed and low >= 1 / (1 + MARGIN) and high <= 1 + MARGIN


def _band(rule: Rule) -> tuple[float, float]:
    low, high = rule.at_least, rule.at_most
    return -math.inf if low is None else low, math.inf if high is None else high


# --- several figures


def by_chance(rule: Rule, found: Sequence[tuple[Estimate, Judgement]]) -> list[Judgement]:
    """Return the judgements of cells that are judged by one rule, in their order.

    Of those that speak against it, one that Holm's correction over all cells does not leave is open, because among many
    cells one does so by chance.
    """
    words = [judgement for _, judgement in found]
    if not rule.judged or rule.rule == "count" or len(found) < 2:
        return words
    ps = [_against(rule, seen) if word.word is ClaimWord.DOES_NOT else 1.0 for seen, word in found]
    doubted = _open(rule, f"one of {len(found)} cells is so by chance too often")
    kept = [adjusted.rejected for adjusted in holm(ps)]
    return [doubted if w.word is ClaimWord.DOES_NOT and not kept[i] else w for i, w in enumerate(words)]


def _against(rule: Rule, seen: Estimate) -> float:
    """Return the p-value of "the true ratio lies where the claim holds"; 0 where the figure is no ratio."""
    if seen.ratio is None or seen.low is None or seen.high is None:
        return 0.0
    side, (least, most) = _side(rule), _band(rule)
    if _alike(rule, seen.low, seen.high):
        return max(seen.ratio.p_of(1 + MARGIN), seen.ratio.p_of(1 / (1 + MARGIN)))
    if side:
        return seen.ratio.p_of(side[1])
    return seen.ratio.p_of((rule.contradicted_above or most) if seen.low > most else (rule.contradicted_below or least))


def over_cells(rule: Rule, words: Sequence[Judgement]) -> Judgement:
    """Combine the judgements of several cells into that of their rule."""
    missing = [w for w in words if w.word is ClaimWord.NOT_MEASURED]
    if len(words) == 1 or not rule.judged:
        return missing[0] if missing else words[0]
    good, unsure = (sum(w.word is word for w in words) for word in (ClaimWord.HOLDS, ClaimWord.OPEN))
    needed = {"every": len(words), "any": 1}.get(str(rule.in_cells)) or math.ceil(float(rule.in_cells) * len(words))
    said = f"so in {good} of {len(words)} cells, {needed} needed" + (f"; {unsure} not certain" if unsure else "")
    if good >= needed:
        return Judgement(ClaimWord.HOLDS, said, _size_over(words, needed))
    if good + unsure + len(missing) < needed:
        return Judgement(ClaimWord.DOES_NOT, said)
    more = max((w.more or 0 for w in words), default=0) or None
    told = f"{said}; {would_decide(more)}" if more else said
    return missing[0] if missing else Judgement(ClaimWord.OPEN, told, _size_over(words, len(words)), more)


def _size_over(words: Sequence[Judgement], needed: int) -> Size | None:
    """Return the size of so many of the cells; open where they differ, None where no cell has one."""
    sizes = [w.size for w in words if w.size]
    return next((size for size in Size if sizes.count(size) >= needed), Size.OPEN) if sizes else None


def best(words: Sequence[Judgement]) -> Judgement:
    """Combine alternatives: one that holds is enough. Unless all were judged, they cannot contradict."""
    missing = next((w for w in words if w.word is ClaimWord.NOT_MEASURED), None)
    found = max(words, key=lambda w: WORST_FIRST.index(w.word))
    return missing if missing and found.word is ClaimWord.DOES_NOT else found


def all_of(words: Sequence[Judgement]) -> Judgement:
    """Combine a claim's parts: one that does not hold decides against it, one that was not measured leaves it open."""
    worst = min(words, key=lambda w: WORST_FIRST.index(w.word))
    sizes = [w.size for w in words if w.size]
    known = worst.word in (ClaimWord.HOLDS, ClaimWord.OPEN)
    return replace(worst, size=min(sizes, key=LEAST_CERTAIN_FIRST.index) if known and sizes else None)
