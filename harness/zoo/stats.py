"""Formulas, with their sources. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import t as student_t


@dataclass(frozen=True)
class Ratio:
    """A ratio of two entries with its confidence interval; low and high are None below two rounds."""

    value: float
    low: float | None
    high: float | None
    rounds: int

    @property
    def differs(self) -> bool | None:
        """True when the interval leaves out 1, None when there is no interval."""
        if self.low is None or self.high is None:
            return None
        return self.low > 1 or self.high < 1


def paired_ratio(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Ratio:
    """Geometric mean of aᵢ/bᵢ over rounds i with its Student interval on the log scale.

    d_i = ln(a_i/b_i); exp(mean(d) ± t(1-(1-confidence)/2, n-1) · s/√n). A paired t interval on logarithms
    (Student 1908; the log scale makes a ratio and its inverse give the same verdict). Raises ValueError for
    different lengths, no rounds or values that are not positive.
    """
    if len(a) != len(b) or not a:
        raise ValueError("a ratio needs the same rounds of both, at least one")
    if min(*a, *b) <= 0:
        raise ValueError("a ratio needs positive values")
    logs = [math.log(x / y) for x, y in zip(a, b, strict=True)]
    mean = statistics.fmean(logs)
    if len(logs) < 2:
        return Ratio(math.exp(mean), None, None, 1)
    half = float(student_t.ppf((1 + confidence) / 2, len(logs) - 1)) * statistics.stdev(logs) / math.sqrt(len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), len(logs))
