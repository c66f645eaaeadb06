"""Intervals of medians, families of comparisons, outlying rounds and the rounds a precision needs. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import bdtr, chdtri, ndtri, stdtrit

from zoo.stats.pair_interval import CONFIDENCE, Ratio, stdev, t_quantile, variance, welch


@dataclass(frozen=True)
class Interval:
    """A value with its confidence interval; `low` and `high` are None if there are too few values for an interval."""

    value: float
    low: float | None
    high: float | None
    n: int


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return mean ± t(1-(1-confidence)/2, n-1) · s/√n (Student 1908). ValueError without values."""
    if not values:
        raise ValueError("an interval needs values")
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Interval(mean, None, None, 1)
    quantile = float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    half = quantile * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half, len(values))


def difference_interval(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the mean of a less the mean of b, with an interval; ValueError without values.

    The values of a and b are independent. The interval is ± t · √(s²ₐ/n + s²_b/m) with degrees of freedom by Welch
    (1947) and Satterthwaite (1946).
    """
    if not a or not b:
        raise ValueError("a difference needs values of both")
    value, n = statistics.fmean(a) - statistics.fmean(b), min(len(a), len(b))
    if n < 2:
        return Interval(value, None, None, n)
    error_a, error_b = variance(a) / len(a), variance(b) / len(b)
    df = welch(error_a, len(a) - 1, error_b, len(b) - 1)
    half = t_quantile(confidence, df) * math.sqrt(error_a + error_b)
    return Interval(value, value - half, value + half, n)


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Return the median with the narrowest symmetric pair of order statistics that reaches this confidence.

    x(k) ≤ median ≤ x(n+1-k) fails for 2·P(Bin(n, ½) < k) of all samples of any continuous distribution. The largest k
    for which that is at most 1-confidence is used (David and Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1; Le
    Boudec, Performance Evaluation of Computer and Communication Systems, 2010, theorem 2.1). For 95%, at least 6 values
    are needed. ValueError without values.
    """
    if not values:
        raise ValueError("an interval needs values")
    ordered = sorted(values)
    n = len(ordered)
    k = next(k for k in range(n) if bdtr(k, n, 0.5) >= (1 - confidence) / 2)  # so P(Bin < k) < α/2
    if k < 1:
        return Interval(statistics.median(ordered), None, None, n)
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[n - k], n)


@dataclass(frozen=True)
class AdjustedP:
    """A p-value adjusted for its family, and whether its hypothesis is rejected."""

    p: float
    rejected: bool


def holm(ps: Sequence[float], alpha: float = 0.05) -> list[AdjustedP]:
    """Adjust p-values by Holm's step-down correction; the result keeps their order.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979. The k-th smallest of m p-values is
    multiplied by m - k + 1 and is at least the adjusted one before it. The probability of any false rejection in the
    family is at most alpha, however the p-values depend on each other.
    """
    adjusted: dict[int, AdjustedP] = {}
    least = 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        least = max(least, min(1.0, (len(ps) - place) * ps[index]))
        adjusted[index] = AdjustedP(least, least <= alpha)
    return [adjusted[index] for index in range(len(ps))]


LEAST_ROUNDS = 5
ALPHA = 0.01


def find_outlier(values: Sequence[float], alpha: float = ALPHA) -> int | None:
    """Return the index of the outlying value, None if there is none. It is to be flagged, never dropped.

    Grubbs' two-sided test on logarithms ("Procedures for detecting outlying observations in samples", 1969) compares
    the largest |x - mean|/s with (n-1)/√n · √(t²/(n-2+t²)), where t has n-2 degrees of freedom at 1 - alpha/2n. It
    needs at least five values. For every n it flags a share of `alpha` of the sets without an outlier. Fixed limits on
    robust z-scores do not: the usual 3.5 flags more than a tenth of the sets of five. At most one value is flagged: two
    outliers hide each other.
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


def rounds_for(sd_log: float, half_width: float, confidence: float = CONFIDENCE, prior_df: float = 0.0) -> int:
    """Return the rounds after which a paired ratio is expected to be known to ± half_width (0.03: 3%).

    This is the least n ≥ 2 with t((1+confidence)/2, d₀+n-1) · s/√n ≤ ln(1 + half_width), where d₀ is the prior's
    degrees of freedom. t depends on n, so n is increased from the normal approximation, which is never too large.
    Kalibera and Jones (ISMM 2013) plan in the same way from a pilot's variance.
    """
    if sd_log < 0 or half_width <= 0:
        raise ValueError("a precision needs a standard deviation of at least 0 and a half-width above 0")
    wanted = math.log1p(half_width)
    n = max(2, math.floor((float(ndtri((1 + confidence) / 2)) * sd_log / wanted) ** 2))
    while t_quantile(confidence, prior_df + n - 1) * sd_log / math.sqrt(n) > wanted:
        n += 1
    return n


def rounds_for_ratio(ratio: Ratio, half_width: float) -> int:
    """Return the rounds after which this paired ratio, with its prior, is expected to be known to ± half_width."""
    if ratio.sd_log is None:
        raise ValueError("only a paired ratio has a standard deviation")
    return rounds_for(ratio.sd_log, half_width, prior_df=(ratio.df or 0) - (ratio.rounds - 1))


def sd_upper_bound(sd: float, n: int, assurance: float = 0.80) -> float:
    """Return the value that the true standard deviation does not exceed with probability `assurance`.

    It is s·√((n-1)/χ²(1-assurance, n-1)), for `sd` seen in n observations. The few rounds of a pilot say little about
    the true value: in half of the cases it is larger than the one seen (Browne 1995, "On the use of a pilot sample for
    sample size determination").
    """
    if n < 2:
        raise ValueError("a standard deviation needs two observations")
    return sd * math.sqrt((n - 1) / float(chdtri(n - 1, assurance)))
