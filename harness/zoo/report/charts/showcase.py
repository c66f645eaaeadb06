"""The chart that the README shows, of the same rows and form as that of the page. Pure."""

from __future__ import annotations

from zoo.report.charts.figure import Figure
from zoo.report.page.contents import Contents

OF_ZOO = ("forest-model-hello-cpu-per-request",)


def of_zoo(contents: Contents) -> list[Figure]:
    """Of all servers, as far as the run has them."""
    known = {figure.name: figure for figure in contents.figures}
    return [known[name] for name in OF_ZOO if name in known]
