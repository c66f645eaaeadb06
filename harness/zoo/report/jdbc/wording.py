"""Figures of database runs as text. Pure."""

from __future__ import annotations

from zoo.analysis.stats import Ratio
from zoo.jdbc.analysis import Row
from zoo.report.formatting import format_interval, format_number, format_ratio
from zoo.report.section import NONE


def median(row: Row | None, field: str, scale: float = 1.0) -> str:
    """Over rounds, with the lowest and the highest where they differ."""
    values = [value * scale for value in row.values(field)] if row else []
    if row is None or not values:
        return NONE
    middle = row.median(field)
    assert middle is not None
    text = format_number(middle * scale)
    return f"{text} ({format_number(min(values))}–{format_number(max(values))})" if min(values) < max(values) else text


def ratio(found: Ratio | None) -> str:
    """`1.22 [1.10, 1.35]`; ○: it may be 1."""
    if found is None:
        return NONE
    return format_interval(found, format_ratio) + (" ○" if found.differs is False else "")
