"""The sections of charts that a page has, in its order; a further one is a file beside this and a name here. Pure."""

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
