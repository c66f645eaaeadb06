"""Latency histograms in whole microseconds: merged, inverted, asked for quantiles. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

TOLERANCE = 0.02
"""The bounds of a figure of the good responses may be this far apart, as a share of the lower one."""


class HistogramError(ValueError):
    """The figures cannot be a histogram, or not one that wrk's correction made."""


@dataclass(frozen=True, eq=False)
class Histogram:
    values_us: Ints  # strictly rising
    counts: Ints  # above zero

    def __post_init__(self) -> None:
        if self.values_us.shape != self.counts.shape or self.values_us.ndim != 1:
            raise HistogramError("as many counts as values are expected")
        if len(self.values_us) and (self.values_us[0] < 0 or np.any(np.diff(self.values_us) <= 0)):
            raise HistogramError("values must rise from 0 or more")
        if np.any(self.counts <= 0):
            raise HistogramError("counts must be above zero")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return np.array_equal(self.values_us, other.values_us) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # arrays cannot be hashed

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    @property
    def mean_us(self) -> float:
        """0 without samples, as is the one below: ask `total` first."""
        return float(np.average(self.values_us, weights=self.counts)) if len(self.counts) else 0.0

    @property
    def max_us(self) -> int:
        return int(self.values_us[-1]) if len(self.values_us) else 0

    def quantile(self, q: float) -> int | None:
        """Nearest rank: the smallest value that at least this share of the samples does not exceed."""
        if not len(self.counts):
            return None
        return int(self.values_us[np.searchsorted(np.cumsum(self.counts), _rank(q, self.total))])

    def good_bounds(self, q: float, bad: int) -> tuple[int, int]:
        """Return the least and the greatest value that the quantile of the good samples can have.

        Any `bad` of the samples are not good. If all of them are among the slowest, the good ones keep their ranks; if
        all are among the fastest, every good one moves up by `bad` ranks.
        """
        good = self.total - bad
        if good < 1:
            raise ValueError(f"no good samples: {bad} of {self.total} are bad")
        rank = _rank(q, good)
        low, high = np.searchsorted(np.cumsum(self.counts), [rank, rank + bad])
        return int(self.values_us[low]), int(self.values_us[high])

    def good_quantile(self, q: float, bad: int) -> int | None:
        """Return the quantile of the good samples; None where it is not known to within `TOLERANCE`."""
        if self.total <= bad:
            return None
        low, high = self.good_bounds(q, bad)
        return (low + high) // 2 if high <= low * (1 + TOLERANCE) else None

    def good_mean(self, bad: int) -> float | None:
        """Return the mean of the good samples; None where it is not known to within `TOLERANCE`."""
        if not bad:
            return self.mean_us
        good = self.total - bad
        if good < 1:
            return None
        low, high = (
            _sum_first(self.values_us, self.counts, good),
            _sum_first(self.values_us[::-1], self.counts[::-1], good),
        )
        return (low + high) / 2 / good if high <= low * (1 + TOLERANCE) else None

    def supports(self, q: float, beyond: int = 100) -> bool:
        """Whether enough samples lie beyond the quantile for it to mean something."""
        return self.total - _rank(q, self.total) >= beyond

    def quantized(self, digits: int = 3) -> Histogram:
        """A smaller histogram whose values are off by at most 0.5 * 10**-digits of themselves.

        Each octave is cut into the smallest power of two of equal parts that is at least 10**digits;
        a part is named by its middle. Values below twice that power stay exact, and so does the total.
        """
        part_bits = math.ceil(math.log2(10**digits))
        bit_lengths = np.frexp(self.values_us.astype(np.float64))[1].astype(np.int64)
        shift = np.maximum(bit_lengths - part_bits - 1, 0)
        middle = np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0)
        return _collected((self.values_us >> shift << shift) + middle, self.counts)

    def to_pairs(self) -> list[list[int]]:
        """For JSON: [[microseconds, samples], ...]."""
        return np.column_stack((self.values_us, self.counts)).tolist()  # type: ignore[no-any-return]

    @classmethod
    def from_pairs(cls, pairs: Iterable[Sequence[int]]) -> Histogram:
        table = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        return cls(table[:, 0].copy(), table[:, 1].copy())


def _rank(q: float, total: int) -> int:
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile lies between 0 and 1, got {q}")
    # str() gives the decimal that was meant: 0.07 * 100 is a little above 7 in binary
    return max(1, math.ceil(Fraction(str(q)) * total))


def _sum_first(values: Ints, counts: Ints, samples: int) -> int:
    taken = np.minimum(counts, np.maximum(0, samples - (np.cumsum(counts) - counts)))
    return int((values * taken).sum())


def merge(hs: Iterable[Histogram]) -> Histogram:
    parts = list(hs)
    empty = np.empty(0, dtype=np.int64)
    return _collected(
        np.concatenate([empty, *(h.values_us for h in parts)]),
        np.concatenate([empty, *(h.counts for h in parts)]),
    )


def uncorrect(corrected: Histogram, interval_us: int) -> Histogram:
    """Undo the correction that wrk makes before done() runs (stats_correct in its src/stats.c).

    For every latency n above 2 * interval, wrk adds samples at n - interval, n - 2 * interval, ... as long as they
    exceed the interval. So raw[m] = corrected[m] - corrected[m + interval] for m above the interval: each bin above
    2 * interval is taken off the bin one interval below, which must be there and as large.
    """
    if interval_us < 1:
        raise HistogramError(f"the interval must be at least 1 us, got {interval_us}")
    values, counts = corrected.values_us, corrected.counts
    above = values > 2 * interval_us
    below = np.searchsorted(values, values[above] - interval_us)  # within range: each value looked for is not the last
    invented = counts[above]
    if np.any(values[below] != values[above] - interval_us) or np.any(counts[below] < invented):
        raise HistogramError(f"a negative bin: this is no histogram corrected with an interval of {interval_us} us")
    raw = counts.copy()
    raw[below] -= invented
    return Histogram(values[raw > 0], raw[raw > 0])


def _collected(values_us: Ints, counts: Ints) -> Histogram:
    """From values in any order, repeated or not."""
    values, where = np.unique(values_us, return_inverse=True)
    sums = np.zeros(len(values), dtype=np.int64)
    np.add.at(sums, where, counts)
    return Histogram(values, sums)
