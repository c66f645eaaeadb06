"""What is said of constant arrival rates: who is answered in time, and how late. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from zoo.analysis.answered import Answered, of_open
from zoo.analysis.open import rate_made
from zoo.analysis.stats.interval import of_mean
from zoo.analysis.summary import spread
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import OpenResult
from zoo.report.charts.dots import DOTS
from zoo.report.charts.figure import Datum, Drawing, Figure, Group, logarithmic, short, slug
from zoo.report.charts.latency import LATENCY
from zoo.report.columns import title_of
from zoo.report.formatting import format_spread
from zoo.report.section import Section, Table
from zoo.report.trial_rows import Kinds, LoadKey, dots, levels, notes, peak_mb, results, said

TEXT = {
    "open": "Requests come at a constant rate whatever the server does, each on a connection of its own. OK/s is over "
    "the total duration, to the last answer or timeout. Quantiles are over all requests, from when each was due; one "
    "without a good answer counts as later than any. A run in which the generator fell behind is no data.",
    "rate": "Requests come at a constant rate on kept-alive connections: a share of what the slowest entry of this run "
    "can serve under the same generator. Quantiles are over all requests, from when each was due. vegeta wakes within "
    "about 1 ms, so that much of each quantile is its own: a smaller difference between two servers shows nothing.",
}
QUANTILES = {"p50": "p50_us", "p99": "p99_us", "p99.9": "p999_us"}


def section(scenario: str, records: Sequence[Record]) -> Section:
    """A table a load."""
    behind = [
        f"{entry}, {asked}, round {record.round}: no data, {result.behind}"
        for asked, tier in levels(records)
        for entry, found in results(records, (asked, tier), OpenResult).items()
        for record, result in found
        if result.behind
    ]
    tables = [_table(records, level) for level in levels(records)]
    return Section(f"Scenario {scenario}", [TEXT[scenario]], tables, [*behind, *notes(records)])


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """For each load who was answered, and how late."""
    made = []
    for level in levels(records):
        found = {entry: _sound(of) for entry, of in results(records, level, OpenResult).items()}
        shares = {entry: [100 * r.ok_share for _, r in of] for entry, of in found.items()}
        data = dots(kinds, shares, of_mean, {entry: "no data" for entry, of in found.items() if not of})
        figures = [
            Figure(
                slug("ok", *level),
                level[0],
                "answered well, %",
                f"Answered well, %: {said(data)}",
                Drawing(DOTS, data),
            )
        ]
        late = _quantiles(kinds, found)
        if late:
            told = "Latency quantiles in milliseconds. The figures are in the table."
            drawing = logarithmic(LATENCY, late, [d["ms"] for d in late])
            figures.append(Figure(slug("late", *level), level[0], "latency, ms: ● p50, ▲ p99, ◆ p99.9", told, drawing))
        if found:
            made.append(Group(_title(records, level), figures))
    return made


Found = Sequence[tuple[Record, OpenResult]]


def _sound(found: Found) -> Found:
    return [(record, result) for record, result in found if result.behind is None]


def answered(records: Sequence[Record]) -> dict[str, Answered]:
    """Return by entry how many of its requests were answered, over all sound rounds; of records of one load."""
    return {
        entry: of_open([result for _, result in sound])
        for level in levels(records)
        for entry, found in results(records, level, OpenResult).items()
        if (sound := _sound(found))
    }


def newest(records: Sequence[Record]) -> dict[str, OpenResult]:
    """By entry what its last sound round gave; of records of one load."""
    return {
        entry: result
        for level in levels(records)
        for entry, found in results(records, level, OpenResult).items()
        for _, result in _sound(found)
    }


def _title(records: Sequence[Record], level: LoadKey) -> str:
    of = [result for found in results(records, level, OpenResult).values() for _, result in found]
    return f"{level[0]} · open, {of[0].rate:,}/s" if of else level[0]


def _table(records: Sequence[Record], level: LoadKey) -> Table:
    body = []
    for entry, found in sorted(results(records, level, OpenResult).items()):
        each = [result for _, result in _sound(found)]
        body.append(
            [
                entry,
                f"{len(each)} of {len(found)}",
                format_spread(spread(100 * r.ok_share for r in each)),
                format_spread(spread(r.ok_per_s for r in each)),
                *(format_spread(spread(getattr(r.latency, name) for r in each), 1e-3) for name in QUANTILES.values()),
                format_spread(spread(r.lag.p99_us for r in each), 1e-3),
                _failed(each),
                format_spread(spread(peak_mb(record) for record, result in found if rate_made(result))),
            ]
        )
    columns = ["entry", "sound rounds", "OK %", "OK/s", *(f"{name} ms" for name in QUANTILES), "sent late, p99 ms"]
    return Table(_title(records, level), [*columns, "failed", title_of("rss_peak_mb")], body)


def _failed(each: Sequence[OpenResult]) -> str:
    """`timeout 20,640`"""
    counts: dict[str, int] = {}
    for result in each:
        for kind, count in result.failures.items():
            counts[kind] = counts.get(kind, 0) + count
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.items()) or "0"


def _quantiles(kinds: Kinds, found: dict[str, Found]) -> list[Datum]:
    """A round and quantile a row, in milliseconds."""
    made = []
    for place, (entry, rounds) in enumerate(sorted(found.items())):
        for record, result in rounds:
            for name, field in QUANTILES.items():
                value = getattr(result.latency, field)
                if value is not None:
                    made.append(
                        {
                            "entry": entry,
                            "place": place,
                            "kind": kinds[entry],
                            "round": record.round,
                            "quantile": name,
                            "ms": short(max(value, 1) / 1000),
                        }
                    )
    return made
