"""Reports of runs that compare nothing: a soak, and the JVM with no server. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.growth import BOUNDS, Growth, growth, lasted
from zoo.analysis.stats.interval import of_median
from zoo.model.run import JvmRecord, Soak
from zoo.report.formatting import format_interval, format_number
from zoo.report.section import NONE, Section, Table

COLUMNS = {"heap_kb": "live heap, MB", "rss_kb": "RSS, MB", "threads": "threads", "descriptors": "descriptors"}


def soaked(soak: Soak) -> Section:
    """A row an entry; each figure from the first third of the marks to the last, and a mark where it grew too far."""
    rows = [_row(soak, entry) for entry in soak.marks]
    columns = ["entry", "result", "requests", "errors", *COLUMNS.values()]
    tables = [Table("", columns, rows, text=2)] if rows else []
    ends = [f"`{entry}` ended: {why}" for entry, why in soak.ended.items()]
    return Section(f"Soak of {soak.minutes:g} minutes", [BOUND], tables, ends)


def _bound(field: str) -> str:
    bound = BOUNDS[field]
    if field.endswith("_kb"):
        return f"{COLUMNS[field].removesuffix(', MB')} by {bound.share:.0%} and {bound.more / 1024:g} MB"
    return f"{COLUMNS[field]} by {bound.more:g}"


BOUND = (
    "Median of the first third of the looks → of the last third. At most they may rise: "
    + ", ".join(map(_bound, COLUMNS))
    + "."
)


def _row(soak: Soak, entry: str) -> list[str]:
    marks = soak.marks[entry]
    found = growth(marks)
    return [
        f"`{entry}`",
        _word(soak, entry),
        f"{sum(mark.requests for mark in marks):,}",
        f"{sum(mark.errors for mark in marks):,}",
        *(_shown(found.get(field), field) for field in COLUMNS),
    ]


def _word(soak: Soak, entry: str) -> str:
    marks = soak.marks[entry]
    if entry in soak.ended:
        return "**ended**"
    if lasted(marks):
        return "steady"
    if any(mark.errors for mark in marks):
        return "**errors**"
    return "**grew**" if growth(marks) else "too short"


def _shown(grown: Growth | None, field: str) -> str:
    if grown is None:
        return NONE
    scale = 1024 if field.endswith("_kb") else 1
    text = f"{format_number(grown.first / scale)} → {format_number(grown.last / scale)}"
    return text if grown.bounded else f"**{text}**"


def bare_jvm(jdk: str, found: list[JvmRecord]) -> Section:
    """Medians with their intervals."""
    columns = ["flags", "start and end, ms", "RSS, MB", "highest RSS, MB", "anonymous, MB", "heap a parked thread, kB"]
    rows = [
        [
            one.case,
            _median(one.start_and_end_s, 1000),
            *(_median(values, 1 / 1024) for values in (one.rss_kb, one.peak_kb, one.anon_kb)),
            _median(one.parked_kb, 1),
        ]
        for one in found
    ]
    return Section(f"The JVM with no server, {jdk}", tables=[Table("", columns, rows)])


def _median(values: Sequence[float], factor: float) -> str:
    if not values:
        return NONE
    return format_interval(of_median(values), lambda value: format_number(value * factor))
