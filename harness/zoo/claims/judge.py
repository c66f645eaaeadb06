"""From an estimate and a band to one word, and from many words to one. Pure.

A word is given for the whole 95 % interval, never for the point alone. Each claim is a question of its own, named
before anything is measured, so nothing is corrected for their number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from zoo.analysis.verdict import MARGIN
from zoo.claims.estimates import Estimate
from zoo.claims.rules import Count, Gain, Judged, Ratio, Recorded, Rule


class Word(StrEnum):
    """What is said of a claim."""

    REPRODUCED = "reproduced"
    PARTLY = "partly"
    CONTRADICTED = "contradicted"
    INCONCLUSIVE = "inconclusive"
    NOT_MEASURED = "not measured"
    RECORDED = "recorded"

    @property
    def text(self) -> str:
        return MEANING[self]


MEANING = {
    Word.REPRODUCED: "the whole interval lies within the band",
    Word.PARTLY: "the direction is as published, the size is not",
    Word.CONTRADICTED: "the whole interval lies where the claim does not hold",
    Word.INCONCLUSIVE: "the interval straddles a bound, or the difference is no more than noise",
    Word.NOT_MEASURED: "nothing was measured that could decide it",
    Word.RECORDED: "an absolute figure of another machine: shown, never judged",
}


@dataclass(frozen=True)
class Judgement:
    """A word and, where it is not plain from the figures, its reason."""

    word: Word
    why: str | None = None


def judge(rule: Rule, seen: Estimate) -> Judgement:
    """The word of one cell, or of one figure over several."""
    if seen.why:
        return Judgement(Word.NOT_MEASURED, seen.why)
    if isinstance(rule, Recorded):
        return Judgement(Word.RECORDED)
    if isinstance(rule, Count):
        return _counted(rule, seen.counts)
    if seen.low is None or seen.high is None:
        few = "one round has" if seen.n < 2 else "so few or so different figures have"
        return Judgement(Word.INCONCLUSIVE, f"{few} no interval")
    return _placed(rule, seen, seen.low, seen.high)


def _counted(rule: Count, counts: Sequence[float]) -> Judgement:
    low, high = _band(rule)
    inside = [low <= count <= high for count in counts]
    if all(inside):
        return Judgement(Word.REPRODUCED)
    if any(inside):
        return Judgement(Word.INCONCLUSIVE, f"so in {sum(inside)} of {len(inside)} rounds")
    surely, _ = _leaning(rule, min(counts), max(counts))
    return Judgement(Word.PARTLY if surely else Word.CONTRADICTED)


def _placed(rule: Judged, seen: Estimate, low: float, high: float) -> Judgement:
    least, most = _band(rule)
    if _is_noise(rule, seen):
        return Judgement(Word.INCONCLUSIVE, "no more than one and the same program differs from itself")
    if least <= low and high <= most:
        return Judgement(Word.REPRODUCED)
    if low <= most and high >= least:
        return Judgement(Word.INCONCLUSIVE, "the interval straddles the bound")
    return _outside(rule, low, high)


def _outside(rule: Judged, low: float, high: float) -> Judgement:
    """What is said of an interval that has nothing in common with the band."""
    surely, perhaps = _leaning(rule, low, high)
    if surely:
        return Judgement(Word.PARTLY)
    if _alike(rule, low, high):
        return Judgement(Word.CONTRADICTED, f"surely within {100 * MARGIN:.0f} % of no difference")
    if perhaps:
        return Judgement(Word.INCONCLUSIVE, "not of the size published, and the direction is not certain")
    if _between(rule, low, high):
        return Judgement(Word.INCONCLUSIVE, "between what reproduces and what contradicts it")
    return Judgement(Word.CONTRADICTED)


def _leaning(rule: Judged, low: float, high: float) -> tuple[bool, bool]:
    """Whether the interval lies in the direction published: all of it, and any of it."""
    if rule.leans_above is not None:
        return low > rule.leans_above, high > rule.leans_above
    if rule.leans_below is not None:
        return high < rule.leans_below, low < rule.leans_below
    return False, False


def _between(rule: Judged, low: float, high: float) -> bool:
    """Whether it lies outside of the band, yet not beyond where the claim is contradicted."""
    above = rule.contradicted_above is not None and rule.at_most is not None and rule.at_most < low
    below = rule.contradicted_below is not None and rule.at_least is not None and high < rule.at_least
    return (above and low <= (rule.contradicted_above or 0)) or (below and high >= (rule.contradicted_below or 0))


def _is_noise(rule: Judged, seen: Estimate) -> bool:
    """Whether a difference is claimed, and what is seen is one that noise makes too, yet no proof of likeness."""
    least, most = _band(rule)
    if seen.noise is None or seen.low is None or seen.high is None or least < 1 < most:
        return False
    return 1 / seen.noise <= seen.value <= seen.noise and not _alike(rule, seen.low, seen.high)


def _alike(rule: Judged, low: float, high: float) -> bool:
    """Whether a ratio is surely no difference that matters, where one that does is claimed."""
    least, most = _band(rule)
    claimed = isinstance(rule, Ratio | Gain) and (least > 1 + MARGIN or most < 1 / (1 + MARGIN))
    return claimed and low >= 1 / (1 + MARGIN) and high <= 1 + MARGIN


def _band(rule: Judged) -> tuple[float, float]:
    return (
        -math.inf if rule.at_least is None else rule.at_least,
        math.inf if rule.at_most is None else rule.at_most,
    )


def over_cells(rule: Rule, words: Sequence[Judgement]) -> Judgement:
    """One word of a rule that was judged in several cells."""
    missing = [w for w in words if w.word is Word.NOT_MEASURED]
    if len(words) == 1 or isinstance(rule, Recorded):
        return missing[0] if missing else words[0]
    good, partly, unsure = (
        sum(w.word is word for w in words) for word in (Word.REPRODUCED, Word.PARTLY, Word.INCONCLUSIVE)
    )
    needed = {"every": len(words), "any": 1}.get(str(rule.in_cells)) or math.ceil(float(rule.in_cells) * len(words))
    said = f"so in {good} of {len(words)} cells, {needed} needed" + (f"; {unsure} not certain" if unsure else "")
    if good >= needed:
        return Judgement(Word.REPRODUCED, said)
    if good + partly + unsure + len(missing) < needed:
        return Judgement(Word.CONTRADICTED, said)
    if missing:
        return missing[0]
    if good + unsure < needed <= good + partly:
        return Judgement(Word.PARTLY, said)
    return Judgement(Word.INCONCLUSIVE, said)


WORST_FIRST = (
    Word.CONTRADICTED,
    Word.NOT_MEASURED,
    Word.INCONCLUSIVE,
    Word.PARTLY,
    Word.REPRODUCED,
    Word.RECORDED,
)


def best(words: Sequence[Judgement]) -> Judgement:
    """Of alternatives: one that holds is enough. Unless all were judged, they cannot contradict."""
    missing = next((w for w in words if w.word is Word.NOT_MEASURED), None)
    found = max(words, key=lambda w: WORST_FIRST.index(w.word))
    return missing if missing and found.word is Word.CONTRADICTED else found


def all_of(words: Sequence[Judgement]) -> Judgement:
    """Of a claim's parts: one that does not hold is enough against it, one that was not measured leaves it open."""
    return min(words, key=lambda w: WORST_FIRST.index(w.word))
