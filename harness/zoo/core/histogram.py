"""Latency histograms in whole microseconds, with merging, quantiles and means. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

TOLERANCE = 0.02
"""Greatest distance between the bounds of a figure of the good responses, as a share of the lower bound."""


class HistogramError(ValueError):
    """Figures that cannot be a histogram, or one that wrk's correction cannot have produced."""


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
        """Return the mean in microseconds; 0 without samples, as for `max_us`, so check `total` first."""
        return float(np.average(self.values_us, weights=self.counts)) if len(self.counts) else 0.0

    @property
    def max_us(self) -> int:
        return int(self.values_us[-1]) if len(self.values_us) else 0

    def quantile(self, q: float) -> int | None:
        """Return the nearest-rank quantile: the smallest value that at least this share of samples does not exceed."""
        if not len(self.counts):
            return None
        return int(self.values_us[np.searchsorted(np.cumsum(self.counts), _rank(q, self.total))])

    def good_bounds(self, q: float, bad: int) -> tuple[int, int]:
        """Return the lowest and the highest value that the quantile of the good samples can have.

        Any `bad` of the samples are not good. If all of them are among the slowest, the good samples keep their ranks.
        If all of them are among the fastest, every good sample moves up by `bad` ranks.
        """
        good = self.total - bad
        if good < 1:
            raise ValueError(f"no good samples: {bad} of {self.total} are bad")
        rank = _rank(q, good)
        low, high = np.searchsorted(np.cumsum(self.counts), [rank, rank + bad])
        return int(self.values_us[low]), int(self.values_us[high])

    def good_quantile(self, q: float, bad: int) -> int | None:
        """Return the quantile of the good samples; None if it is not known to within `TOLERANCE`."""
        if self.total <= bad:
            return None
        low, high = self.good_bounds(q, bad)
        return (low + high) // 2 if high <= low * (1 + TOLERANCE) else None

    def good_mean(self, bad: int) -> float | None:
        """Return the mean of the good samples; None if it is not known to within `TOLERANCE`."""
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
        """Return True if enough samples lie beyond the quantile for it to be meaningful."""
        return self.total - _rank(q, self.total) >= beyond

    def quantize(self, digits: int = 3) -> Histogram:
        """Return a smaller histogram whose values are off by at most 0.5 * 10**-digits of themselves.

        Each octave is divided into equal parts. Their number is the smallest power of two that is at least 10**digits,
        and the middle of a part stands for it. Values below twice that power stay exact, and so does the total.
        """
        part_bits = math.ceil(math.log2(10**digits))
        bit_lengths = np.frexp(self.values_us.astype(np.float64))[1].astype(np.int64)
        shift = np.maximum(bit_lengths - part_bits - 1, 0)
        middle = np.where(shift > 0, np.int64(1) << np.maximum(shift - 1, 0), 0)
        return from_values((self.values_us >> shift << shift) + middle, self.counts)

    def to_pairs(self) -> list[list[int]]:
        """Return [[microseconds, samples], ...], for JSON."""
        return np.column_stack((self.values_us, self.counts)).tolist()  # type: ignore[no-any-return]

    @classmethod
    def from_pairs(cls, pairs: Iterable[Sequence[int]]) -> Histogram:
        table = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        return cls(table[:, 0].copy(), table[:, 1].copy())


def _rank(q: float, total: int) -> int:
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile lies between 0 and 1, got {q}")
    # str() gives the intended decimal: 0.07 * 100 is slightly above 7 in binary.
    return max(1, math.ceil(Fraction(str(q)) * total))


def _sum_first(values: Ints, counts: Ints, samples: int) -> int:
    taken = np.minimum(counts, np.maximum(0, samples - (np.cumsum(counts) - counts)))
    return int((values * taken).sum())


def merge(hs: Iterable[Histogram]) -> Histogram:
    parts = list(hs)
    empty = np.empty(0, dtype=np.int64)
    return from_values(
        np.concatenate([empty, *(h.values_us for h in parts)]),
        np.concatenate([empty, *(h.counts for h in parts)]),
    )


def from_values(values_us: Ints, counts: Ints | int = 1) -> Histogram:
    """Build a histogram from values in any order, with or without repetitions."""
    values, where = np.unique(values_us, return_inverse=True)
    sums = np.zeros(len(values), dtype=np.int64)
    np.add.at(sums, where, counts)
    return Histogram(values, sums)
