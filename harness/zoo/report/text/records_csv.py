"""Records as CSV for other programs, with one line per cell and round. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from zoo.core.record import newest_records

RESULT = "trial.result."
BEHIND = f"{RESULT}behind"


class RecordWithKey(Protocol):
    """A record of any kind of run."""

    @property
    def key(self) -> Hashable: ...
    def model_dump(self, *, mode: str) -> dict[str, Any]: ...


def to_csv(records: Iterable[RecordWithKey], figures: Mapping[Hashable, Mapping[str, float]] | None = None) -> str:
    """Return comma-separated values with a header line, using the newest record for each cell and round.

    Columns are named after their path in the record (`measurement.load.goodput_rps`). Lists are joined by spaces, and
    missing values are empty. `figures` holds the figures of the report by record key; their columns are named
    `report.cpu_us_per_request` and so on.
    """
    rows = [
        _drop_unreached_results(dict(_flatten(record.model_dump(mode="json"))))
        | {f"report.{name}": value for name, value in (figures or {}).get(record.key, {}).items()}
        for record in newest_records(records)
    ]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _drop_unreached_results(row: dict[str, object]) -> dict[str, object]:
    """Remove the results of a constant rate that the generator did not reach."""
    if BEHIND not in row:
        return row
    known = {BEHIND, *(f"{RESULT}{name}" for name in ("kind", "rate", "share", "capacity_rps"))}
    return {name: value for name, value in row.items() if name in known or not name.startswith(RESULT)}


def _flatten(data: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in data.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            yield prefix + name, " ".join(map(str, value))
        elif value is not None:
            yield prefix + name, value
