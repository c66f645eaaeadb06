"""Peak number of OS threads of every entry. Pure."""

from __future__ import annotations

from zoo.report.charts.dots import by_level
from zoo.report.charts.figure import ChartPart

PART = ChartPart(
    "threads",
    "Threads",
    "Peak number of OS threads",
    "Virtual threads are not among them.",
    lambda drawn: by_level(drawn.cells, "threads", "threads", lambda m: m.threads_peak, log=True),
)
