"""How many rounds a wanted precision costs. Pure."""

from __future__ import annotations

import math

from scipy.special import chdtri, ndtri

from zoo.analysis.stats.ratio import CONFIDENCE, t_quantile


def rounds_for(sd_log: float, half_width: float, confidence: float = CONFIDENCE, prior_df: float = 0.0) -> int:
    """Rounds after which a paired ratio is expected to be known to ± half_width (0.03: 3 %).

    The least n ≥ 2 with t((1+confidence)/2, d₀+n-1) · s/√n ≤ ln(1 + half_width), d₀ being what a prior counts for. t
    depends on n, so n is tried upwards from the normal approximation, which is never too large (Kalibera and Jones,
    ISMM 2013, plan in the same way from a pilot's variance).
    """
    if sd_log < 0 or half_width <= 0:
        raise ValueError("a precision needs a standard deviation of at least 0 and a half-width above 0")
    wanted = math.log1p(half_width)
    n = max(2, math.floor((float(ndtri((1 + confidence) / 2)) * sd_log / wanted) ** 2))
    while t_quantile(confidence, prior_df + n - 1) * sd_log / math.sqrt(n) > wanted:
        n += 1
    return n


def sd_at_most(sd: float, n: int, assurance: float = 0.80) -> float:
    """What the true standard deviation does not exceed with this probability, seen `sd` in n observations.

    s·√((n-1)/χ²(1-assurance, n-1)): a few rounds of a pilot tell little about it, and in half of the cases it is larger
    than seen (Browne 1995, "On the use of a pilot sample for sample size determination").
    """
    if n < 2:
        raise ValueError("a standard deviation needs two observations")
    return sd * math.sqrt((n - 1) / float(chdtri(n - 1, assurance)))
