"""The JVM with no server: medians with their intervals. Pure."""

from __future__ import annotations

from zoo.analysis.stats.interval import Interval, of_median
from zoo.model.jvm_run import JvmRecord
from zoo.report.section import NONE, Section, Table
from zoo.report.text.wording import number


def section(jdk: str, found: list[JvmRecord]) -> Section:
    """Medians with their intervals."""
    columns = ["flags", "start and end, ms", "RSS, MB", "highest RSS, MB", "anonymous, MB"]
    rows = [
        [
            one.case,
            _shown(of_median(one.start_and_end_s), 1000) if one.start_and_end_s else NONE,
            *(_shown(of_median(values), 1 / 1024) for values in (one.rss_kb, one.peak_kb, one.anon_kb)),
        ]
        for one in found
    ]
    return Section(f"The JVM with no server, {jdk}", tables=[Table("", columns, rows)])


def _shown(interval: Interval, factor: float) -> str:
    text = number(interval.value * factor)
    if interval.low is None or interval.high is None:
        return text
    return f"{text} ({number(interval.low * factor)}–{number(interval.high * factor)})"
