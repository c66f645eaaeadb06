"""The sections of charts that a page has, in its order; a further one is a file beside this and a name here. Pure."""

from __future__ import annotations

from zoo.report.charts import cpu, curves, latency, machine_noise, memory, requests, threads, warmup

PARTS = [
    requests.PART,
    cpu.PART,
    latency.PART,
    curves.PART,
    memory.PART,
    threads.PART,
    warmup.PART,
    machine_noise.PART,
]
