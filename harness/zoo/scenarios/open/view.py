"""View of `open`, and the parts it shares with `rate`: who gets a response in time, and how late. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

from zoo.core.entry_id import server_name
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import OpenResult
from zoo.report.charts.figure import Datum, Figure, Group, draw_on_log_axis, slug
from zoo.report.charts.latency import LATENCY, quantile_row
from zoo.report.columns import title_of
from zoo.report.formatting import format_spread
from zoo.report.section import Section
from zoo.report.view import Columns, Kinds, View, dot_figure, dots, join_by_server, trial_section
from zoo.stats.interval import mean_interval
from zoo.stats.summary import spread
from zoo.stats.trials import (
    Found,
    LoadKey,
    answered_shares,
    generator_kept_rate,
    list_loads,
    newest_results,
    peak_mb,
    results,
    valid_results,
)

TEXT = (
    "Requests arrive at a constant rate whatever the server does, each on a new connection. OK/s is "
    "over the total duration, to the last response or timeout. Quantiles cover all requests, from "
    "the time when each was due; a request without a good response counts as later than any other. A "
    "run in which the generator fell behind has no figures."
)
QUANTILES = {"p50": "p50_us", "p99": "p99_us", "p99.9": "p999_us"}


Opened = Found[OpenResult]


def arrival_section(name: str, text: str, columns: Columns[OpenResult]) -> Callable[[Sequence[Record]], Section]:
    """Return the section of a scenario with constant arrival rates: one table per load."""

    def behind(records: Sequence[Record]) -> list[str]:
        return [
            f"{entry}, {asked}, round {record.round}: no data, {result.behind}"
            for asked, tier in list_loads(records)
            for entry, found in results(records, (asked, tier), OpenResult).items()
            for record, result in found
            if result.behind
        ]

    return trial_section(name, text, OpenResult, columns, _title, behind)


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return figures of the share of good responses and of their latency, for each load."""
    made = []
    for level in list_loads(records):
        found = {
            entry: [(record, r) for record, r in of if r.behind is None]
            for entry, of in results(records, level, OpenResult).items()
        }
        shares = {entry: [100 * r.ok_share for _, r in of] for entry, of in found.items()}
        data = dots(kinds, shares, mean_interval, {entry: "no data" for entry, of in found.items() if not of})
        figures = dot_figure(slug("ok", *level), level[0], "answered well, %", data)
        late = _quantiles(kinds, found)
        if late:
            alt_text = "Latency quantiles in milliseconds. The table has the figures."
            drawing = draw_on_log_axis(LATENCY, late, [d["ms"] for d in late])
            figures.append(
                Figure(slug("late", *level), level[0], "latency, ms: ● p50, ▲ p99, ◆ p99.9", alt_text, drawing)
            )
        if found:
            made.append(Group(_title(records, level), figures))
    return made


def _title(records: Sequence[Record], level: LoadKey) -> str:
    of = [result for found in results(records, level, OpenResult).values() for _, result in found]
    return f"{level[0]} · open, {of[0].rate:,}/s" if of else level[0]


def _over(read: Callable[[OpenResult], float | None], scale: float = 1.0) -> Callable[[Opened], str]:
    """Return a column's text: the median and range over the sound rounds."""
    return lambda found: format_spread(spread(map(read, _sound(found))), scale)


def _sound(found: Opened) -> list[OpenResult]:
    return valid_results(result for _, result in found)


def over_made(read: Callable[[Record], float | None]) -> Callable[[Opened], str]:
    """Return a column's text over the rounds in which the generator made the rate, even if too late for latencies."""
    return lambda found: format_spread(spread(read(record) for record, result in found if generator_kept_rate(result)))


def _failed(found: Opened) -> str:
    """Format the failures by kind, as in `timeout 20,640`."""
    counts: Counter[str] = Counter()
    for result in _sound(found):
        counts.update(result.failures)
    return ", ".join(f"{kind} {count:,}" for kind, count in counts.items()) or "0"


ARRIVAL_COLUMNS: Columns[OpenResult] = {
    "valid rounds": lambda found: f"{len(_sound(found))} of {len(found)}",
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
    for level in list_loads(records):
        mine = [record for record in records if (record.workload, record.tier) == level]
        found = newest_results(mine)
        shares = {entry: f"{share.text} by" for entry, share in answered_shares(mine).items()}
        for name, said in join_by_server(records, shares).items():
            one = next(result for entry, result in found.items() if server_name(entry) == name)
            made.append(
                f"{name}, {one.rate:,} requests per second that wait {one.delay_s:g} s each; answered "
                f"within {one.timeout_s:g} s: {said}."
            )
    return made


VIEW = View("Constant arrival rate", arrival_section("open", TEXT, ARRIVAL_COLUMNS), groups, answers)
