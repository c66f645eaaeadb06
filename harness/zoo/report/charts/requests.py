"""Requests a second of every entry. Pure."""

from __future__ import annotations

from zoo.report.charts.dots import ESTIMATE, by_level
from zoo.report.charts.figure import ChartPart

PART = ChartPart(
    "throughput",
    "Throughput",
    "Requests a second",
    f"{ESTIMATE} Hollow marks are lower bounds: something other than the server limited them.",
    lambda drawn: by_level(drawn.cells, "requests", "req/s", lambda m: m.load.goodput_rps, bounds=True),
)
