"""The interval of a pair: two entries of one run, round by round, or a cell of two runs. Pure.

A few rounds say little about their own variance, so Student's interval is wide. Empirical Bayes (G. Smyth, "Linear
models and empirical Bayes methods for assessing differential expression in microarray experiments", 2004) mixes a
pair's variance with a prior. The prior's weight is learnt from how well it predicts the variances of all pairs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from scipy.special import digamma, polygamma, stdtr, stdtrit


def variance(values: Sequence[float]) -> float:
    """Return the variance of at least two values; it is exactly 0 if they are equal.

    `statistics.variance` gives the same result but computes with fractions and takes twenty times as long.
    """
    apart = [value - values[0] for value in values]
    mean = math.fsum(apart) / len(apart)
    return math.fsum((value - mean) ** 2 for value in apart) / (len(apart) - 1)


def stdev(values: Sequence[float]) -> float:
    return math.sqrt(variance(values))


CONFIDENCE = 0.95


@dataclass(frozen=True)
class Ratio:
    """A ratio with its confidence interval.

    `low` and `high` are None if there is no interval: with fewer than two rounds, or if the denominator of two runs is
    too uncertain to bound the ratio. `p` belongs to "the ratio is 1" and is below 1 - confidence exactly if the
    interval excludes 1. `sd_log` is the standard deviation of a round's log-ratio on which the interval is based, and
    `df` its degrees of freedom; only paired ratios have them.
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
        """Return True if the interval excludes 1, None if there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low > 1 or self.high < 1

    @property
    def half_width(self) -> float:
        """Return half the interval's width on the log scale, as a share (0.05: ±5%); infinite if it is unbounded."""
        return math.sqrt(self.high / self.low) - 1 if self.low and self.high else math.inf

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

    On the log scale a ratio and its inverse give the same verdict. A single ratio has no interval.
    """
    n, mean = len(logs), statistics.fmean(logs)
    if n < 2:
        return Ratio(math.exp(mean), None, None, n)
    return from_error(mean, stdev(logs), n, n - 1)


def from_error(mean: float, sd: float, n: int, df: float) -> Ratio:
    """Return exp(mean ± t(1-(1-CONFIDENCE)/2, df) · sd/√n), for the mean of n log-ratios."""
    error = sd / math.sqrt(n)
    half = t_quantile(CONFIDENCE, df) * error
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n, _p(mean, error, df), sd, df)


def unpaired_ratio(a: Sequence[float], b: Sequence[float]) -> Ratio:
    """Return the mean of a over the mean of b, for rounds that are independent of each other: two runs.

    Fieller's theorem (Fieller 1954) is applied to the means of the highest level of replication, here rounds (Kalibera
    and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013): all θ with |ā - θ·b̄| ≤ t·√(s²ₐ/n + θ²·s²_b/m).
    The degrees of freedom are by Welch and Satterthwaite at θ = ā/b̄, because two runs need not vary equally. There is
    no interval if g = t²·s²_b/(m·b̄²) ≥ 1: the interval of b̄ itself then contains 0, and no ratio is excluded. The
    interval is cut off at 0.
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
    """Return the two-sided p. Without any spread it is 0 if there is a difference, otherwise 1."""
    if error == 0:
        return 0.0 if difference else 1.0
    return 2 * float(stdtr(df, -abs(difference) / error))


MANY_CELLS = 12
MOST_DF, MOST_DF_OF_FEW = 20.0, 3.0
"""Highest degrees of freedom of a prior, for many and for few cells. With few cells its fit is less certain."""

LEAST = 1e-10
"""Variance below which figures count as equal, so that no logarithm is taken."""


@dataclass(frozen=True)
class Sample:
    """Log-ratios of one cell, one per round; `windows` are those of the windows of each round, if it had several.

    Cells with the same `group`, such as those of one connection count, share their process variance.
    """

    rounds: Sequence[float]
    group: Hashable
    windows: Sequence[Sequence[float]] = field(default=())

    @property
    def window_variance(self) -> float:
        """Return the variance that windows add to a round's mean; 0 if a round has one window."""
        known = [variance(of) / len(of) for of in self.windows if len(of) > 1]
        return statistics.fmean(known) if known else 0.0

    @property
    def process_variance(self) -> float:
        """Return the variance between rounds beyond that of their windows; chance can make a small one negative."""
        return variance(self.rounds) - self.window_variance


