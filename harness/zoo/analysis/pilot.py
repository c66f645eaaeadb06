"""From a pilot run: how many rounds a wanted precision costs, pair by pair. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from zoo.analysis.metrics import CPU, REQUESTS, Metric
from zoo.analysis.pairs import Kind, Pair
from zoo.analysis.stats import rounds_for, sd_at_most
from zoo.plan.scenario import SCENARIOS
from zoo.plan.windows import MANY

PLANNED = (REQUESTS, CPU)


@dataclass(frozen=True)
class Need:
    """Rounds that one comparison needs: expected, and with 80% assurance given how few rounds the pilot had."""

    a: str
    b: str
    scenario: str
    tier: str
    metric: Metric
    sd_log: float
    expected: int
    assured: int


def further_rounds(pairs: Iterable[Pair], wanted: float, done: int) -> int:
    """Rounds beside those done until each named pair of throughput is known to ± wanted (0.05: 5 %).

    They follow from the figures' variance and never from their differences, so that a difference is no reason to stop.
    Over `MANY` connections a window is mostly their opening, so no rounds are added for those.
    """
    busy = [p for p in pairs if p.requested <= MANY and SCENARIOS[p.scenario.partition(" ")[0]].settle]
    return max(0, max((need.expected for need in needs(busy, wanted)), default=0) - done)


def needs(pairs: Iterable[Pair], wanted: float) -> list[Need]:
    """What each named pair and guest needs in each cell; comparisons without two rounds in the pilot tell nothing."""
    found = []
    for pair in pairs:
        for metric in PLANNED:
            comparison = pair.comparisons.get(metric)
            ratio = comparison.ratio if comparison else None
            if pair.kind not in (Kind.MODEL, Kind.GUEST) or ratio is None or ratio.sd_log is None:
                continue
            found.append(
                Need(
                    a=pair.a,
                    b=pair.b,
                    scenario=pair.scenario,
                    tier=pair.tier,
                    metric=metric,
                    sd_log=ratio.sd_log,
                    expected=rounds_for(ratio.sd_log, wanted, prior_df=(ratio.df or 0) - (ratio.rounds - 1)),
                    assured=rounds_for(sd_at_most(ratio.sd_log, ratio.rounds), wanted),
                )
            )
    return found
