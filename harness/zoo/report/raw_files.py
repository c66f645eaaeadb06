"""The raw files of a run: histograms, samples over time, and file names. Pure, except for the given reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zoo.core.histogram import Histogram
from zoo.core.record import Record
from zoo.core.samples import Samples

NOT_KEPT = "The raw files of this run are not included; all figures come from its records."


@dataclass(frozen=True)
class RawFiles:
    """Raw files by the names that records use; empty if the run was kept without its raw files."""

    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    samples: Mapping[str, Samples] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    """Notes for the reader about the raw files."""


def read_raw_files(
    records: Iterable[Record], files: frozenset[str], raw: frozenset[str], read: Callable[[str], Any]
) -> RawFiles:
    """Collect the raw files that records name and the run has; `read` returns the content of one of the `raw` files."""
    histograms: dict[str, Histogram] = {}
    samples: dict[str, Samples] = {}
    for record in records:
        measurement = record.measurement
        if measurement is None:
            continue
        if measurement.load.histogram and measurement.load.histogram in raw:
            histograms[measurement.load.histogram] = Histogram.from_pairs(read(measurement.load.histogram))
        if measurement.sampling.samples in raw:
            samples[measurement.sampling.samples] = Samples.model_validate(read(measurement.sampling.samples))
    return RawFiles(histograms, samples, files, raw_file_notes(raw))


def raw_file_notes(raw: frozenset[str]) -> tuple[str, ...]:
    """Return the notes on the run's raw files for the head of a report."""
    return () if raw else (NOT_KEPT,)
