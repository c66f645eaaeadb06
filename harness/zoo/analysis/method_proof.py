"""What dedicated runs prove about the method: false differences, a known slowdown, designs compared. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from scipy.special import bdtrc

from zoo.analysis.metrics import CPU, REQUESTS, Metric, Word
from zoo.analysis.pairs import Compared, Comparison, Kind, compare, judged
from zoo.analysis.stats import Ratio, t_quantile
from zoo.analysis.stats.ratio import CONFIDENCE
from zoo.model.record import Record
from zoo.model.run import Run

PLAIN, SLOWED, UNCHANGED = "slowed:plain", "slowed:slowed", "slowed:unchanged"
"""Of the fixture: its default, the variant that burns 5 % more CPU, and the one that differs in name only."""

WIDTHS_OF = (REQUESTS, CPU)

SHORT = 3
"""Rounds of a run as people make it; a long one is cut into as many of these as it holds."""

CHANGES = (0.05, 0.10, 0.20)
"""By which a server is made slower, to see how often that is found."""


@dataclass(frozen=True)
class Alarms:
    """Intervals of A/A pairs: those that leave out 1, and those called a difference, are false."""

    intervals: int
    outside: int
    called: int

    @property
    def nominal(self) -> float:
        """How many leave out 1 by definition of the interval."""
        return (1 - CONFIDENCE) * self.intervals

    @property
    def chance(self) -> float:
        """Of so many or more outside at the nominal rate, were the intervals independent."""
        return float(bdtrc(self.outside - 1, self.intervals, 1 - CONFIDENCE))

    @property
    def nominally(self) -> bool:
        """False when there are so many that the nominal rate gives them in less than one run of twenty."""
        return self.chance >= 1 - CONFIDENCE


def short_runs(run: Run, records: Sequence[Record]) -> list[Compared]:
    """Each `SHORT` rounds of a run as a run of their own; what is left over belongs to none. Of fewer, all as one."""
    if run.plan.rounds < 2 * SHORT:
        return [compare(run.plan.entries, records)]
    starts = range(1, run.plan.rounds - SHORT + 2, SHORT)
    return [compare(run.plan.entries, [r for r in records if first <= r.round < first + SHORT]) for first in starts]


def alarms(runs: Sequence[Compared], metric: Metric | None = None) -> Alarms:
    """Of one metric, or of all."""
    known = [c for c in _again(runs) if metric in (None, c.metric)]
    return Alarms(
        len(known), sum(bool(c.ratio and c.ratio.differs) for c in known), sum(c.verdict.differs for c in known)
    )


@dataclass(frozen=True)
class Power:
    """How often a change of one metric is found at one load: in `alone` of `tried` by the interval, `called` by Holm.

    `half_width` is the median of the intervals', as a share.
    """

    metric: Metric
    tier: str
    change: float
    tried: int
    alone: int
    called: int
    half_width: float


def power(runs: Sequence[Compared], metric: Metric, tier: str, change: float) -> Power:
    """Of a server that has `change` less throughput, or takes so much more CPU.

    Its ratios are those of equal servers, as measured, times the change: on the log scale their noise is the same.
    """
    factor = 1 - change if metric is REQUESTS else 1 + change
    found = [c for c in _again([_changed(one, metric, factor) for one in runs], tier) if c.metric is metric]
    right = [c for c in found if c.ratio and c.ratio.differs and (c.ratio.value < 1) == (factor < 1)]
    widths = [math.sqrt(c.ratio.high / c.ratio.low) - 1 for c in found if c.ratio and c.ratio.low and c.ratio.high]
    called = sum(c.verdict.differs for c in right)
    return Power(
        metric, tier, change, len(found), len(right), called, statistics.median(widths) if widths else math.nan
    )


def _again(runs: Sequence[Compared], tier: str | None = None) -> list[Comparison]:
    """What A/A pairs compared, where there is an interval."""
    return [
        c
        for one in runs
        for pair in one.of(Kind.AGAIN)
        if tier in (None, pair.tier)
        for c in pair.comparisons.values()
        if c.ratio is not None and c.ratio.differs is not None
    ]


def _changed(found: Compared, metric: Metric, factor: float) -> Compared:
    """Its A/A pairs, as they would be were one side changed."""
    pairs = []
    for pair in found.of(Kind.AGAIN):
        compared = pair.comparisons.get(metric)
        was = compared.ratio if compared else None
        if compared is None or was is None or was.low is None or was.high is None:
            continue
        ratio = replace(was, value=was.value * factor, low=was.low * factor, high=was.high * factor)
        ratio = replace(ratio, p=was.p_of(1 / factor))
        pairs.append(replace(pair, comparisons={metric: replace(compared, ratio=ratio)}))
    return replace(found, pairs=judged(pairs))


def slowdown_found(compared: Compared) -> bool:
    """True when the slowed variant is called slower, and the unchanged one neither slower nor faster."""
    verdicts = {pair.a: pair.comparisons[REQUESTS].verdict for pair in compared.of(Kind.VARIANT)}
    return verdicts[SLOWED].word is Word.SLOWER and not verdicts[UNCHANGED].differs


@dataclass(frozen=True)
class Width:
    """What a design gave for one metric of a pair in the minutes it took; `again` is the A/A pair beside it."""

    a: str
    b: str
    design: str
    metric: Metric
    rounds: int
    minutes: float
    pair: Ratio
    again: Ratio

    @property
    def sd_log(self) -> float:
        """Of one round's log-ratio: root mean square of the pair's and A/A's, which one design makes vary alike."""
        known = [r.sd_log for r in (self.pair, self.again) if r.sd_log is not None]
        return math.sqrt(sum(sd**2 for sd in known) / len(known))

    def half_width(self, minutes: float) -> float:
        """Of the 95 % interval expected after so many minutes, as a share."""
        rounds = self.rounds * minutes / self.minutes
        return math.expm1(t_quantile(CONFIDENCE, rounds - 1) * self.sd_log / math.sqrt(rounds))


def widths(run: Run, compared: Compared) -> list[Width]:
    """Of a run of two entries with A/A in one tier; metrics without two rounds of both are left out."""
    (pair,) = [*compared.of(Kind.MODEL), *compared.of(Kind.VARIANT)]
    (again,) = compared.of(Kind.AGAIN)
    made = []
    for metric in WIDTHS_OF:
        ratio, same = pair.comparisons[metric].ratio, again.comparisons[metric].ratio
        if ratio is None or same is None or ratio.sd_log is None or same.sd_log is None:
            continue
        made.append(Width(pair.a, pair.b, run.plan.design, metric, run.plan.rounds, minutes_of(run), ratio, same))
    return made


def minutes_of(run: Run) -> float:
    """How long it took. ValueError for a run that has not ended."""
    if run.finished_at is None:
        raise ValueError(f"run {run.id} has not ended")
    taken = datetime.fromisoformat(run.finished_at) - datetime.fromisoformat(run.started_at)
    return taken.total_seconds() / 60


def rounds_within(seconds: float, round_s: Sequence[float], least: int) -> list[int]:
    """Rounds for each of several runs that share the time equally, of which a round takes `round_s`."""
    share = seconds / len(round_s)
    return [max(least, math.floor(share / one)) for one in round_s]
