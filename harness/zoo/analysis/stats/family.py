"""Many comparisons at once. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Adjusted:
    """A p-value that accounts for its family, and whether its hypothesis is rejected."""

    p: float
    rejected: bool


def holm(ps: Sequence[float], alpha: float = 0.05) -> list[Adjusted]:
    """Holm's step-down correction ("A simple sequentially rejective multiple test procedure", 1979), in their order.

    The k-th smallest of m p-values is multiplied by m - k + 1 and is at least the adjusted one before it. The
    probability of any false rejection in the family is at most alpha, however the p-values depend on each other.
    """
    adjusted: dict[int, Adjusted] = {}
    least = 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        least = max(least, min(1.0, (len(ps) - place) * ps[index]))
        adjusted[index] = Adjusted(least, least <= alpha)
    return [adjusted[index] for index in range(len(ps))]
