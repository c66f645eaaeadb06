"""Rows of tables and charts from records that are no plain windows of wrk. Pure."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from zoo.analysis.stats.interval import Interval
from zoo.model.flag import Flag
from zoo.model.record import Record, newest_records
from zoo.report.charts.figure import Datum, short
from zoo.report.formatting import format_number

R = TypeVar("R")
LoadKey = tuple[str, str]
"""What was asked, and the tier."""

Kinds = Mapping[str, str]
"""Entry: its thread model, or that it is the bare reference."""

MOST_POINTS = 150


def latest(records: Iterable[Record]) -> list[Record]:
    """Of records of one cell and round the last, in the order of the rounds."""
    return sorted(newest_records(records), key=lambda record: record.round)


def levels(records: Iterable[Record]) -> list[LoadKey]:
    """In the order they were first measured."""
    return sorted({(record.asked, record.tier) for record in records})


def results(records: Iterable[Record], level: LoadKey, kind: type[R]) -> dict[str, list[tuple[Record, R]]]:
    """What a load gave, by entry and round."""
    found: dict[str, list[tuple[Record, R]]] = {}
    for record in latest(records):
        if (record.asked, record.tier) == level and record.trial and isinstance(record.trial.result, kind):
            found.setdefault(record.entry, []).append((record, record.trial.result))
    return found


def notes(records: Iterable[Record]) -> list[str]:
    """Cells without figures, and why; flags, and in how many cells."""
    records = latest(records)
    failed = [
        f"{record.entry}, {record.asked}, failed in round {record.round}: {record.failure.text}"
        for record in records
        if record.failure
    ]
    seen = Counter(flag for record in records for flag in flags(record))
    return [
        *failed,
        *(f"`{flag.value}` in {seen[flag]} of {len(records)} cells: {flag.text}" for flag in Flag if seen[flag]),
    ]


def flags(record: Record) -> list[Flag]:
    """What an expert would object to in a cell."""
    of = record.trial or record.measurement
    return of.flags if of else []


def peak_mb(record: Record) -> float | None:
    """Peak resident memory, where it was seen."""
    return record.memory.peak_mb if record.memory else None


def dots(
    kinds: Kinds,
    values: Mapping[str, Sequence[float]],
    interval: Callable[[Sequence[float]], Interval],
    notes: Mapping[str, str] | None = None,
) -> list[Datum]:
    """An entry a row: its values, their median, an interval; or a note where there are none."""
    made = []
    for place, (entry, seen) in enumerate(sorted(values.items())):
        found = interval(seen) if seen else None
        made.append(
            {
                "entry": entry,
                "place": place,
                "kind": kinds[entry],
                "value": short(statistics.median(seen)) if seen else None,
                "low": short(found.low) if found and found.low is not None else None,
                "high": short(found.high) if found and found.high is not None else None,
                "rounds": [short(v) for v in seen],
                "bound": False,
                "note": (notes or {}).get(entry, ""),
                "text": " · ".join(format_number(v) for v in seen) or "none",
                "flags": "none",
            }
        )
    return made


def said(data: Iterable[Datum]) -> str:
    """Values of such rows in words."""
    return "; ".join(
        f"{d['entry']} {d['note'] or 'nothing' if d['value'] is None else format_number(d['value'])}" for d in data
    )


def thinned(values: Sequence[R]) -> list[R]:
    """As many as a chart can show, evenly chosen, the last among them."""
    step = max(1, -(-len(values) // MOST_POINTS))
    return list(values[::-1][::step][::-1])
