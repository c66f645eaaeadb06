"""What is said of starts, and of ApacheBench's fixed number of requests. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.stats.interval import of_mean, of_median
from zoo.analysis.summary import spread
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import AbResult, StartupResult
from zoo.report.charts.dots import DOTS
from zoo.report.charts.figure import Drawing, Figure, Group, slug
from zoo.report.columns import title_of
from zoo.report.formatting import format_interval, format_number, format_spread
from zoo.report.section import NONE, Section, Table
from zoo.report.trial_rows import Kinds, dots, levels, notes, peak_mb, results, said

TEXT = (
    "From the start of a process to the first bytes of its first good answer, by polling every millisecond (of a "
    "container: from the command that starts it to the line that says it listens). Medians over all starts with their "
    "95 % interval (order statistics). default: the archive of the JDK's own classes, always on; cds: an archive "
    "of the application's classes too; aot: an ahead-of-time cache."
)
AB_TEXT = "So many requests over kept-alive HTTP/1.0 connections by ApacheBench, which has one thread."


def section(records: Sequence[Record]) -> Section:
    """A table a way to start."""
    tables = []
    for asked, tier in levels(records):
        body = []
        for entry, found in sorted(results(records, (asked, tier), StartupResult).items()):
            each = [result for _, result in found]
            archives = {r.archive_kb for r in each if r.archive_kb is not None}
            body.append(
                [
                    entry,
                    str(sum(len(r.first_answer_s) for r in each)),
                    _median([1000 * s for r in each for s in r.first_answer_s]),
                    _median([kb / 1024 for r in each for kb in r.rss_kb]),
                    _median([kb / 1024 for r in each for kb in r.anon_kb]),
                    format_number(max(archives) / 1024) if archives else NONE,
                ]
            )
        columns = ["entry", "starts", "first answer ms", "RSS at rest MB", "anonymous MB", "archive MB"]
        tables.append(Table(asked, columns, body))
    return Section("Scenario startup", [TEXT], tables, notes(records))


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Time and memory, a figure a way to start."""
    times: list[Figure] = []
    memory: list[Figure] = []
    for level in levels(records):
        found = results(records, level, StartupResult)
        seconds = {entry: [1000 * s for _, r in of for s in r.first_answer_s] for entry, of in found.items()}
        rested = {entry: [kb / 1024 for _, r in of for kb in r.rss_kb] for entry, of in found.items()}
        way = level[0].partition(" ")[2]
        for name, values, title, figures in (
            ("start", seconds, "first answer, ms", times),
            ("rest", rested, "RSS at rest, MB", memory),
        ):
            data = dots(kinds, values, of_median)
            if data:
                caption = f"{way}: {title}"
                figures.append(
                    Figure(slug(name, *level), level[0], caption, f"{caption}: {said(data)}", Drawing(DOTS, data))
                )
    return [Group(title, of) for title, of in (("Time", times), ("Memory", memory)) if of]


def ab_section(records: Sequence[Record]) -> Section:
    """A table a load."""
    tables = []
    for level in levels(records):
        body = []
        for entry, found in sorted(results(records, level, AbResult).items()):
            each = [result for _, result in found]
            body.append(
                [
                    entry,
                    format_spread(spread(r.requests_per_s for r in each)),
                    format_spread(spread(r.percentiles_us[50] for r in each), 1e-3),
                    format_spread(spread(r.percentiles_us[99] for r in each), 1e-3),
                    f"{sum(r.requests - r.complete + r.failed + r.non_2xx + r.write_errors for r in each):,}",
                    f"{sum(r.requests for r in each):,}",
                    format_spread(spread(peak_mb(r) for r, _ in found)),
                ]
            )
        columns = ["entry", *map(title_of, ("rps", "p50_ms", "p99_ms")), "bad", "requests", title_of("rss_peak_mb")]
        tables.append(Table(f"{level[0]} · closed, c = {level[1]}, kept alive", columns, body))
    return Section("Scenario ab", [AB_TEXT], tables, notes(records))


def ab_groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Throughput and memory, a figure each."""
    made = []
    for level in levels(records):
        found = results(records, level, AbResult)
        readings = {
            title_of("rps"): {entry: [r.requests_per_s for _, r in of] for entry, of in found.items()},
            "peak RSS, MB": {
                entry: [mb for r, _ in of if (mb := peak_mb(r)) is not None] for entry, of in found.items()
            },
        }
        figures = []
        for title, values in readings.items():
            data = dots(kinds, values, of_mean)
            if data:
                figures.append(
                    Figure(slug(*level, title), level[0], title, f"{title}: {said(data)}", Drawing(DOTS, data))
                )
        if figures:
            made.append(Group(f"ab, {level[1]} connections", figures))
    return made


def _median(values: Sequence[float]) -> str:
    """`412 [408, 419]`"""
    if not values:
        return NONE
    return format_interval(of_median(values))
