"""Figures of runs that check the method: false differences, power, and designs compared. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from scipy.special import bdtrc

from zoo.analysis.metrics import CPU, REQUESTS, Metric
from zoo.analysis.pairs import Compared, Comparison, Kind, compare, judged
from zoo.analysis.stats import Ratio, t_quantile
from zoo.analysis.stats.ratio import CONFIDENCE
from zoo.model.record import Record
from zoo.model.run import Run

WIDTHS_OF = (REQUESTS, CPU)

SHORT = 3
"""Rounds of a usual run; a long run is cut into runs of this many."""

CHANGES = (0.05, 0.10, 0.20)
"""The changes of a server whose detection rate is reported."""


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
        """The probability of so many or more outside at the nominal rate, were the intervals independent."""
        return float(bdtrc(self.outside - 1, self.intervals, 1 - CONFIDENCE))


def short_runs(run: Run, records: Sequence[Record]) -> list[Compared]:
    """Cut a run into runs of `SHORT` rounds, dropping the rest; a run too short to cut stays whole."""
    if run.plan.rounds < 2 * SHORT:
        return [compare(run.plan.entries, records)]
    starts = range(1, run.plan.rounds - SHORT + 2, SHORT)
    return [compare(run.plan.entries, [r for r in records if first <= r.round < first + SHORT]) for first in starts]


def alarms(runs: Sequence[Compared], metric: Metric | None = None) -> Alarms:
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
    """Return how often a server with `change` less throughput, or so much more CPU, is found.

    Its ratios are those measured of equal servers, times the change: on the log scale their noise is the same.
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
    """The comparisons of A/A pairs that have an interval."""
    return [
        c
        for one in runs
        for pair in one.of(Kind.AGAIN)
        if tier in (None, pair.tier)
        for c in pair.comparisons.values()
        if c.ratio is not None and c.ratio.differs is not None
    ]


def _changed(found: Compared, metric: Metric, factor: float) -> Compared:
    """Return the A/A pairs as they would be if one side had changed."""
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


@dataclass(frozen=True)
class Width:
    """The ratio of a pair in one metric and design, after the minutes it took; `again` is the A/A pair of that run."""

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
        """Standard deviation of one round's log-ratio: the root mean square of the pair's and the A/A pair's."""
        known = [r.sd_log for r in (self.pair, self.again) if r.sd_log is not None]
        return math.sqrt(sum(sd**2 for sd in known) / len(known))

    def half_width(self, minutes: float) -> float:
        """The half-width of the 95% interval expected after so many minutes, as a share."""
        rounds = self.rounds * minutes / self.minutes
        return math.expm1(t_quantile(CONFIDENCE, rounds - 1) * self.sd_log / math.sqrt(rounds))


def widths(run: Run, compared: Compared) -> list[Width]:
    """Return the widths of a run of two entries with A/A in one tier, but for metrics without two rounds of both."""
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
    """Return how long a run took; ValueError if it has not ended."""
    if run.finished_at is None:
        raise ValueError(f"run {run.id} has not ended")
    taken = datetime.fromisoformat(run.finished_at) - datetime.fromisoformat(run.started_at)
    return taken.total_seconds() / 60
