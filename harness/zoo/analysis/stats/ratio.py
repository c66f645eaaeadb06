"""Ratios with intervals: two entries of one run round by round, or two runs. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtr, stdtrit

from zoo.analysis.stats.spread import stdev, variance

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ratio:
    """A ratio with its confidence interval.

    `low` and `high` are None where there is none: below two rounds, or where the denominator of two runs is too
    uncertain to bound the ratio. `p` belongs to "the ratio is 1" and is below 1 - confidence exactly where the interval
    leaves out 1. `sd_log` is the standard deviation of a round's log-ratio that the interval is made of, and `df` its
    degrees of freedom; of paired ratios only.
    """

    value: float
    low: float | None
    high: float | None
    rounds: int
    p: float | None = None
    sd_log: float | None = None
    df: float | None = None

    @property
    def differs(self) -> bool | None:
        """True when the interval leaves out 1, None when there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low > 1 or self.high < 1

    def p_of(self, bound: float) -> float:
        """Return the two-sided p of "the ratio is `bound`"; 0 for all but paired ratios with an interval."""
        if self.sd_log is None or self.df is None or self.low is None or bound <= 0:
            return 0.0
        return _p(math.log(self.value / bound), self.sd_log / math.sqrt(self.rounds), self.df)


def t_quantile(confidence: float, df: float) -> float:
    """Return Student's t that bounds this share of the distribution on both sides of 0."""
    return float(stdtrit(df, (1 + confidence) / 2))


def student_ratio(logs: Sequence[float]) -> Ratio:
    """Return the geometric mean of independent ratios, with an interval from their own variance alone (Student 1908).

    On the log scale a ratio and its inverse give the same verdict. A single one has no interval.
    """
    n, mean = len(logs), statistics.fmean(logs)
    if n < 2:
        return Ratio(math.exp(mean), None, None, n)
    return from_error(mean, stdev(logs), n, n - 1)


def from_error(mean: float, sd: float, n: int, df: float) -> Ratio:
    """exp(mean ± t(1-(1-CONFIDENCE)/2, df) · sd/√n), of the mean of n log-ratios."""
    error = sd / math.sqrt(n)
    half = t_quantile(CONFIDENCE, df) * error
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n, _p(mean, error, df), sd, df)


def unpaired_ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Return the mean of a over the mean of b, for rounds that are independent of each other: two runs.

    Fieller's theorem (Fieller 1954) on the means of the highest level of replication, here rounds (Kalibera and Jones,
    "Rigorous benchmarking in reasonable time", ISMM 2013): all θ with |ā - θ·b̄| ≤ t·√(s²ₐ/n + θ²·s²_b/m). Degrees of
    freedom by Welch and Satterthwaite at θ = ā/b̄, as two runs need not vary equally. Without an interval where
    g = t²·s²_b/(m·b̄²) ≥ 1: the interval of b̄ itself then contains 0, and no ratio is ruled out. Below 0 is cut off.
    """
    if not a or not b:
        raise ValueError("a ratio needs at least one round of both")
    if min(*a, *b) <= 0:
        raise ValueError("a ratio needs positive values")
    rounds = min(len(a), len(b))
    mean_a, mean_b = statistics.fmean(a), statistics.fmean(b)
    value = mean_a / mean_b
    if rounds < 2:
        return Ratio(value, None, None, rounds)
    error_a, error_b = variance(a) / len(a), variance(b) / len(b)
    df = welch(error_a, len(a) - 1, value**2 * error_b, len(b) - 1)
    t = t_quantile(CONFIDENCE, df)
    p = _p(mean_a - mean_b, math.sqrt(error_a + error_b), df)
    g = t**2 * error_b / mean_b**2
    if g >= 1:
        return Ratio(value, None, None, rounds, p)
    half = t / mean_b * math.sqrt(error_a * (1 - g) + value**2 * error_b)
    return Ratio(value, max((value - half) / (1 - g), 0.0), (value + half) / (1 - g), rounds, p)


def welch(first: float, df_first: int, second: float, df_second: int) -> float:
    """Return the degrees of freedom of the sum of two independent variances (Satterthwaite 1946, Welch 1947)."""
    if first + second == 0:
        return df_first + df_second
    return (first + second) ** 2 / (first**2 / df_first + second**2 / df_second)


def _p(difference: float, error: float, df: float) -> float:
    """Return the two-sided p; without any spread a difference is certain, and no difference is none."""
    if error == 0:
        return 0.0 if difference else 1.0
    return 2 * float(stdtr(df, -abs(difference) / error))
