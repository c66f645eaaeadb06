"""Log-ratios of two cells, by round and by turn: what a ratio and its interval are made of. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zoo.analysis.cells import Cell
from zoo.analysis.metrics import Metric, of_turns
from zoo.analysis.stats import Sample


def sample(metric: Metric, a: Cell, b: Cell, tier: str) -> Sample | None:
    """`a` over `b` in the rounds that have both figures; None where no round has."""
    x, y = a.figures(metric), b.figures(metric)
    rounds = sorted(set(x) & set(y))
    if not rounds:
        return None
    turns = [
        _logs(of_turns(metric, a.seen[n]), of_turns(metric, b.seen[n])) for n in rounds if n in a.seen and n in b.seen
    ]
    return Sample(_logs([x[n] for n in rounds], [y[n] for n in rounds]), tier, turns)


def _logs(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Of as many as both have; those of turns that were taken in turns belong together by their order."""
    return [math.log(one / other) for one, other in zip(a, b, strict=False) if one > 0 and other > 0]
