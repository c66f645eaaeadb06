"""The first turn of a cell and its other turns. Pure."""

from __future__ import annotations

import statistics

from zoo.model.measurement import Measurement


def first_share(seen: Measurement) -> float | None:
    """Throughput of a cell's first turn over the mean of its others, below 1 where it was cold; None of one turn."""
    rates = [turn.goodput / turn.loaded_s for turn in seen.windows if turn.loaded_s > 0]
    others = rates[1:]
    return rates[0] / statistics.fmean(others) if any(others) else None
