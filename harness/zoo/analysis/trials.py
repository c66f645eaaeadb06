"""Groups the records of trials by load and entry. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from zoo.analysis.answered import Answered, of_open
from zoo.model.record import Record, newest_records
from zoo.model.samples import OWN_FAULTS
from zoo.model.trial_results import OpenResult

R = TypeVar("R")
LoadKey = tuple[str, str]
"""Scenario with its case, and tier."""

Found = Sequence[tuple[Record, R]]
"""The records of an entry with their results, by round."""

LEAST_SENT = 0.99
"""Share of the requests that were due."""


def latest(records: Iterable[Record]) -> list[Record]:
    return sorted(newest_records(records), key=lambda record: record.round)


def levels(records: Iterable[Record]) -> list[LoadKey]:
    return sorted({(record.asked, record.tier) for record in records})


def results(records: Iterable[Record], level: LoadKey, kind: type[R]) -> dict[str, list[tuple[Record, R]]]:
    """Return the results of a load, by entry and round."""
    found: dict[str, list[tuple[Record, R]]] = {}
    for record in latest(records):
        if (record.asked, record.tier) == level and record.trial and isinstance(record.trial.result, kind):
            found.setdefault(record.entry, []).append((record, record.trial.result))
    return found


def each_result(records: Iterable[Record], level: LoadKey, kind: type[R]) -> dict[str, list[R]]:
    return {entry: [result for _, result in of] for entry, of in results(records, level, kind).items()}


def peak_mb(record: Record) -> float | None:
    return record.memory.peak_mb if record.memory else None


def not_made(due: int, sent: int, failures: Mapping[str, int]) -> str | None:
    """Return why the generator did not send the requests that were due; None where it did, however late."""
    own = {kind: count for kind, count in failures.items() if kind in OWN_FAULTS}
    if own:
        told = ", ".join(f"{kind.removeprefix('generator: ')} for {count:,} requests" for kind, count in own.items())
        return f"the generator ran out of {told}"
    if sent < LEAST_SENT * due:
        return f"the generator sent {sent:,} of {due:,} requests that were due"
    return None


def rate_made(result: OpenResult) -> bool:
    """Return whether the generator made the rate. It may still be too late for latencies, but not for memory."""
    return not_made(result.due, result.sent, result.failures) is None


def sound(found: Iterable[OpenResult]) -> list[OpenResult]:
    """Return the results for which the generator kept up."""
    return [result for result in found if result.behind is None]


def answered(records: Sequence[Record]) -> dict[str, Answered]:
    """Return by entry how many of its requests were answered, over all sound rounds; from records of one load."""
    return {entry: of_open(found) for entry, found in _sound(records).items()}


def newest(records: Sequence[Record]) -> dict[str, OpenResult]:
    """Return by entry the result of its last sound round; from records of one load."""
    return {entry: found[-1] for entry, found in _sound(records).items()}


def _sound(records: Sequence[Record]) -> dict[str, list[OpenResult]]:
    return {
        entry: each
        for level in levels(records)
        for entry, found in each_result(records, level, OpenResult).items()
        if (each := sound(found))
    }
