"""The noise band: how much one program differs from itself in this run (A/A). Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.analysis.metrics import Metric
from zoo.analysis.stats import Ratio, t_quantile
from zoo.analysis.stats.ratio import CONFIDENCE

BandKey = tuple[str, Metric, bool]
"""Scenario, metric, and whether it is a JVM's band or a native program's."""


@dataclass(frozen=True)
class Band:
    """The standard deviation of the log-ratio of a program to itself in one round, over the tiers of a scenario."""

    sd_log: float
    rounds: int
    cells: int

    def factor(self, rounds: int) -> float:
        """A ratio over so many rounds lies between 1/factor and factor in 95 % of cases, if nothing differs.

        exp(t(.975, r) · s / √rounds). s is taken around the true value, a log-ratio of 0, so r rounds give r degrees of
        freedom. The tiers of a round share their processes: they make s steadier but add no degrees of freedom.
        """
        return math.exp(t_quantile(CONFIDENCE, self.rounds) * self.sd_log / math.sqrt(rounds))


def noise_bands(ratios: Iterable[tuple[BandKey, Ratio]]) -> dict[BandKey, Band]:
    """One band a scenario, metric and kind from the ratios of A/A pairs; none from a single round."""
    groups: dict[BandKey, list[Ratio]] = {}
    for key, ratio in ratios:
        if ratio.sd_log is not None:
            groups.setdefault(key, []).append(ratio)
    return {key: _band(group) for key, group in groups.items()}


def _band(ratios: list[Ratio]) -> Band:
    squares = sum((r.rounds - 1) * (r.sd_log or 0.0) ** 2 + r.rounds * math.log(r.value) ** 2 for r in ratios)
    return Band(
        sd_log=math.sqrt(squares / sum(r.rounds for r in ratios)),
        rounds=max(r.rounds for r in ratios),
        cells=len(ratios),
    )
