"""A round that stands apart from the others. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from zoo.analysis.stats.ratio import t_quantile
from zoo.analysis.stats.spread import stdev

LEAST_ROUNDS = 5
ALPHA = 0.01


def outlier(values: Sequence[float], alpha: float = ALPHA) -> int | None:
    """Place of the value that stands apart, None when there is none; to be flagged, never dropped.

    Grubbs' two-sided test on logarithms ("Procedures for detecting outlying observations in samples", 1969): the
    largest |x - mean|/s against (n-1)/√n · √(t²/(n-2+t²)), t of n-2 degrees of freedom at 1 - alpha/2n. From five
    values on. Of sound sets a share of `alpha` is flagged at every n; fixed limits on robust z-scores do not:
    the usual 3.5 flags over a tenth of the sets of five. One value at most: two that stand apart hide each other.
    """
    n = len(values)
    if n < LEAST_ROUNDS or min(values) <= 0:
        return None
    logs = [math.log(value) for value in values]
    mean, sd = statistics.fmean(logs), stdev(logs)
    if sd == 0:
        return None
    t2 = t_quantile(1 - alpha / n, n - 2) ** 2
    farthest = max(range(n), key=lambda i: abs(logs[i] - mean))
    critical = (n - 1) / math.sqrt(n) * math.sqrt(t2 / (n - 2 + t2))
    return farthest if abs(logs[farthest] - mean) / sd > critical else None
