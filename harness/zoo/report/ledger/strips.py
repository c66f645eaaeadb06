"""Places of intervals on a line with the band they are judged by, as shares of its width. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from zoo.claims.estimates import Estimate
from zoo.claims.rules import DifferenceRule, Judged, SpreadRule

MARGIN = 0.06
"""Of the line, left free at both ends."""


@dataclass(frozen=True)
class Strip:
    """In per cent of the width; an end that is open runs to the edge."""

    value: float
    low: float
    high: float
    band_low: float
    band_high: float
    one: float | None


def strips(rule: Judged, found: Sequence[Estimate]) -> list[Strip | None]:
    """One for each estimate that has a figure, all on the same axis."""
    plain = isinstance(rule, DifferenceRule | SpreadRule) or any(seen.value <= 0 for seen in found if not seen.why)
    known = [rule.at_least, rule.at_most, *(end for seen in found for end in (seen.value, seen.low, seen.high))]
    marks = [end for end in known if end is not None and math.isfinite(end) and (plain or end > 0)]
    ratio = any(seen.unit == "×" for seen in found) and not isinstance(rule, SpreadRule)
    if ratio:
        marks.append(1.0)
    axis = _Axis(min(marks), max(marks), plain)
    return [None if seen.why else _strip(rule, seen, axis, ratio=ratio) for seen in found]


@dataclass(frozen=True)
class _Axis:
    least: float
    most: float
    plain: bool

    def at(self, value: float | None, edge: float) -> float:
        """`edge` where there is no such end."""
        if value is None or math.isinf(value) or (value <= 0 and not self.plain):
            return edge
        low, high, here = (x if self.plain else math.log(x) for x in (self.least, self.most, value))
        share = (here - low) / (high - low) if high > low else 0.5
        return round(100 * (MARGIN + (1 - 2 * MARGIN) * share), 2)


def _strip(rule: Judged, seen: Estimate, axis: _Axis, *, ratio: bool) -> Strip:
    here = axis.at(seen.value, 50)
    return Strip(
        value=here,
        low=here if seen.low is None else axis.at(seen.low, 0),
        high=here if seen.high is None else axis.at(seen.high, 100),
        band_low=axis.at(rule.at_least, 0),
        band_high=axis.at(rule.at_most, 100),
        one=axis.at(1.0, 50) if ratio else None,
    )
