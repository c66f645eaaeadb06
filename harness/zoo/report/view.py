"""Views: the part of a report that a scenario defines itself, and helpers to build such parts. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from zoo.core.entry_id import server_name
from zoo.core.flag import Flag
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.scenario import SCENARIOS
from zoo.report.cells import variant_of
from zoo.report.charts.dots import DOTS, describe_rows, dot_row
from zoo.report.charts.figure import Datum, Drawing, Figure, Group
from zoo.report.columns import title_of
from zoo.report.formatting import format_spread
from zoo.report.section import Section, Table
from zoo.report.wording import MODELS, format_by_server, join_names
from zoo.stats.interval import Interval
from zoo.stats.metrics import REQUESTS, Word
from zoo.stats.pairs import Kind, Pair
from zoo.stats.summary import spread
from zoo.stats.trials import Found, LoadKey, list_loads, newest_by_round, peak_mb, results

R = TypeVar("R")
Kinds = Mapping[str, str]
"""The thread model of each entry, or the label of the bare reference."""

MAX_POINTS = 150
UNDECIDED = {Word.UNCLEAR.value, Word.NOT_MEASURED.value}


@dataclass(frozen=True)
class View:
    """The part of a report about one scenario; each function but `conditions` receives the records of that scenario.

    `answers` returns its first sentences; without it, requests per second are compared pair by pair. `conditions`
    returns how a cell was measured, for the head of the report.
    """

    heading: str
    section: Callable[[Sequence[Record]], Section]
    groups: Callable[[Run, Kinds, Sequence[Record]], list[Group]]
    answers: Callable[[Sequence[Record]], list[str]] | None = None
    conditions: Callable[[Run], list[str]] = lambda _: []


def views() -> dict[str, View]:
    """Return the view of each scenario that has one."""
    return {name: scenario.view for name, scenario in SCENARIOS.items() if isinstance(scenario.view, View)}


def records_without_view(records: Sequence[Record]) -> list[Record]:
    """Return the records of scenarios without a view."""
    known = views()
    return [record for record in records if record.scenario not in known]


def records_by_view(records: Sequence[Record]) -> list[tuple[str, View, list[Record]]]:
    """Return each scenario that has a view and records, with its view and its records."""
    views_with_records = [(name, view, [r for r in records if r.scenario == name]) for name, view in views().items()]
    return [each for each in views_with_records if each[2]]


def answers(records: Sequence[Record], pairs: Iterable[Pair]) -> list[str]:
    """Return the first sentences of all scenarios with a view; `pairs` compare the entries of the records."""
    sentences = [answer for _, view, own in records_by_view(records) if view.answers for answer in view.answers(own)]
    return [*sentences, *_sweep_answers(pairs, {record.entry: record.model for record in records})]


def _sweep_answers(pairs: Iterable[Pair], models: Mapping[str, str]) -> list[str]:
    """Return which variant serves more requests per second, counted over the cells in which both were measured.

    One sentence names all pairs between which nothing is decided. `models` has the thread model of each entry.
    """
    words: dict[tuple[str, str, str], Counter[str]] = {}
    by_pair = {name for name, view in views().items() if view.answers is None}
    for pair in pairs:
        scenario, compared = pair.scenario.partition(" ")[0], pair.comparisons.get(REQUESTS)
        if scenario in by_pair and pair.kind in (Kind.MODEL, Kind.VARIANT) and compared and compared.ratio:
            words.setdefault((scenario, pair.a, pair.b), Counter())[compared.verdict.label] += 1
    sentences: list[str] = []
    undecided: dict[str, None] = {}
    none_decided = all(UNDECIDED.issuperset(counts) for counts in words.values())
    for (_, a, b), counts in words.items():
        same_model = models[a] == models[b]
        first, second = (variant_of(e) if same_model else MODELS.get(models[e], variant_of(e)) for e in (a, b))
        if UNDECIDED.issuperset(counts):
            undecided[server_name(a) if none_decided else f"{first} and {second} in {server_name(a)}"] = None
            continue
        verdicts = join_names([f"{word} in {count}" for word, count in counts.most_common()])
        sentences.append(
            f"{server_name(a)}, requests per second of {first} compared with {second}: "
            f"{verdicts} of {counts.total()} cells."
        )
    if undecided:
        between = f"the variants of {join_names(list(undecided))}" if none_decided else join_names(list(undecided))
        sentences.append(f"Requests per second: not decided between {between}.")
    return sentences


def join_by_server(records: Sequence[Record], texts: Mapping[str, str]) -> dict[str, str]:
    """Join the texts about a server's variants: `13% by platform threads and all by virtual threads`.

    Each text is followed by the thread model, or by the variant's name if two variants have the same model.
    """
    models = {record.entry: record.model for record in records}
    by_name: dict[str, list[str]] = {}
    for entry, words in texts.items():
        is_only = sum(models[e] == models[entry] for e in texts if server_name(e) == server_name(entry)) == 1
        by = MODELS.get(models[entry], variant_of(entry)) if is_only else variant_of(entry)
        by_name.setdefault(server_name(entry), []).append(f"{words} {by}")
    return {name: join_names(parts) for name, parts in by_name.items()}


Columns = Mapping[str, Callable[[Found[R]], str]]
"""The function that returns the text of a cell, by the title of its column."""


def trial_section(
    name: str,
    text: str,
    kind: type[R],
    columns: Columns[R],
    title: Callable[[Sequence[Record], LoadKey], str],
    bullets: Callable[[Sequence[Record]], list[str]] = lambda _: [],
) -> Callable[[Sequence[Record]], Section]:
    """Return a function for the section of a scenario of trials: a table per load, a row per entry, then notes."""

    def section(records: Sequence[Record]) -> Section:
        tables = [
            Table(
                title(records, level),
                ["entry", *columns],
                [
                    [entry, *(text(found) for text in columns.values())]
                    for entry, found in sorted(results(records, level, kind).items())
                ],
            )
            for level in list_loads(records)
        ]
        return Section(f"Scenario {name}", [text], tables, [*bullets(records), *notes(records)])

    return section


def median_column(read: Callable[[R], float | None], scale: float = 1.0) -> Callable[[Found[R]], str]:
    """Return a column's function: the median and range over rounds of a value read from results."""
    return lambda found: format_spread(spread(read(result) for _, result in found), scale)


