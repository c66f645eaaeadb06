"""Figures of database runs as text. Pure."""

from __future__ import annotations

from zoo.analysis.stats import Ratio
from zoo.analysis.summary import spread
from zoo.jdbc.analysis import Row
from zoo.report.formatting import format_interval, format_ratio, format_spread
from zoo.report.section import NONE


def median(row: Row | None, field: str, scale: float = 1.0) -> str:
    """The median over rounds, with the lowest and the highest."""
    return format_spread(spread(row.values(field) if row else []), scale)


def ratio(found: Ratio | None) -> str:
    """`1.22 [1.10, 1.35]`; ○: it may be 1."""
    if found is None:
        return NONE
    return format_interval(found, format_ratio) + (" ○" if found.differs is False else "")
