"""Verdicts: derived from a ratio and the facts known about its two sides. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace

from zoo.core.flag import Flag
from zoo.core.measurement import Measurement
from zoo.core.windows import HOLDING_S
from zoo.stats import Ratio, t_quantile
from zoo.stats.lower_bound import LIMITED, SHARED
from zoo.stats.metrics import Metric, MetricKind, Word, held_all_connections
from zoo.stats.pair_interval import CONFIDENCE

MARGIN = 0.05
"""Margin within which a ratio counts as no difference: ±5%.

It was chosen before any measurement (docs/reference/results.md).
"""

HALF = 0.5

REASONABLE = 20
"""Highest number of additional rounds that is suggested to a reader."""


@dataclass(frozen=True)
class Verdict:
    """The word for a comparison, with the reason unless it is a difference.

    `likely` is the direction of a difference that only this comparison's own interval shows. `at_least` is True if the
    side ahead is a lower bound, so that the difference is at least this. `shared` is True if server and generator had
    the same cores, so that the word describes both together. `more` is the number of rounds that would decide it, if
    that is small.
    """

    word: Word
    why: str | None = None
    likely: Word | None = None
    at_least: bool = False
    shared: bool = False
    more: int | None = None

    @property
    def differs(self) -> bool:
        return self.word in (Word.FASTER, Word.SLOWER, Word.LESS, Word.MORE)

    @property
    def label(self) -> str:
        """Return `slower`, `probably slower`, `the same (within 5%)`, `no clear difference` or `not measured`."""
        return f"probably {self.likely}" if self.likely else self.word.value

    @property
    def text(self) -> str:
        """Return the verdict in full: `slower, on shared cores`, `not measured (why)`."""
        text = self.label
        if self.at_least:
            text += ", by at least this"
        if self.shared:
            text += ", on shared cores"
        return f"{text} ({self.why})" if self.why else text


def is_same(ratio: Ratio) -> bool:
    """Return True if the ratio has a 95% interval, and all of it lies within ± MARGIN."""
    if ratio.low is None or ratio.high is None:
        return False
    return ratio.low >= 1 / (1 + MARGIN) and ratio.high <= 1 + MARGIN


def judge(metric: Metric, ratio: Ratio, *, rejected: bool, family: int) -> Verdict:
    """Return the verdict on a ratio; `rejected` is Holm's decision within a family of `family` comparisons.

    Two sides are the same if the whole 95% interval lies within ± MARGIN. Otherwise, a rejected hypothesis gives a
    difference with its direction, and anything else is unclear. So a difference that is significant but within ± MARGIN
    counts as the same.
    """
    if ratio.low is None or ratio.high is None:
        few = ratio.rounds < 2
        return Verdict(Word.UNCLEAR, f"{'one round has' if few else 'figures that vary so much have'} no interval")
    if is_same(ratio):
        return Verdict(Word.SAME)
    if rejected:
        return Verdict(metric.above if ratio.value > 1 else metric.below)
    return _judge_unclear(metric, ratio, family)


def _judge_unclear(metric: Metric, ratio: Ratio, family: int) -> Verdict:
    """Return the verdict on a comparison that is neither a difference nor the same, with what would decide it."""
    likely = (metric.above if ratio.value > 1 else metric.below) if ratio.differs else None
    if ratio.sd_log is None or ratio.df is None:
        return Verdict(Word.UNCLEAR, "the interval is too wide", likely)
    more = rounds_to_decide(ratio, family) - ratio.rounds
    if more > REASONABLE:
        half = math.expm1(t_quantile(CONFIDENCE, ratio.df) * ratio.sd_log / math.sqrt(ratio.rounds))
        return Verdict(Word.UNCLEAR, f"noise too large: ±{half:.0%}", likely)
    return Verdict(Word.UNCLEAR, format_missing_rounds(more), likely, more=more)


def format_missing_rounds(more: int) -> str:
    """Format the number of missing rounds: `about 4 more rounds would decide`."""
    if more > REASONABLE:
        return f"over {REASONABLE} more rounds would decide"
    return f"about {more} more round{'s' if more > 1 else ''} would decide"


def rounds_to_decide(ratio: Ratio, family: int) -> int:
    """Return after how many rounds this ratio would be a difference or the same, if mean and variance stay as they are.

    It is a difference if |mean| > t(1 - α/2m, df) · s/√n, Holm's first step in a family of m. It is the same if |mean|
    + t(.975, df) · s/√n ≤ ln(1 + MARGIN). ValueError for a ratio without a standard deviation.
    """
    if ratio.sd_log is None or ratio.df is None:
        raise ValueError("cannot predict further rounds from a ratio without a standard deviation")
    mean, prior = abs(math.log(ratio.value)), ratio.df - (ratio.rounds - 1)
    n = ratio.rounds
    while True:
        n += 1
        error, df = ratio.sd_log / math.sqrt(n), prior + n - 1
        same = mean + t_quantile(CONFIDENCE, df) * error <= math.log1p(MARGIN)
        differs = t_quantile(1 - (1 - CONFIDENCE) / family, df) * error < mean
        if same or differs or n > ratio.rounds + REASONABLE:
            return n


def apply_lower_bounds(verdict: Verdict, metric: Metric, a: Collection[Flag], b: Collection[Flag]) -> Verdict:
    """Return the verdict that remains if something other than the server limited a side.

    A lower bound is never ranked as a value. This applies only to load and latency: CPU and memory are the server's
    own, whatever limits the load.
    """
    if metric.kind not in (MetricKind.LOAD, MetricKind.LATENCY):
        return verdict
    limits_a, limits_b = LIMITED & set(a), LIMITED & set(b)
    if limits_a and limits_b:
        return _unranked("both are lower bounds", limits_a | limits_b)
    if limits_a or limits_b:
        direction = verdict.likely or verdict.word
        if (verdict.differs or verdict.likely) and (direction is Word.FASTER) == bool(limits_a):
            verdict = replace(verdict, at_least=True)
        elif verdict.differs or verdict.word is Word.SAME:
            return _unranked("one side is a lower bound and not clearly ahead", limits_a | limits_b)
        else:
            verdict = replace(verdict, likely=None)
    shared = SHARED.intersection([*a, *b])
    return replace(verdict, shared=bool(shared) and verdict.word is not Word.NOT_MEASURED)


def _unranked(reason: str, limits: Collection[Flag]) -> Verdict:
    return Verdict(Word.NOT_MEASURED, f"{reason}: {', '.join(sorted(limits))}")


def _is_cut_short(seen: Measurement) -> bool:
    """Return True if a window was too short for its slowest requests."""
    return (seen.load.latency.max_us or 0) > HALF * 1e6 * (seen.load.runtime_s - seen.load.connect_s)


def find_defect(metric: Metric, side: str, seen: Collection[Measurement]) -> str | None:
    """Return why a side's figures cannot be compared in this metric; None if they can."""
    flags = {flag for m in seen for flag in m.flags}
    waits = any(m.load.delay_s >= HOLDING_S for m in seen)
    reasons = {
        f"{side}: not all of its connections were established": Flag.NOT_ESTABLISHED in flags,
        f"{side}: its pool kept most requests waiting beyond the window": Flag.POOL_CEILING in flags
        and metric.kind is MetricKind.LATENCY,
        f"{side}: some requests took over half of the window, and the window misses longer ones": not waits
        and metric.kind is MetricKind.LATENCY
        and any(_is_cut_short(m) for m in seen),
        f"{side} did not hold all connections at once": waits
        and metric.kind is MetricKind.MEMORY
        and not all(held_all_connections(m) for m in seen),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)
