"""Formatting of figures: numbers, ranges over rounds, intervals, ratios, durations. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Protocol

from zoo.report.section import NONE
from zoo.stats.summary import Spread

RANGE = re.compile(r" \(−?[\d.,]+(–| to )−?[\d.,]+\)| \[−?[\d.,]+, −?[\d.,]+\]")
"""The range or interval after a figure, as formatted by the functions below."""


class WithInterval(Protocol):
    """A figure with its interval; `low` and `high` are None if there is no interval."""

    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def format_number(value: float) -> str:
    """Format a number with at least three significant digits and thousands separators.

    1234.5 → 1,234; 12.34 → 12.3; −0.1234 → −0.123.
    """
    sign, size = "−" if value < 0 else "", abs(value)
    if size == round(size) or size >= 100:
        return f"{sign}{size:,.0f}"
    return f"{sign}{size:.1f}" if size >= 10 else f"{sign}{size:.3g}"


def format_range(low: float, high: float) -> str:
    """Format a range of figures: `9–60`, `−4.5 to −1.48`, or one figure if both ends have the same text."""
    ends = format_number(low), format_number(high)
    if ends[0] == ends[1]:
        return ends[0]
    return (" to " if low < 0 else "–").join(ends)


def format_count(count: int, noun: str, plural: str | None = None) -> str:
    """Format a number of things, whose plural ends in `s` if none is given: `1 round`, `3 rounds`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def format_ratio(ratio: float) -> str:
    """Format a ratio with enough digits to distinguish values that differ by 2%: 1.21, 0.034, 12."""
    if abs(ratio) < 0.1:
        return f"{ratio:.2g}"
    return f"{ratio:.2f}" if abs(ratio) < 9.995 else f"{ratio:,.0f}"


def format_factor(ratio: float) -> str:
    """Format a factor without its sign: `2.8`, `14`, and `1.04` or `1.004` instead of `1.0`."""
    if ratio >= 9.95:
        return f"{ratio:,.0f}"
    texts = [f"{ratio:.{places}f}" for places in (1, 2, 3)]
    return next((text for text in texts if float(text) != 1), texts[-1])


def format_percent(share: float, places: int = 0) -> str:
    """Format a share as a percentage: `24%`."""
    return f"{100 * share:.{places}f}%"


def format_difference(share: float, sign: str = "") -> str:
    """Format a difference as a percentage: `24%`, `0.4%` instead of `0%`, and `+24%` or `−11%` if `sign` is `+`."""
    for places in (0, 1):
        text = f"{share:{sign},.{places}%}"
        if text.strip("+-0.%"):
            return text.replace("-", "−")
    return "0%"


def format_spread_parts(value: Spread, scale: float = 1.0, *, bound: bool = False) -> tuple[str, str]:
    """Return the median and the range over rounds: `63,100` and `61,900–64,000`; `≥` marks a lower bound.

    The range is empty if both ends have the same text.
    """
    text = f"{'≥ ' if bound else ''}{format_number(value.median * scale)}"
    ends = format_range(value.low * scale, value.high * scale)
    return text, "" if ends == format_number(value.low * scale) else ends


def format_spread(value: Spread | None, scale: float = 1.0, *, bound: bool = False) -> str:
    """Format the median with the range over rounds: `63,100 (61,900–64,000)`."""
    if value is None:
        return NONE
    text, ends = format_spread_parts(value, scale, bound=bound)
    return f"{text} ({ends})" if ends else text


def format_interval(
    estimate: WithInterval, format_value: Callable[[float], str] = format_number, unit: str = ""
) -> str:
    """Format a figure with its interval: `44.1 MB [43.8, 44.6]`.

    Without an interval, or if the figure and both ends have the same text, there are no brackets.
    """
    value = format_value(estimate.value)
    text = f"{value} {unit}".strip()
    if estimate.low is None or estimate.high is None:
        return text
    ends = ["∞" if math.isinf(end) else format_value(end) for end in (estimate.low, estimate.high)]
    return text if ends == [value, value] else f"{text} [{', '.join(ends)}]"


def format_duration(seconds: float) -> str:
    """Format an approximate duration: `40 s`, `3 min`, `2.5 h`; never `0 min`."""
    if seconds < 90:
        return f"{max(10, 10 * round(seconds / 10))} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.2g} h"


def format_margin(factor: float) -> str:
    """Format a margin: `±2.1%`, or a factor if a percentage would suggest that a ratio can fall below 0."""
    return f"±{format_percent(factor - 1, 1)}" if factor < 1.5 else f"÷ or × {factor:.1f}"


def format_memory(kb: int | None) -> str:
    """Format the memory of a host: `31.3 GiB`."""
    return f"{kb / 1048576:.1f} GiB" if kb else "unknown memory"
