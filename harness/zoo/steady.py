"""Whether a server is warm: throughput of one window after the other. Pure."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

STEADY_WINDOWS = 4
TREND_MATTERS = 0.02
TREND = {4: 6, 5: 8, 6: 11}
"""Windows: the least |S| of Mann and Kendall whose two-sided probability without a trend is below 10 %."""


def steady(rates: Sequence[float]) -> bool:
    """True when the last windows show no trend that matters: more of them would not bring another throughput.

    A trend that matters: the least-squares line over the last four windows rises or falls by 2 % of their mean, and the
    windows (up to six) follow their order so closely that noise does so in less than one case of ten (Mann 1945,
    Kendall 1970: S = Σ sign(later - earlier)). A bound on the variation is no part of it: where windows of
    a warm server vary by 8 % it would never be met (docs/method.md).
    """
    last = rates[-STEADY_WINDOWS:]
    if len(last) < STEADY_WINDOWS or min(last) <= 0:
        return False
    rise = statistics.linear_regression(range(STEADY_WINDOWS), last).slope * (STEADY_WINDOWS - 1)
    if abs(rise) < TREND_MATTERS * statistics.fmean(last):
        return True
    recent = rates[-max(TREND) :]
    s = sum((late > early) - (late < early) for early, late in itertools.combinations(recent, 2))
    return abs(s) < TREND[len(recent)]
