"""Turns a ratio, and what is known of its two sides, into a verdict. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from zoo.analysis.lower_bound import LIMITED, SHARED
from zoo.analysis.metrics import Class, Metric, Word, held_all
from zoo.analysis.stats import Ratio, t_quantile
from zoo.analysis.stats.ratio import CONFIDENCE
from zoo.model.flag import Flag
from zoo.model.measurement import Measurement
from zoo.plan.windows import HOLDING_S

MARGIN = 0.05
"""A ratio surely within ± 5 % counts as no difference; chosen before any measurement (docs/results.md)."""

HALF = 0.5

REASONABLE = 20
"""More rounds than this are not what a reader wants to hear of."""


@dataclass(frozen=True)
class Verdict:
    """A word and, where it is not a difference, its reason.

    `at_least`: the one ahead is a lower bound, so the difference is at least this. `shared`: server and generator had
    the same cores, so the word is about both together. `more`: rounds that would decide what is open, where few would.
    """

    word: Word
    why: str | None = None
    at_least: bool = False
    shared: bool = False
    more: int | None = None

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


def judge(metric: Metric, ratio: Ratio, *, rejected: bool, family: int) -> Verdict:
    """The word for a ratio; `rejected` is Holm's decision within a family of so many comparisons.

    A difference that is rejected has its direction; otherwise the two are equal when the whole 95 % interval lies
    within ± MARGIN, and open when it does not. A difference so small that it is within ± MARGIN is equal too.
    """
    if ratio.low is None or ratio.high is None:
        few = ratio.rounds < 2
        return Verdict(Word.OPEN, f"{'one round has' if few else 'figures that vary so much have'} no interval")
    if ratio.low >= 1 / (1 + MARGIN) and ratio.high <= 1 + MARGIN:
        return Verdict(Word.SAME)
    if rejected:
        return Verdict(metric.above if ratio.value > 1 else metric.below)
    return _open(metric, ratio, family)


def _open(metric: Metric, ratio: Ratio, family: int) -> Verdict:
    """Which way an open comparison leans, and what would decide it."""
    if ratio.sd_log is None or ratio.df is None:
        return Verdict(Word.OPEN, "the interval reaches too far")
    rounds, alike = rounds_to_decide(ratio, family)
    more = rounds - ratio.rounds
    if more > REASONABLE:
        half = math.expm1(t_quantile(CONFIDENCE, ratio.df) * ratio.sd_log / math.sqrt(ratio.rounds))
        return Verdict(Word.OPEN, f"noise too large: ±{100 * half:.0f} %")
    leans = Word.SAME if alike else metric.above if ratio.value > 1 else metric.below
    return Verdict(Word.OPEN, f"leans {leans.value}; {would_decide(more)}", more=more)


def would_decide(more: int) -> str:
    """`about 4 more rounds would decide`"""
    if more > REASONABLE:
        return f"over {REASONABLE} more rounds would decide"
    return f"about {more} more round{'s' if more > 1 else ''} would decide"


def rounds_to_decide(ratio: Ratio, family: int) -> tuple[int, bool]:
    """Rounds after which this ratio would be called a difference or equal, were mean and variance to stay; True: equal.

    A difference when |mean| > t(1 - α/2m, df) · s/√n, Holm's first step in a family of m; equal when
    |mean| + t(.975, df) · s/√n ≤ ln(1 + MARGIN). ValueError for a ratio without a standard deviation.
    """
    if ratio.sd_log is None or ratio.df is None:
        raise ValueError("a ratio without a standard deviation tells nothing of further rounds")
    mean, prior = abs(math.log(ratio.value)), ratio.df - (ratio.rounds - 1)
    n = ratio.rounds
    while True:
        n += 1
        error, df = ratio.sd_log / math.sqrt(n), prior + n - 1
        if mean + t_quantile(CONFIDENCE, df) * error <= math.log1p(MARGIN):
            return n, True
        if t_quantile(1 - (1 - CONFIDENCE) / family, df) * error < mean or n > ratio.rounds + REASONABLE:
            return n, False


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
    shared = SHARED.intersection([*a, *b])
    return replace(verdict, shared=bool(shared) and verdict.word is not Word.NOT_MEASURED)


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
