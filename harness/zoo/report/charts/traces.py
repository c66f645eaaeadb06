"""What the charts of a run draw, as plain rows, from its raw files: latency curves, memory over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from zoo.model.histogram import merge
from zoo.model.measurement import Measurement
from zoo.model.samples import Samples
from zoo.report.cells import Cells, Level, server
from zoo.report.charts.points import Datum, short
from zoo.report.raw_files import Evidence

STEPS_A_DECADE = 6
DECADES = 6
BINS = 25
TOGETHER = 2.0

Floats = NDArray[np.float64]


def curves(cells: Cells, evidence: Evidence, levels: Sequence[Level], of_server: str) -> list[Datum]:
    """Latency below which a share of all requests stayed, rounds merged; as far as 100 samples lie beyond."""
    made = []
    for level in levels:
        for entry in cells.entries:
            if server(entry) != of_server:
                continue
            seen = cells.measured.get((level.scenario, level.tier, entry), [])
            parts = [evidence.histograms.get(m.load.histogram or "") for _, m in seen]
            merged = merge(part for part in parts if part is not None)
            for step in range(STEPS_A_DECADE * DECADES + 1):
                beyond = 10 ** (step / STEPS_A_DECADE)
                share = round(1 - 1 / beyond, 9)
                value = merged.quantile(share)
                if value is None or not merged.supports(share):
                    break
                made.append(
                    {
                        "entry": entry,
                        "kind": cells.kinds[entry],
                        "tier": level.tier,
                        "dash": cells.dash(level),
                        "beyond": short(beyond),
                        "ms": short(max(value, 1) / 1000),
                    }
                )
    return made


def memory(cells: Cells, evidence: Evidence, scenario: str, entry: str) -> list[Datum]:
    """Resident memory over the seconds of the window: median, lowest and highest round, for each tier."""
    bands = []
    for level in cells.levels:
        if level.scenario == scenario:
            seen = cells.measured.get((scenario, level.tier, entry), [])
            bands.append(_band(level.tier, cells.dash(level), _samples(evidence, [m for _, m in seen])))
    drawn = [band for band in bands if band]
    _name(drawn)
    return [d for band in drawn for d in band]


def _name(bands: list[list[Datum]]) -> None:
    """Write the tier at the end of its line; where lines end together, the highest bears all their names."""
    names: list[str] = []
    for band, above in zip_longest(bands, bands[1:]):
        names.append(band[0]["tier"])
        if above is None or above[-1]["mb"] > TOGETHER * band[-1]["mb"]:
            band[-1]["name"] = ", ".join(names)
            names = []


def _samples(evidence: Evidence, seen: Sequence[Measurement]) -> list[Samples]:
    found = [evidence.samples.get(m.sampling.samples) for m in seen]
    return [samples for samples in found if samples is not None and samples.rss_kb]


def _band(tier: str, dash: str, rounds: Sequence[Samples]) -> list[Datum]:
    if not rounds:
        return []
    times = np.linspace(0.0, min(samples.t[-1] for samples in rounds), BINS)
    mb: Floats = np.stack([np.interp(times, samples.t, samples.rss_kb) for samples in rounds]) / 1024
    middle, low, high = np.median(mb, axis=0), mb.min(axis=0), mb.max(axis=0)
    return [
        {
            "tier": tier,
            "dash": dash,
            "s": round(float(times[i]), 1),
            "mb": short(float(middle[i])),
            "low": short(float(low[i])),
            "high": short(float(high[i])),
            "name": "",
        }
        for i in range(BINS)
    ]
