"""Ratios with intervals: two entries of one run round by round, or two runs. Pure.

A handful of rounds tells little of its own variance, so Student's interval is wide. Empirical Bayes (G. Smyth, "Linear
models and empirical Bayes methods for assessing differential expression in microarray experiments", 2004) mixes a
pair's variance with a prior whose weight is learnt from how well it predicts the variances of all pairs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from scipy.special import digamma, polygamma, stdtr, stdtrit


def variance(values: Sequence[float]) -> float:
    """Of at least two values, and exactly 0 of equal ones.

    As `statistics.variance`, which reckons in fractions and takes twenty times as long.
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


MANY_CELLS = 12
MOST_DF, MOST_DF_OF_FEW = 20.0, 3.0
"""Degrees of freedom that a prior may have; of few cells its fit is too uncertain to be trusted with more."""

LEAST = 1e-10
"""A variance below this is that of equal figures, of which no logarithm is taken."""


@dataclass(frozen=True)
class Sample:
    """Log-ratios of one cell, one a round; `turns` are those of the turns of each round, where it had several.

    `group` tells whose process variance is pooled: cells of one tier.
    """

    rounds: Sequence[float]
    group: Hashable
    turns: Sequence[Sequence[float]] = field(default=())

    @property
    def turn_variance(self) -> float:
        """The variance that turns add to a round's mean; 0 where a round has one turn."""
        known = [variance(of) / len(of) for of in self.turns if len(of) > 1]
        return statistics.fmean(known) if known else 0.0

    @property
    def process_variance(self) -> float:
        """The variance between rounds beyond that of their turns; where it is little, it can be below 0 by chance."""
        return variance(self.rounds) - self.turn_variance


@dataclass(frozen=True)
class ProcessVariance:
    value: float
    samples: int


@dataclass(frozen=True)
class Prior:
    """The variance to expect of a pair, learnt from the pairs of one run, scenario and metric.

    `process` has the process variance by group, `scale` widens the expected variance, and `df` is the number of rounds
    that it counts as at most.
    """

    process: Mapping[Hashable, ProcessVariance] = field(default_factory=dict)
    scale: float = 1.0
    df: float = 0.0

    def ratio(self, sample: Sample) -> Ratio:
        """Return the ratio of a pair with its interval; a single round has no interval.

        s̃² = max(s², (d₀·s₀² + d·s²) / (d₀ + d)) with d₀ + d degrees of freedom: never below the pair's own variance,
        for a prior that is too small would make the interval too narrow. s₀² is the pair's turn variance plus the
        process variance of its group. A pair is one of its group, and its rounds must not count twice: d₀ is reduced by
        the share of s₀² that they make. Where the pair is alone and has no turns, that is all of it, and the interval
        is Student's. Simulated coverage: tests/test_moderated.py.
        """
        process = self.process.get(sample.group)
        if len(sample.rounds) < 2 or process is None:
            return student_ratio(sample.rounds)
        n, own = len(sample.rounds), variance(sample.rounds)
        expected = sample.turn_variance + process.value
        own_share = process.value / process.samples / expected if expected else 1.0
        weight = self.df * (1 - own_share)
        df = weight + n - 1
        mixed = (weight * self.scale * expected + (n - 1) * own) / df
        return from_error(statistics.fmean(sample.rounds), math.sqrt(max(own, mixed)), n, df)


def fit_prior(samples: Sequence[Sample]) -> Prior:
    """Learn from the samples of at least two rounds what to expect of each."""
    known = [sample for sample in samples if len(sample.rounds) > 1]
    groups: dict[Hashable, list[float]] = {}
    for sample in known:
        groups.setdefault(sample.group, []).append(sample.process_variance)
    process = {group: ProcessVariance(max(0.0, statistics.fmean(of)), len(of)) for group, of in groups.items()}
    scale, df = _fit([(variance(s.rounds), len(s.rounds) - 1, s.turn_variance + process[s.group].value) for s in known])
    return Prior(process, scale, df)


def _fit(cells: Sequence[tuple[float, int, float]]) -> tuple[float, float]:
    """Scale and degrees of freedom of guessed variances, from (seen variance, its degrees of freedom, guess).

    ln(s²/guess) has the mean ln(scale) + ψ(d/2) - ln(d/2) - ψ(d₀/2) + ln(d₀/2) and the variance ψ'(d/2) + ψ'(d₀/2)
    (Smyth 2004, section 6.2). The scale is at least 1: a guess is widened, never narrowed.
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
    """x with ψ'(x) = value, by Newton's method from 0.5 + 1/value (Smyth 2004, appendix); infinite at 0 and below."""
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
