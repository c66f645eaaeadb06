"""The chart sections of a page, in order; to add one, add a module to this package and its name here. Pure."""

from __future__ import annotations

from zoo.report.charts import dots, latency, memory, noise, warmup

PARTS = [
    dots.REQUESTS,
    dots.CPU,
    latency.QUANTILE_PART,
    latency.CURVE_PART,
    memory.PART,
    dots.THREADS,
    warmup.PART,
    noise.PART,
]
