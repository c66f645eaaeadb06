"""Reports of runs without comparisons: a soak, and the JVM without a server. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.core.run import JvmRecord, Soak
from zoo.report.formatting import format_interval, format_number
from zoo.report.section import NONE, Section, Table
from zoo.stats.growth import BOUNDS, Growth, is_stable, measure_growth
from zoo.stats.interval import median_interval

COLUMNS = {"heap_kb": "live heap, MB", "rss_kb": "RSS, MB", "threads": "threads", "descriptors": "descriptors"}


def soak_section(soak: Soak) -> Section:
    """Return the report of a soak, with one row per entry.

    Each figure is given for the first and the last third of the marks, in bold if it grew too much.
    """
    rows = [_soak_row(soak, entry) for entry in soak.marks]
    columns = ["entry", "result", "requests", "errors", *COLUMNS.values()]
    tables = [Table("", columns, rows, text=2)] if rows else []
    ends = [f"`{entry}` ended: {reason}" for entry, reason in soak.ended.items()]
    return Section(f"Soak test of {soak.minutes:g} minutes", [BOUND], tables, ends)


def _format_bound(field: str) -> str:
    bound = BOUNDS[field]
    if field.endswith("_kb"):
        return f"{COLUMNS[field].removesuffix(', MB')} by {bound.share:.0%} and {bound.offset / 1024:g} MB"
    return f"{COLUMNS[field]} by {bound.offset:g}"


BOUND = (
    "Median of the first third of the samples → of the last third. They may rise by at most: "
    + ", ".join(map(_format_bound, COLUMNS))
    + "."
)


def _soak_row(soak: Soak, entry: str) -> list[str]:
    marks = soak.marks[entry]
    grown = measure_growth(marks)
    return [
        f"`{entry}`",
        _soak_verdict(soak, entry),
        f"{sum(mark.requests for mark in marks):,}",
        f"{sum(mark.errors for mark in marks):,}",
        *(_format_growth(grown.get(field), field) for field in COLUMNS),
    ]


def _soak_verdict(soak: Soak, entry: str) -> str:
    marks = soak.marks[entry]
    if entry in soak.ended:
        return "**ended**"
    if is_stable(marks):
        return "steady"
    if any(mark.errors for mark in marks):
        return "**errors**"
    return "**grew**" if measure_growth(marks) else "too short"


def _format_growth(grown: Growth | None, field: str) -> str:
    if grown is None:
        return NONE
    scale = 1024 if field.endswith("_kb") else 1
    text = f"{format_number(grown.first / scale)} → {format_number(grown.last / scale)}"
    return text if grown.bounded else f"**{text}**"


def jvm_section(jdk: str, results: list[JvmRecord]) -> Section:
    """Return the report of the JVM without a server: medians with their intervals."""
    columns = [
        "flags",
        "start and exit, ms",
        "RSS, MB",
        "highest RSS, MB",
        "anonymous, MB",
        "heap per parked thread, kB",
    ]
    rows = [
        [
            one.case,
            _format_median(one.start_and_end_s, 1000),
            *(_format_median(values, 1 / 1024) for values in (one.rss_kb, one.peak_kb, one.anon_kb)),
            _format_median(one.parked_kb, 1),
        ]
        for one in results
    ]
    return Section(f"The JVM without a server, {jdk}", tables=[Table("", columns, rows)])


def _format_median(values: Sequence[float], factor: float) -> str:
    if not values:
        return NONE
    return format_interval(median_interval(values), lambda value: format_number(value * factor))
