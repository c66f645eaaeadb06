"""The raw files of a run: histograms, samples over time, and which files there are. Pure but for the reader given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zoo.model.histogram import Histogram
from zoo.model.record import Record
from zoo.model.samples import Samples

NOT_KEPT = "Raw files are not kept with this run: every figure is from its records."


@dataclass(frozen=True)
class RawFiles:
    """By the names that records give them; empty where a run was kept without its raw files."""

    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    samples: Mapping[str, Samples] = field(default_factory=dict)
    files: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    """What a reader should know of them."""


def gather(
    records: Iterable[Record], files: frozenset[str], raw: frozenset[str], read: Callable[[str], Any]
) -> RawFiles:
    """What the records name and the run's folder holds; `read` gives the content of one of its `raw` files."""
    histograms: dict[str, Histogram] = {}
    samples: dict[str, Samples] = {}
    for record in records:
        seen = record.measurement
        if seen is None:
            continue
        if seen.load.histogram and seen.load.histogram in raw:
            histograms[seen.load.histogram] = Histogram.from_pairs(read(seen.load.histogram))
        if seen.sampling.samples in raw:
            samples[seen.sampling.samples] = Samples.model_validate(read(seen.sampling.samples))
    return RawFiles(histograms, samples, files, notes(raw))


def notes(raw: frozenset[str]) -> tuple[str, ...]:
    """For the head of a report, of the run's raw files."""
    return () if raw else (NOT_KEPT,)
