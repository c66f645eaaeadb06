"""The charts that documents show, of the same rows and forms as those of the page. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from zoo.report import points
from zoo.report.cells import Cells, server, variant
from zoo.report.contents import Contents
from zoo.report.gallery import Figure, dotted, slug, told

OF_ZOO = ("forest-model-hello-cpu-per-request", "requests-hello-1k", "cost-sleep")


def of_zoo(contents: Contents) -> list[Figure]:
    """Of all servers, as far as the run has them."""
    return _named(contents, OF_ZOO)


def of_server(contents: Contents, name: str) -> list[Figure]:
    """Of one server's variants."""
    busy = _by_variant(contents.cells, name, "hello", "requests", "Requests a second")
    return [*([busy] if busy else []), *_named(contents, [slug("held", "sleep", name)])]


def _named(contents: Contents, names: Iterable[str]) -> list[Figure]:
    known = {figure.name: figure for figure in contents.figures}
    return [known[name] for name in names if name in known]


def _by_variant(cells: Cells, name: str, scenario: str, reading: str, title: str) -> Figure | None:
    """One reading of a server's variants at every load of a scenario, lower bounds hollow."""
    found = [
        (d["entry"], d | {"entry": f"{variant(d['entry'])} · {level.tier}"})
        for level in cells.levels
        if level.scenario == scenario
        for d in points.estimates(cells, level, points.READINGS[reading], bounds=True)
        if server(d["entry"]) == name
    ]
    if not found:
        return None
    found.sort(key=lambda row: cells.entries.index(row[0]))
    data = [d | {"place": place} for place, (_, d) in enumerate(found)]
    caption = f"{name}, {scenario}, by variant and connections"
    said = f"{title}, {caption}: " + "; ".join(map(told, data))
    return Figure(slug(reading, scenario, name), title, caption, said, dotted(data, log=False))