def sum_column(read: Callable[[R], int]) -> Callable[[Found[R]], str]:
    """Return a column's function: the sum over rounds of a value read from results."""
    return lambda found: f"{sum(read(result) for _, result in found):,}"


def peak_column() -> dict[str, Callable[[Found[R]], str]]:
    """Return the column of peak memory."""
    return {title_of("rss_peak_mb"): lambda found: format_spread(spread(peak_mb(record) for record, _ in found))}


Values = Callable[[Sequence[Record], LoadKey], Mapping[str, Sequence[float]]]
"""A function that returns the values of each entry at a load."""


def median_answers(
    values: Values, subject: Callable[[LoadKey], str], rounded: Callable[[float], float] = float
) -> Callable[[Sequence[Record]], list[str]]:
    """Return a function for the first sentences of a scenario: medians of its entries by server, for each load."""

    def answers(records: Sequence[Record]) -> list[str]:
        sentences = []
        for level in list_loads(records):
            medians = {
                entry: rounded(statistics.median(measured))
                for entry, measured in values(records, level).items()
                if measured
            }
            if medians:
                sentences.append(f"{subject(level)}: {format_by_server(medians)}.")
        return sentences

    return answers


def notes(records: Iterable[Record]) -> list[str]:
    """Return why cells have no figures, and in how many cells each flag was raised."""
    records = newest_by_round(records)
    failed = [f"{r.entry}, {r.workload}, failed in round {r.round}: {r.failure.text}" for r in records if r.failure]
    flagged = [outcome.flags for record in records if (outcome := record.trial or record.measurement)]
    counts = Counter(flag for flags in flagged for flag in flags)
    flags = [f"`{flag.value}` in {counts[flag]} of {len(records)} cells: {flag.text}" for flag in Flag if counts[flag]]
    return [*failed, *flags]


def dots(
    kinds: Kinds,
    values: Mapping[str, Sequence[float]],
    interval: Callable[[Sequence[float]], Interval],
    notes: Mapping[str, str] | None = None,
) -> list[Datum]:
    """Return one row per entry: its values, their median and interval, and a note if `notes` has one."""
    rows = []
    for place, (entry, measured) in enumerate(sorted(values.items())):
        estimate = interval(measured) if measured else None
        ends, middle = (
            ((estimate.low, estimate.high), statistics.median(measured)) if estimate else ((None, None), None)
        )
        rows.append(dot_row(place, entry, kinds[entry], measured, middle, ends, note=(notes or {}).get(entry, "")))
    return rows


def dot_figure(name: str, title: str, caption: str, data: list[Datum]) -> list[Figure]:
    """Return the figure of rows from `dots`; empty without rows."""
    return [Figure(name, title, caption, describe_rows(caption, data), Drawing(DOTS, data))] if data else []


def thin_out(values: Sequence[R]) -> list[R]:
    """Return evenly spaced values, as many as a chart can show, including the last."""
    step = max(1, -(-len(values) // MAX_POINTS))
    return list(values[::-1][::step][::-1])
