"""CPU time of the server per request, of every entry. Pure."""

from __future__ import annotations

from zoo.analysis.metrics import cpu_per_million
from zoo.report.charts.dots import ESTIMATE, by_level
from zoo.report.charts.figure import ChartPart
from zoo.report.columns import title_of

PART = ChartPart(
    "cpu",
    "CPU",
    "CPU time of the server per request",
    f"{ESTIMATE} Compares servers even where generator and server share the cores. Not shown below 0.2 s.",
    lambda drawn: by_level(drawn.cells, "cpu", title_of("cpu_us_per_request"), cpu_per_million),
)
