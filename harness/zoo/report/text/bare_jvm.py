"""The JVM with no server: medians with their intervals. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.stats.interval import of_median
from zoo.model.jvm_run import JvmRecord
from zoo.report.formatting import format_interval, format_number
from zoo.report.section import NONE, Section, Table


def section(jdk: str, found: list[JvmRecord]) -> Section:
    """Medians with their intervals."""
    columns = ["flags", "start and end, ms", "RSS, MB", "highest RSS, MB", "anonymous, MB", "heap a parked thread, kB"]
    rows = [
        [
            one.case,
            _shown(one.start_and_end_s, 1000),
            *(_shown(values, 1 / 1024) for values in (one.rss_kb, one.peak_kb, one.anon_kb)),
            _shown(one.parked_kb, 1),
        ]
        for one in found
    ]
    return Section(f"The JVM with no server, {jdk}", tables=[Table("", columns, rows)])


def _shown(values: Sequence[float], factor: float) -> str:
    if not values:
        return NONE
    return format_interval(of_median(values), lambda value: format_number(value * factor))
