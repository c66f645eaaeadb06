"""From a ratio and what is known of its sides to one word. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from zoo.metrics import Class, Metric, Word, held_all
from zoo.records import Flag, Measurement
from zoo.stats import Ratio
from zoo.timing import HOLDING_S

MARGIN = 0.05
"""A ratio surely within ± 5 % counts as no difference; chosen before any measurement (docs/results.md)."""

HALF = 0.5

LIMITED = frozenset({Flag.GENERATOR_SATURATED, Flag.NEAR_REFERENCE})
"""Lower bounds that say nothing of how two servers compare: something else set the figure."""


@dataclass(frozen=True)
class Verdict:
    """A word and, where it is not a difference, its reason.

    `at_least`: the one ahead is a lower bound, so the difference is at least this. `shared`: server and generator had
    the same cores, so the word is about both together.
    """

    word: Word
    why: str | None = None
    at_least: bool = False
    shared: bool = False

    @property
    def differs(self) -> bool:
        return self.word in (Word.FASTER, Word.SLOWER, Word.LESS, Word.MORE)

    @property
    def text(self) -> str:
        """In full: `slower, on shared cores`, `not measured (why)`."""
        text = self.word.value
        if self.at_least:
            text += ", by at least this"
        if self.shared:
            text += ", on shared cores"
        return f"{text} ({self.why})" if self.why else text


def judge(metric: Metric, ratio: Ratio, *, rejected: bool, family: int, factor: float | None) -> Verdict:
    """The word for a ratio.

    `rejected` is Holm's decision within a family of so many comparisons, `factor` the noise band (None: not known).
    A difference: rejected, and the ratio lies outside the band. No detectable difference: otherwise, when the whole
    95 % interval lies within ± MARGIN. Everything else is inconclusive. The band never earns a pair the second word: or
    else the noisier a run is, the more of its pairs would count as alike.
    """
    if ratio.low is None or ratio.high is None:
        few = ratio.rounds < 2
        return Verdict(Word.INCONCLUSIVE, f"{'one round has' if few else 'figures that vary so much have'} no interval")
    band = factor or 1.0
    stray = 1 / band <= ratio.value <= band
    if rejected and not stray:
        return Verdict(metric.above if ratio.value > 1 else metric.below)
    if ratio.low >= 1 / (1 + MARGIN) and ratio.high <= 1 + MARGIN:
        return Verdict(Word.SAME)
    if rejected:
        return Verdict(Word.INCONCLUSIVE, "no more than one and the same program differs from itself")
    if ratio.differs:
        return Verdict(Word.INCONCLUSIVE, f"not certain enough as one of {family} comparisons")
    return Verdict(Word.INCONCLUSIVE, f"the interval contains 1 and reaches beyond ± {100 * MARGIN:.0f} %")


def bounded(verdict: Verdict, metric: Metric, a: Collection[Flag], b: Collection[Flag]) -> Verdict:
    """What is left of a verdict where the server was not what limited a side; a lower bound is never ranked as a value.

    Only of load and latency: CPU and memory are the server's own whatever limits the load.
    """
    if metric.kind not in (Class.LOAD, Class.LATENCY):
        return verdict
    limits_a, limits_b = LIMITED & set(a), LIMITED & set(b)
    if limits_a and limits_b:
        return _unranked("both are lower bounds", limits_a | limits_b)
    if limits_a or limits_b:
        ahead_is_a = verdict.word is Word.FASTER
        if verdict.differs and ahead_is_a == bool(limits_a):
            verdict = replace(verdict, at_least=True)
        elif verdict.differs or verdict.word is Word.SAME:
            return _unranked("one side is a lower bound and not clearly ahead", limits_a | limits_b)
    shared = Flag.SHARED_CORES in a or Flag.SHARED_CORES in b
    return replace(verdict, shared=shared and verdict.word is not Word.NOT_MEASURED)


def _unranked(reason: str, limits: Collection[Flag]) -> Verdict:
    return Verdict(Word.NOT_MEASURED, f"{reason}: {', '.join(sorted(limits))}")


def _cut(seen: Measurement) -> bool:
    """Whether a window was too short for its slowest requests."""
    return (seen.load.latency.max_us or 0) > HALF * 1e6 * (seen.load.runtime_s - seen.load.connect_s)


def spoiled(metric: Metric, side: str, seen: Collection[Measurement]) -> str | None:
    """Why a side's figures cannot be compared in this metric; None when they can."""
    flags = {flag for m in seen for flag in m.flags}
    waits = any(m.load.delay_s >= HOLDING_S for m in seen)
    reasons = {
        f"{side}: not all of its connections were established": Flag.NOT_ESTABLISHED in flags,
        f"{side}: its requests did under half of the work that their case names": Flag.LITTLE_WORK in flags,
        f"{side}: its histogram contradicts its throughput": Flag.LITTLE_HIGH in flags
        and metric.kind in (Class.LOAD, Class.LATENCY),
        f"{side}: its pool kept most requests waiting beyond the window": Flag.POOL_CEILING in flags
        and metric.kind is Class.LATENCY,
        f"{side}: some requests took over half of the window, and what took longer is not in it": not waits
        and metric.kind is Class.LATENCY
        and any(_cut(m) for m in seen),
        f"{side} did not hold all connections at once": waits
        and metric.kind is Class.MEMORY
        and not all(held_all(m) for m in seen),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
