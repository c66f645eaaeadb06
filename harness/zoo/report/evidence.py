"""The raw files of a run: histograms, samples over time, and which files there are. Pure but for the reader given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from zoo.histogram import Histogram
from zoo.records import Record
from zoo.sample.samples import Samples


@dataclass(frozen=True)
class Evidence:
    """By the names that records give them; empty where a run was kept without its raw files."""

    histograms: Mapping[str, Histogram] = field(default_factory=dict)
    samples: Mapping[str, Samples] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


def gather(records: Iterable[Record], files: frozenset[str], read: Callable[[str], Any]) -> Evidence:
    """What the records name and the run's folder holds; `read` gives the content of a file below it."""
    histograms: dict[str, Histogram] = {}
    samples: dict[str, Samples] = {}
    for record in records:
        seen = record.measurement
        if seen is None:
            continue
        if seen.load.histogram and seen.load.histogram in files:
            histograms[seen.load.histogram] = Histogram.from_pairs(read(seen.load.histogram))
        if seen.sampling.samples in files:
            samples[seen.sampling.samples] = Samples.model_validate(read(seen.sampling.samples))
    return Evidence(histograms, samples, files)
