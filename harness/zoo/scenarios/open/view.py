"""The view of `open`, and what `rate` shares with it: who is answered in time, and how late. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from zoo.analysis.stats.interval import of_mean
from zoo.analysis.summary import spread
from zoo.analysis.trials import Found, LoadKey, answered, levels, newest, peak_mb, rate_made, results, sound
from zoo.model.entry_id import server_of
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import OpenResult
from zoo.report.charts.figure import Datum, Figure, Group, logarithmic, slug
from zoo.report.charts.latency import LATENCY, quantile_row
from zoo.report.columns import title_of
from zoo.report.formatting import format_spread
from zoo.report.section import Section
from zoo.report.view import Columns, Kinds, View, by_server, dot_figure, dots, trial_section

TEXT = (
    "Requests come at a constant rate whatever the server does, each on a connection of its own. OK/s is over the "
    "total duration, to the last answer or timeout. Quantiles are over all requests, from when each was due; one "
    "without a good answer counts as later than any. A run in which the generator fell behind is no data."
)
QUANTILES = {"p50": "p50_us", "p99": "p99_us", "p99.9": "p999_us"}


Opened = Found[OpenResult]


def arrival_section(name: str, text: str, columns: Columns[OpenResult]) -> Callable[[Sequence[Record]], Section]:
    """Return the section of a scenario at constant arrival rates: one table per load."""

    def behind(records: Sequence[Record]) -> list[str]:
        return [
            f"{entry}, {asked}, round {record.round}: no data, {result.behind}"
            for asked, tier in levels(records)
            for entry, found in results(records, (asked, tier), OpenResult).items()
            for record, result in found
            if result.behind
        ]

    return trial_section(name, text, OpenResult, columns, _title, behind)


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return for each load who was answered, and how late."""
    made = []
    for level in levels(records):
        found = {
            entry: [(record, r) for record, r in of if r.behind is None]
            for entry, of in results(records, level, OpenResult).items()
        }
        shares = {entry: [100 * r.ok_share for _, r in of] for entry, of in found.items()}
        data = dots(kinds, shares, of_mean, {entry: "no data" for entry, of in found.items() if not of})
        figures = dot_figure(slug("ok", *level), level[0], "answered well, %", data)
        late = _quantiles(kinds, found)
        if late:
            told = "Latency quantiles in milliseconds. The figures are in the table."
            drawing = logarithmic(LATENCY, late, [d["ms"] for d in late])
            figures.append(Figure(slug("late", *level), level[0], "latency, ms: ● p50, ▲ p99, ◆ p99.9", told, drawing))
        if found:
            made.append(Group(_title(records, level), figures))
    return made


def _title(records: Sequence[Record], level: LoadKey) -> str:
    of = [result for found in results(records, level, OpenResult).values() for _, result in found]
    return f"{level[0]} · open, {of[0].rate:,}/s" if of else level[0]


def _over(read: Callable[[OpenResult], float | None], scale: float = 1.0) -> Callable[[Opened], str]:
    """Return a column's text: median and range over the sound rounds."""
    return lambda found: format_spread(spread(map(read, _sound(found))), scale)


def _sound(found: Opened) -> list[OpenResult]:
    return sound(result for _, result in found)


def over_made(read: Callable[[Record], float | None]) -> Callable[[Opened], str]:
    """Return a column's text over the rounds in which the generator made the rate, even if too late for latencies."""
    return lambda found: format_spread(spread(read(record) for record, result in found if rate_made(result)))


def _failed(found: Opened) -> str:
    """`timeout 20,640`"""
    counts: Counter[str] = Counter()
    for result in _sound(found):
        counts.update(result.failures)
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.items()) or "0"


ARRIVAL_COLUMNS: Columns[OpenResult] = {
    "sound rounds": lambda found: f"{len(_sound(found))} of {len(found)}",
    "OK %": _over(lambda r: 100 * r.ok_share),
    "OK/s": _over(lambda r: r.ok_per_s),
    **{f"{name} ms": _over(attrgetter(f"latency.{field}"), 1e-3) for name, field in QUANTILES.items()},
    "sent late, p99 ms": _over(lambda r: r.lag.p99_us, 1e-3),
    "failed": _failed,
    title_of("rss_peak_mb"): over_made(peak_mb),
}


def _quantiles(kinds: Kinds, found: Mapping[str, Opened]) -> list[Datum]:
    """Return one row per round and quantile, in milliseconds."""
    return [
        quantile_row(place, entry, kinds[entry], record.round, name, value)
        for place, (entry, rounds) in enumerate(sorted(found.items()))
        for record, result in rounds
        for name, field in QUANTILES.items()
        if (value := getattr(result.latency, field)) is not None
    ]


def answers(records: Sequence[Record]) -> list[str]:
    made = []
    for level in levels(records):
        mine = [record for record in records if (record.asked, record.tier) == level]
        found = newest(mine)
        shares = {entry: f"{share.text}{',' if share.late else ''} by" for entry, share in answered(mine).items()}
        for name, said in by_server(records, shares).items():
            one = next(result for entry, result in found.items() if server_of(entry) == name)
            made.append(
                f"{name}, {one.rate:,} requests a second that wait {one.delay_s:g} s each; "
                f"answered within {one.timeout_s:g} s: {said}."
            )
    return made


VIEW = View("A constant arrival rate", arrival_section("open", TEXT, ARRIVAL_COLUMNS), groups, answers)
