"""Records of trials, grouped by load and entry. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from zoo.core.capacity import parse_count
from zoo.core.record import Record, newest_records
from zoo.core.samples import GENERATOR_FAULTS
from zoo.core.trial_results import OpenResult
from zoo.stats.all_answered import AnsweredShare, share_of_open

R = TypeVar("R")
LoadKey = tuple[str, str]
"""Scenario with its case, and connection count."""

Found = Sequence[tuple[Record, R]]
"""The records of an entry with their results, by round."""

LEAST_SENT = 0.99
"""Lowest share of the due requests that the generator must send."""


def newest_by_round(records: Iterable[Record]) -> list[Record]:
    return sorted(newest_records(records), key=lambda record: record.round)


def list_loads(records: Iterable[Record]) -> list[LoadKey]:
    """Return the loads of these records by scenario, and then from few connections to many."""
    loads = {(record.workload, record.tier) for record in records}
    return sorted(loads, key=lambda load: (load[0], parse_count(load[1])))


def results(records: Iterable[Record], level: LoadKey, kind: type[R]) -> dict[str, list[tuple[Record, R]]]:
    """Return the results of a load, by entry and round."""
    found: dict[str, list[tuple[Record, R]]] = {}
    for record in newest_by_round(records):
        if (record.workload, record.tier) == level and record.trial and isinstance(record.trial.result, kind):
            found.setdefault(record.entry, []).append((record, record.trial.result))
    return found


def each_result(records: Iterable[Record], level: LoadKey, kind: type[R]) -> dict[str, list[R]]:
    return {entry: [result for _, result in of] for entry, of in results(records, level, kind).items()}


def peak_mb(record: Record) -> float | None:
    return record.memory.peak_mb if record.memory else None


def generator_shortfall(due: int, sent: int, failures: Mapping[str, int]) -> str | None:
    """Return why the generator did not send the requests that were due; None if it did, however late."""
    own = {kind: count for kind, count in failures.items() if kind in GENERATOR_FAULTS}
    if own:
        exhausted = ", ".join(
            f"{kind.removeprefix('generator: ')} for {count:,} requests" for kind, count in own.items()
        )
        return f"the generator ran out of {exhausted}"
    if sent < LEAST_SENT * due:
        return f"the generator sent {sent:,} of {due:,} requests that were due"
    return None


def generator_kept_rate(result: OpenResult) -> bool:
    """Return True if the generator made the rate. It may still be too late for latencies, but not for memory."""
    return generator_shortfall(result.due, result.sent, result.failures) is None


def valid_results(found: Iterable[OpenResult]) -> list[OpenResult]:
    """Return the results for which the generator kept up."""
    return [result for result in found if result.behind is None]


def answered_shares(records: Sequence[Record]) -> dict[str, AnsweredShare]:
    """Return the share of requests with a response for each entry, over all sound rounds of one load."""
    return {entry: share_of_open(found) for entry, found in _valid_results(records).items()}


def newest_results(records: Sequence[Record]) -> dict[str, OpenResult]:
    """Return the result of the last sound round for each entry, from records of one load."""
    return {entry: found[-1] for entry, found in _valid_results(records).items()}


def _valid_results(records: Sequence[Record]) -> dict[str, list[OpenResult]]:
    return {
        entry: each
        for level in list_loads(records)
        for entry, found in each_result(records, level, OpenResult).items()
        if (each := valid_results(found))
    }
