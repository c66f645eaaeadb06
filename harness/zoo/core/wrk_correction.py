"""Removal of the correction for coordinated omission that wrk 4 applies to its own histogram. Pure."""

from __future__ import annotations

import numpy as np

from zoo.core.histogram import Histogram, HistogramError


def undo_correction(corrected: Histogram, interval_us: int) -> Histogram:
    """Undo the correction that wrk makes before done() runs (stats_correct in its src/stats.c).

    For every latency n above 2 * interval, wrk adds samples at n - interval, n - 2 * interval, ... as long as they
    exceed the interval. So raw[m] = corrected[m] - corrected[m + interval] for m above the interval. Each bin above 2 *
    interval is subtracted from the bin one interval below, which must exist and be at least as large.
    """
    if interval_us < 1:
        raise HistogramError(f"the interval must be at least 1 us, got {interval_us}")
    values, counts = corrected.values_us, corrected.counts
    above = values > 2 * interval_us
    below = np.searchsorted(values, values[above] - interval_us)  # in range: no value looked up is the last one
    invented = counts[above]
    if np.any(values[below] != values[above] - interval_us) or np.any(counts[below] < invented):
        raise HistogramError(f"a negative bin: this is no histogram corrected with an interval of {interval_us} us")
    raw = counts.copy()
    raw[below] -= invented
    return Histogram(values[raw > 0], raw[raw > 0])
