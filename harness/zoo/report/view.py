"""The part of a report that a scenario describes itself, and what such parts are built from. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from zoo.analysis.metrics import REQUESTS, Word
from zoo.analysis.pairs import Kind, Pair
from zoo.analysis.stats.interval import Interval
from zoo.analysis.summary import spread
from zoo.analysis.trials import Found, LoadKey, latest, levels, peak_mb, results
from zoo.model.entry_id import server_of
from zoo.model.flag import Flag
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.plan.scenario import SCENARIOS
from zoo.report.cells import variant
from zoo.report.charts.dots import DOTS, described, dot
from zoo.report.charts.figure import Datum, Drawing, Figure, Group
from zoo.report.columns import title_of
from zoo.report.formatting import format_spread
from zoo.report.section import Section, Table
from zoo.report.text.wording import MODELS, listed, ranged

R = TypeVar("R")
Kinds = Mapping[str, str]
"""Thread model by entry, or that it is the bare reference."""

MOST_POINTS = 150
UNDECIDED = {Word.OPEN.value, Word.NOT_MEASURED.value}


@dataclass(frozen=True)
class View:
    """What a report shows of a scenario's records; each function gets the records of that scenario.

    `answers` are its first sentences; a scenario without them answers by requests per second, pair by pair."""

    heading: str
    section: Callable[[Sequence[Record]], Section]
    groups: Callable[[Run, Kinds, Sequence[Record]], list[Group]]
    answers: Callable[[Sequence[Record]], list[str]] | None = None


def views() -> dict[str, View]:
    """Return the view of each scenario that has one."""
    return {name: scenario.view for name, scenario in SCENARIOS.items() if isinstance(scenario.view, View)}


def plain(records: Sequence[Record]) -> list[Record]:
    """Return the records of scenarios without a view."""
    known = views()
    return [record for record in records if record.scenario not in known]


def viewed(records: Sequence[Record]) -> list[tuple[str, View, list[Record]]]:
    """Return the scenarios that have a view and records, with both."""
    each = [(name, view, [r for r in records if r.scenario == name]) for name, view in views().items()]
    return [one for one in each if one[2]]


def answers(records: Sequence[Record], pairs: Iterable[Pair]) -> list[str]:
    """Return the first sentences of all scenarios with a view; `pairs` compare the entries of the records."""
    each = [answer for _, view, mine in viewed(records) if view.answers for answer in view.answers(mine)]
    return [*each, *_swept(pairs, {record.entry: record.model for record in records})]


def _swept(pairs: Iterable[Pair], models: Mapping[str, str]) -> list[str]:
    """Who serves more requests per second, counted over the cells in which two variants were measured.

    One sentence names all pairs between which nothing is decided. `models` are the thread models by entry.
    """
    words: dict[tuple[str, str, str], Counter[str]] = {}
    by_pair = {name for name, view in views().items() if view.answers is None}
    for pair in pairs:
        scenario, compared = pair.scenario.partition(" ")[0], pair.comparisons.get(REQUESTS)
        if scenario in by_pair and pair.kind in (Kind.MODEL, Kind.VARIANT) and compared and compared.ratio:
            words.setdefault((scenario, pair.a, pair.b), Counter())[compared.verdict.word.value] += 1
    made: list[str] = []
    undecided: dict[str, None] = {}
    none_decided = all(UNDECIDED.issuperset(counts) for counts in words.values())
    for (_, a, b), counts in words.items():
        alike = models[a] == models[b]
        first, second = (variant(e) if alike else MODELS.get(models[e], variant(e)) for e in (a, b))
        if UNDECIDED.issuperset(counts):
            undecided[server_of(a) if none_decided else f"{first} and {second} in {server_of(a)}"] = None
            continue
        told = listed([f"{word} in {count}" for word, count in counts.most_common()])
        made.append(f"{server_of(a)}, requests a second of {first} over {second}: {told} of {counts.total()} cells.")
    if undecided:
        between = f"the variants of {listed(list(undecided))}" if none_decided else listed(list(undecided))
        made.append(f"Requests a second: nothing is decided between {between}.")
    return made


def by_server(records: Sequence[Record], said: Mapping[str, str]) -> dict[str, str]:
    """Join what is said of a server's variants: `13% by platform threads and all by virtual threads`.

    Each is followed by its thread model, or by its name where two variants have one model.
    """
    models = {record.entry: record.model for record in records}
    made: dict[str, list[str]] = {}
    for entry, words in said.items():
        alone = sum(models[e] == models[entry] for e in said if server_of(e) == server_of(entry)) == 1
        by = MODELS.get(models[entry], variant(entry)) if alone else variant(entry)
        made.setdefault(server_of(entry), []).append(f"{words} {by}")
    return {name: listed(parts) for name, parts in made.items()}


Columns = Mapping[str, Callable[[Found[R]], str]]
"""The text of a cell by the title of its column."""


def trial_section(
    name: str,
    text: str,
    kind: type[R],
    columns: Columns[R],
    title: Callable[[Sequence[Record], LoadKey], str],
    bullets: Callable[[Sequence[Record]], list[str]] = lambda _: [],
) -> Callable[[Sequence[Record]], Section]:
    """Return the section of a scenario of trials: one table per load with one row per entry, then the notes."""

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
            for level in levels(records)
        ]
        return Section(f"Scenario {name}", [text], tables, [*bullets(records), *notes(records)])

    return section


def over(read: Callable[[R], float | None], scale: float = 1.0) -> Callable[[Found[R]], str]:
    """Return a column's text: median and range over rounds of what is read from a result."""
    return lambda found: format_spread(spread(read(result) for _, result in found), scale)


