"""Figures of runs that check the method: false differences, power and designs compared. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from scipy.special import bdtrc

from zoo.core.record import Record
from zoo.core.run import Run
from zoo.stats import Ratio, t_quantile
from zoo.stats.metrics import CPU, REQUESTS, Metric
from zoo.stats.pair_interval import CONFIDENCE
from zoo.stats.pairs import Comparison, Kind, RunPairs, compare, with_verdicts

WIDTHS_OF = (REQUESTS, CPU)

SHORT = 3
"""Number of rounds in a usual run; a long run is cut into runs of this length."""

CHANGES = (0.05, 0.10, 0.20)
"""The changes of a server for which the detection rate is reported."""


@dataclass(frozen=True)
class FalseAlarms:
    """Intervals of A/A pairs. Those that exclude 1 and those called a difference are false."""

    intervals: int
    outside: int
    called: int

    @property
    def nominal(self) -> float:
        """Return how many intervals exclude 1 by definition."""
        return (1 - CONFIDENCE) * self.intervals

    @property
    def chance(self) -> float:
        """Return the probability of at least this many outside at the nominal rate, were the intervals independent."""
        return float(bdtrc(self.outside - 1, self.intervals, 1 - CONFIDENCE))


def short_runs(run: Run, records: Sequence[Record]) -> list[RunPairs]:
    """Cut a run into runs of `SHORT` rounds and drop the rest; a run too short to cut stays whole."""
    if run.plan.rounds < 2 * SHORT:
        return [compare(run.plan.entries, records)]
    starts = range(1, run.plan.rounds - SHORT + 2, SHORT)
    return [compare(run.plan.entries, [r for r in records if first <= r.round < first + SHORT]) for first in starts]


def count_alarms(runs: Sequence[RunPairs], metric: Metric | None = None) -> FalseAlarms:
    known = [c for c in _aa_comparisons(runs) if metric in (None, c.metric)]
    return FalseAlarms(
        len(known), sum(bool(c.ratio and c.ratio.differs) for c in known), sum(c.verdict.differs for c in known)
    )


@dataclass(frozen=True)
class Power:
    """The number of times that a change of one metric is found at one load.

    `alone` counts the `tried` comparisons that find it by their own interval, `called` those after
    Holm's correction. `half_width` is the median of the intervals', as a share.
    """

    metric: Metric
    tier: str
    change: float
    tried: int
    alone: int
    called: int
    half_width: float


def power(runs: Sequence[RunPairs], metric: Metric, tier: str, change: float) -> Power:
    """Return how often a server with `change` less throughput, or that much more CPU, is found.

    The ratios are those measured between equal servers, multiplied by the change: on the log scale their noise is the
    same.
    """
    factor = 1 - change if metric is REQUESTS else 1 + change
    found = [
        c for c in _aa_comparisons([_apply_change(one, metric, factor) for one in runs], tier) if c.metric is metric
    ]
    right = [c for c in found if c.ratio and c.ratio.differs and (c.ratio.value < 1) == (factor < 1)]
    widths = [c.ratio.half_width for c in found if c.ratio and c.ratio.low and c.ratio.high]
    called = sum(c.verdict.differs for c in right)
    return Power(
        metric, tier, change, len(found), len(right), called, statistics.median(widths) if widths else math.nan
    )


def _aa_comparisons(runs: Sequence[RunPairs], tier: str | None = None) -> list[Comparison]:
    """Return the comparisons of A/A pairs that have an interval."""
    return [
        c
        for one in runs
        for pair in one.of(Kind.AA)
        if tier in (None, pair.tier)
        for c in pair.comparisons.values()
        if c.ratio is not None and c.ratio.differs is not None
    ]


def _apply_change(found: RunPairs, metric: Metric, factor: float) -> RunPairs:
    """Return the A/A pairs as they would be if one side had changed."""
    pairs = []
    for pair in found.of(Kind.AA):
        compared = pair.comparisons.get(metric)
        was = compared.ratio if compared else None
        if compared is None or was is None or was.low is None or was.high is None:
            continue
        ratio = replace(was, value=was.value * factor, low=was.low * factor, high=was.high * factor)
        ratio = replace(ratio, p=was.p_of(1 / factor))
        pairs.append(replace(pair, comparisons={metric: replace(compared, ratio=ratio)}))
    return replace(found, pairs=with_verdicts(pairs))


@dataclass(frozen=True)
class Width:
    """The ratio of a pair in one metric and design after `minutes`; `again` is the A/A pair of that run."""

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
        """Return the standard deviation of one round's log-ratio.

        It is the root mean square of the standard deviations of the pair and the A/A pair.
        """
        known = [r.sd_log for r in (self.pair, self.again) if r.sd_log is not None]
        return math.sqrt(sum(sd**2 for sd in known) / len(known))

    def half_width(self, minutes: float) -> float:
        """Return the half-width of the 95% interval expected after this many minutes, as a share."""
        rounds = self.rounds * minutes / self.minutes
        return math.expm1(t_quantile(CONFIDENCE, rounds - 1) * self.sd_log / math.sqrt(rounds))


def widths(run: Run, compared: RunPairs) -> list[Width]:
    """Return the widths for a run of two entries with A/A at one connection count.

    Metrics without two rounds of both pairs are left out.
    """
    (pair,) = [*compared.of(Kind.MODEL), *compared.of(Kind.VARIANT)]
    (again,) = compared.of(Kind.AA)
    result = []
    for metric in WIDTHS_OF:
        ratio, same = pair.comparisons[metric].ratio, again.comparisons[metric].ratio
        if ratio is None or same is None or ratio.sd_log is None or same.sd_log is None:
            continue
        result.append(Width(pair.a, pair.b, run.plan.design, metric, run.plan.rounds, run_minutes(run), ratio, same))
    return result


def run_minutes(run: Run) -> float:
    """Return the duration of a run in minutes; ValueError if it has not ended."""
    if run.finished_at is None:
        raise ValueError(f"run {run.id} has not ended")
    taken = datetime.fromisoformat(run.finished_at) - datetime.fromisoformat(run.started_at)
    return taken.total_seconds() / 60
