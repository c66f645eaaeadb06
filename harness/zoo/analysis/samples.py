"""Log-ratios of two cells, by round and by turn: what a ratio and its interval are made of. Pure."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from zoo.analysis.stats import Sample


@dataclass(frozen=True)
class Side:
    """One metric of a cell by round, and in each of a round's turns where it had several.

    Cells of one `group` are expected to vary equally.
    """

    rounds: Mapping[int, float]
    group: Hashable
    turns: Mapping[int, Sequence[float]] = field(default_factory=dict)


def sample(a: Side, b: Side) -> Sample | None:
    """`a` over `b` in the rounds that have both figures; None where no round has."""
    rounds = sorted(set(a.rounds) & set(b.rounds))
    if not rounds:
        return None
    turns = [_logs(a.turns.get(n, ()), b.turns.get(n, ())) for n in rounds]
    logs = _logs([a.rounds[n] for n in rounds], [b.rounds[n] for n in rounds])
    return Sample(logs, frozenset({a.group, b.group}), turns)


def _logs(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Of as many as both have; those of turns that were taken in turns belong together by their order."""
    return [math.log(one / other) for one, other in zip(a, b, strict=False) if one > 0 and other > 0]