@dataclass(frozen=True)
class ProcessVariance:
    value: float
    samples: int


@dataclass(frozen=True)
class Prior:
    """The expected variance of a pair, learnt from the pairs of one run, scenario and metric.

    `process` has the process variance by group, and `scale` widens the expected variance. `df` is the most rounds that
    the prior can count for.
    """

    process: Mapping[Hashable, ProcessVariance] = field(default_factory=dict)
    scale: float = 1.0
    df: float = 0.0

    def ratio(self, sample: Sample) -> Ratio:
        """Return the ratio of a pair with its interval; a single round has no interval.

        s̃² = max(s², (d₀·s₀² + d·s²) / (d₀ + d)) with d₀ + d degrees of freedom. It is never below the pair's own
        variance, because a prior that is too small would make the interval too narrow. s₀² is the pair's window
        variance plus the process variance of its group. The pair belongs to its group, and its rounds must not count
        twice, so d₀ is reduced by their share of s₀². If the pair is alone and has no windows, that is all of it, and
        the interval is Student's. Simulated coverage: tests/test_moderated_interval.py.
        """
        process = self.process.get(sample.group)
        if len(sample.rounds) < 2 or process is None:
            return student_ratio(sample.rounds)
        n, own = len(sample.rounds), variance(sample.rounds)
        expected = sample.window_variance + process.value
        own_share = process.value / process.samples / expected if expected else 1.0
        weight = self.df * (1 - own_share)
        df = weight + n - 1
        mixed = (weight * self.scale * expected + (n - 1) * own) / df
        return from_error(statistics.fmean(sample.rounds), math.sqrt(max(own, mixed)), n, df)


def fit_prior(samples: Sequence[Sample]) -> Prior:
    """Learn the expected variance from the samples that have at least two rounds."""
    known = [sample for sample in samples if len(sample.rounds) > 1]
    groups: dict[Hashable, list[float]] = {}
    for sample in known:
        groups.setdefault(sample.group, []).append(sample.process_variance)
    process = {group: ProcessVariance(max(0.0, statistics.fmean(of)), len(of)) for group, of in groups.items()}
    scale, df = _fit(
        [(variance(s.rounds), len(s.rounds) - 1, s.window_variance + process[s.group].value) for s in known]
    )
    return Prior(process, scale, df)


def _fit(cells: Sequence[tuple[float, int, float]]) -> tuple[float, float]:
    """Return the scale and the degrees of freedom of guessed variances.

    Each cell is (seen variance, its degrees of freedom, guess). ln(s²/guess) has the mean ln(scale) + ψ(d/2) - ln(d/2)
    - ψ(d₀/2) + ln(d₀/2) and the variance ψ'(d/2) + ψ'(d₀/2) (Smyth 2004, section 6.2). The scale is at least 1: a guess
    is widened, never narrowed.
    """
    usable = [one for one in cells if one[0] > LEAST and one[2] > LEAST]
    most = MOST_DF if len(usable) >= MANY_CELLS else MOST_DF_OF_FEW
    if len(usable) < 2:
        return 1.0, min(most, MOST_DF_OF_FEW)
    logs = [math.log(s2 / guess) - float(digamma(d / 2)) + math.log(d / 2) for s2, d, guess in usable]
    sampling = statistics.fmean(float(polygamma(1, d / 2)) for _, d, _ in usable)
    df = min(most, 2 * _trigamma_inverse(variance(logs) - sampling))
    centre = statistics.fmean(logs) + float(digamma(df / 2)) - math.log(df / 2)
    return max(1.0, math.exp(centre)), df


def _trigamma_inverse(value: float) -> float:
    """Return x with ψ'(x) = value; infinite if the value is 0 or less.

    Newton's method, starting from 0.5 + 1/value (Smyth 2004, appendix).
    """
    if value <= 0:
        return math.inf
    x = 0.5 + 1 / value
    for _ in range(50):
        seen = float(polygamma(1, x))
        step = seen * (1 - seen / value) / float(polygamma(2, x))
        x += step
        if abs(step) < 1e-8 * x:
            break
    return x
