"""CPU-seconds of the server per million requests of every entry. Pure."""

from __future__ import annotations

from zoo.analysis.metrics import cpu_per_million
from zoo.report.charts.dots import ESTIMATE, by_level
from zoo.report.charts.figure import ChartPart

PART = ChartPart(
    "cpu",
    "CPU",
    "CPU-seconds of the server per million requests",
    f"{ESTIMATE} Compares servers even where generator and server share the cores. Not shown below 0.2 s.",
    lambda drawn: by_level(drawn.cells, "cpu", "CPU s per million requests", cpu_per_million),
)