def total(read: Callable[[R], int]) -> Callable[[Found[R]], str]:
    """Return a column's text: the sum over rounds of what is read from a result."""
    return lambda found: f"{sum(read(result) for _, result in found):,}"


def peak_column() -> dict[str, Callable[[Found[R]], str]]:
    """Return the column of peak memory."""
    return {title_of("rss_peak_mb"): lambda found: format_spread(spread(peak_mb(record) for record, _ in found))}


Values = Callable[[Sequence[Record], LoadKey], Mapping[str, Sequence[float]]]
"""The values of each entry at a load."""


def median_answers(
    values: Values, subject: Callable[[LoadKey], str], rounded: Callable[[float], float] = float
) -> Callable[[Sequence[Record]], list[str]]:
    """Return the first sentences of a scenario: for each load the medians of its entries, by server."""

    def answers(records: Sequence[Record]) -> list[str]:
        made = []
        for level in levels(records):
            medians = {
                entry: rounded(statistics.median(seen)) for entry, seen in values(records, level).items() if seen
            }
            if medians:
                made.append(f"{subject(level)}: {ranged(medians)}.")
        return made

    return answers


def notes(records: Iterable[Record]) -> list[str]:
    """Return why cells have no figures, and in how many cells each flag was raised."""
    records = latest(records)
    failed = [f"{r.entry}, {r.asked}, failed in round {r.round}: {r.failure.text}" for r in records if r.failure]
    each = [of.flags for record in records if (of := record.trial or record.measurement)]
    seen = Counter(flag for flags in each for flag in flags)
    flags = [f"`{flag.value}` in {seen[flag]} of {len(records)} cells: {flag.text}" for flag in Flag if seen[flag]]
    return [*failed, *flags]


def dots(
    kinds: Kinds,
    values: Mapping[str, Sequence[float]],
    interval: Callable[[Sequence[float]], Interval],
    notes: Mapping[str, str] | None = None,
) -> list[Datum]:
    """Return one row per entry: its values, their median and interval, or a note where there are none."""
    made = []
    for place, (entry, seen) in enumerate(sorted(values.items())):
        found = interval(seen) if seen else None
        ends, middle = ((found.low, found.high), statistics.median(seen)) if found else ((None, None), None)
        made.append(dot(place, entry, kinds[entry], seen, middle, ends, note=(notes or {}).get(entry, "")))
    return made


def dot_figure(name: str, title: str, caption: str, data: list[Datum]) -> list[Figure]:
    """Return the figure of such rows; empty without rows."""
    return [Figure(name, title, caption, described(caption, data), Drawing(DOTS, data))] if data else []


def thinned(values: Sequence[R]) -> list[R]:
    """Return as many values as a chart can show, evenly chosen, the last among them."""
    step = max(1, -(-len(values) // MOST_POINTS))
    return list(values[::-1][::step][::-1])
