"""Quantiles of latency in which a request without a response counts as slower than every response. Pure."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from zoo.core.trial_results import Quantiles

Ints = NDArray[np.int64]

BEYOND = 100
PER_MILLE = {"p50_us": 500, "p90_us": 900, "p99_us": 990, "p999_us": 999}


def quantiles(answered_us: Ints, sent: int) -> Quantiles:
    """Return the quantiles over all requests sent; `answered_us` has the sorted latencies of the good responses."""
    return Quantiles(**{name: _quantile(answered_us, sent, per_mille) for name, per_mille in PER_MILLE.items()})


def _quantile(answered_us: Ints, sent: int, per_mille: int) -> int | None:
    """Return the nearest-rank quantile, or None if too few values lie beyond it or it falls on an unserved request."""
    rank = math.ceil(sent * per_mille / 1000)
    if sent - rank < BEYOND or rank > len(answered_us):
        return None
    return int(answered_us[rank - 1])
