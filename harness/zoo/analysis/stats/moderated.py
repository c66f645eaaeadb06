"""Ratios of few rounds, their variance moderated by what other figures tell of it. Pure.

A handful of rounds tells little of its own variance, so Student's interval is wide. Empirical Bayes (G. Smyth, "Linear
models and empirical Bayes methods for assessing differential expression in microarray experiments", 2004) mixes a
cell's variance with a prior whose weight is learnt from how well it predicts the variances of all cells.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from scipy.special import digamma, polygamma

from zoo.analysis.stats.ratio import CONFIDENCE, Ratio, from_error
from zoo.analysis.stats.spread import variance

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
        """What turns alone add to the variance of a round's mean; 0 where a round has one turn."""
        known = [variance(of) / len(of) for of in self.turns if len(of) > 1]
        return statistics.fmean(known) if known else 0.0


@dataclass(frozen=True)
class Prior:
    """A variance that counts as much as `df` + 1 rounds that showed it."""

    variance: float
    df: float


def moderated(samples: Sequence[Sample]) -> list[Ratio]:
    """A ratio a sample, in their order; samples of one round have no interval.

    s̃² = max(s², (d₀·s₀² + d·s²) / (d₀ + d)) with d₀ + d degrees of freedom: never below the cell's own variance, for a
    prior that is too small would else promise too much. s₀² is the cell's turn variance plus the process variance of
    its group, the mean of what its cells vary beyond their turns. Simulated coverage: tests/test_moderated.py.
    """
    known = [s for s in samples if len(s.rounds) > 1]
    priors = iter(_priors(known))
    return [_ratio(sample, next(priors) if len(sample.rounds) > 1 else None) for sample in samples]


def _ratio(sample: Sample, prior: Prior | None) -> Ratio:
    n, mean = len(sample.rounds), statistics.fmean(sample.rounds)
    if prior is None:
        return Ratio(math.exp(mean), None, None, n)
    own, df = variance(sample.rounds), n - 1
    mixed = (prior.df * prior.variance + df * own) / (prior.df + df)
    sd = math.sqrt(max(own, mixed))
    return from_error(mean, sd, n, prior.df + df, CONFIDENCE)


def _priors(samples: Sequence[Sample]) -> list[Prior]:
    """Of each sample of at least two rounds."""
    beyond: dict[Hashable, list[float]] = {}
    for sample in samples:
        beyond.setdefault(sample.group, []).append(variance(sample.rounds) - sample.turn_variance)
    process = {group: max(0.0, statistics.fmean(of)) for group, of in beyond.items()}
    guesses = [sample.turn_variance + process[sample.group] for sample in samples]
    scale, df = _fit(
        [(variance(s.rounds), len(s.rounds) - 1, guess) for s, guess in zip(samples, guesses, strict=True)]
    )
    return [Prior(scale * guess, df) for guess in guesses]


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
