"""A mean or a median over rounds or starts, with its confidence interval. Formulas with their sources. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import bdtr, stdtrit  # of scipy.stats only these are wanted, and it takes a second to load

from zoo.analysis.stats.ratio import t_quantile, welch
from zoo.analysis.stats.spread import stdev, variance


@dataclass(frozen=True)
class Interval:
    """low and high are None where there are too few values for an interval."""

    value: float
    low: float | None
    high: float | None
    n: int


def of_mean(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """mean ± t(1-(1-confidence)/2, n-1) · s/√n (Student 1908). ValueError without values."""
    if not values:
        raise ValueError("an interval needs values")
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Interval(mean, None, None, 1)
    quantile = float(stdtrit(len(values) - 1, (1 + confidence) / 2))
    half = quantile * stdev(values) / math.sqrt(len(values))
    return Interval(mean, mean - half, mean + half, len(values))


def of_difference(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Interval:
    """Mean of a less mean of b, of values that have nothing to do with each other, ± t · √(s²ₐ/n + s²_b/m) with degrees
    of freedom by Welch (1947) and Satterthwaite (1946). ValueError without values."""
    if not a or not b:
        raise ValueError("a difference needs values of both")
    value, n = statistics.fmean(a) - statistics.fmean(b), min(len(a), len(b))
    if n < 2:
        return Interval(value, None, None, n)
    error_a, error_b = variance(a) / len(a), variance(b) / len(b)
    df = welch(error_a, len(a) - 1, error_b, len(b) - 1)
    half = t_quantile(confidence, df) * math.sqrt(error_a + error_b)
    return Interval(value, value - half, value + half, n)


def of_median(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """The median with the narrowest symmetric pair of order statistics that covers it at least so often.

    x(k) ≤ median ≤ x(n+1-k) fails in 2·P(Bin(n, ½) < k) of all samples of any continuous distribution; the largest k
    for which that is at most 1-confidence is taken (David and Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1;
    Le Boudec, Performance Evaluation of Computer and Communication Systems, 2010, theorem 2.1). For 95 % at least 6
    values are needed. ValueError without values.
    """
    if not values:
        raise ValueError("an interval needs values")
    ordered = sorted(values)
    n = len(ordered)
    k = next(k for k in range(n) if bdtr(k, n, 0.5) >= (1 - confidence) / 2)  # so P(Bin < k) < α/2
    if k < 1:
        return Interval(statistics.median(ordered), None, None, n)
    return Interval(statistics.median(ordered), ordered[k - 1], ordered[n - k], n)
