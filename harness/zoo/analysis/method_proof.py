"""What dedicated runs prove about the method: false differences, a known slowdown, designs compared. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from scipy.special import bdtrc

from zoo.analysis.metrics import CPU, REQUESTS, Metric, Word
from zoo.analysis.pairs import Compared, Kind
from zoo.analysis.stats import Ratio, t_quantile
from zoo.analysis.stats.ratio import CONFIDENCE
from zoo.model.run import Run

PLAIN, SLOWED, UNCHANGED = "slowed:plain", "slowed:slowed", "slowed:unchanged"
"""Of the fixture: its default, the variant that burns 5 % more CPU, and the one that differs in name only."""

WIDTHS_OF = (REQUESTS, CPU)


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


def alarms(compared: Compared, metric: Metric | None = None) -> Alarms:
    """Of one metric, or of all."""
    known = [
        (c.ratio.differs, c.verdict.differs)
        for pair in compared.of(Kind.AGAIN)
        for c in pair.comparisons.values()
        if c.ratio is not None and c.ratio.differs is not None and metric in (None, c.metric)
    ]
    return Alarms(len(known), sum(bool(outside) for outside, _ in known), sum(called for _, called in known))


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
