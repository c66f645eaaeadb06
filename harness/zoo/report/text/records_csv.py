"""Records as a table for other programs: one line a cell and round. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from zoo.model.record import newest_records

RESULT = "trial.result."
BEHIND = f"{RESULT}behind"


class Keyed(Protocol):
    """A record of any kind of run."""

    @property
    def key(self) -> Hashable: ...
    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


def to_csv(records: Iterable[Keyed], figures: Mapping[Hashable, Mapping[str, float]] | None = None) -> str:
    """Comma-separated values with a heading; of records of one cell and round the last counts.

    A column is named after its place in the record (`measurement.load.goodput_rps`); lists are joined by spaces, and
    what is not known is empty. `figures` are those of the report, by the records' keys (`report.cpu_us_per_request`).
    """
    rows = [
        _usable(dict(_flat(record.model_dump(mode="json"))))
        | {f"report.{name}": value for name, value in (figures or {}).get(record.key, {}).items()}
        for record in newest_records(records)
    ]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _usable(row: dict[str, object]) -> dict[str, object]:
    """Leave out the figures of a constant rate that the generator did not make."""
    if BEHIND not in row:
        return row
    kept = {BEHIND, *(f"{RESULT}{name}" for name in ("kind", "rate", "share", "capacity_rps"))}
    return {name: value for name, value in row.items() if name in kept or not name.startswith(RESULT)}


def _flat(data: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield prefix + name, " ".join(map(str, value))
        elif value is not None:
            yield prefix + name, value
