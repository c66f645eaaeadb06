"""The charts of a page: each with a caption, a description for those who cannot see it, and what it draws. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from zoo.analysis.pairs import Kind
from zoo.model.record import Record
from zoo.report.cells import Cells, Level, server, variant
from zoo.report.charts import chart, looks, points, traces
from zoo.report.charts.chart import Drawing
from zoo.report.charts.points import Datum
from zoo.report.findings import GOOD, TITLES, Finding
from zoo.report.raw_files import Evidence
from zoo.report.text.wording import number

IN_TABLE = "The figures are in the table of all cells."


@dataclass(frozen=True)
class Figure:
    """`name` is unlike that of any other figure of the page; `title` is for a figure that stands alone.

    `about` says of which scenario, tier, server or variant alone it is, for the page's filter.
    """

    name: str
    title: str
    caption: str
    description: str
    drawing: Drawing
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Group:
    """Figures that stand together; folded ones are shown when asked for."""

    title: str
    figures: list[Figure]
    folded: bool = False


def forests(cells: Cells, found: Sequence[Finding], title: str, *, ranked: bool = True) -> list[Group]:
    """Ratios of pairs, a group a scenario, a figure a metric; where none can be better, nothing is said of it."""
    groups = []
    for scenario in cells.scenarios:
        figures = []
        for metric, name in TITLES.items():
            of = [f for f in found if f.metric == metric and f.pair.scenario == scenario]
            data = _ratios(cells, of)
            if data:
                better = f": {'left' if metric.below in GOOD else 'right'} of 1 is better" if ranked else ""
                figures.append(
                    Figure(
                        slug("forest", of[0].pair.kind, scenario, name),
                        f"{name}, {scenario}: {title}",
                        f"{name}{better}",
                        f"{scenario}, {name}, {title}: "
                        + "; ".join(f"{d['row']} {d['text']} {d['verdict']}" for d in data),
                        chart.forest(data),
                        {"scenario": scenario},
                    )
                )
        if figures:
            groups.append(Group(f"{scenario}: {title}", figures))
    return groups


def _ratios(cells: Cells, found: Sequence[Finding]) -> list[Datum]:
    levels = {(level.scenario, level.tier): level for level in cells.levels}
    several = len({f.pair.a for f in found}) > len({f.server for f in found})
    data: list[Datum] = []
    for f in sorted(found, key=lambda f: f.pair.a):
        ratio = f.ratio
        if ratio is None:
            continue
        level = levels[f.pair.scenario, f.pair.tier]
        row = f"{_name(f, several=several)} · {_tier(level)}"
        verdict = f.comparison.verdict.text
        data.append(
            {
                "row": row,
                "entry": f.pair.a,
                "tier": f.pair.tier,
                "place": len(data),
                "pair": f"{f.names}, {level.title}",
                "ratio": points.short(ratio.value),
                "low": None if ratio.low is None else points.short(ratio.low),
                "high": None if ratio.high is None else points.short(ratio.high),
                "noise_low": None if f.band is None else points.short(1 / f.band),
                "noise_high": None if f.band is None else points.short(f.band),
                "n": ratio.rounds,
                "bound": f.bound,
                "side": f.side,
                "verdict": verdict,
                "text": f.figure,
            }
        )
    return data


def _name(f: Finding, *, several: bool) -> str:
    """What tells a pair from the others of its kind; `several`: some server has more than one."""
    if f.pair.kind is Kind.AGAIN:
        return f.pair.b
    return f.pair.a if several and f.pair.kind is not Kind.GUEST else f.who


def _tier(level: Level) -> str:
    return level.tier if level.actual == level.requested else f"{level.tier}→{level.actual:,}"


def by_level(cells: Cells, reading: str, title: str, *, log: bool = False, bounds: bool = False) -> list[Group]:
    """A figure a load, a group a scenario: one reading of all entries."""
    groups = []
    for scenario in cells.scenarios:
        figures = []
        for level in cells.levels:
            if level.scenario != scenario:
                continue
            data = points.estimates(cells, level, points.READINGS[reading], bounds=bounds)
            if data:
                figures.append(
                    Figure(
                        slug(reading, level.scenario, level.tier),
                        title,
                        level.caption,
                        f"{title}, {level.title}: " + "; ".join(map(told, data)),
                        dotted(data, log=log),
                        {"scenario": scenario, "tier": level.tier},
                    )
                )
        if figures:
            groups.append(Group(scenario, figures))
    return groups


def dotted(data: list[Datum], *, log: bool) -> Drawing:
    """Estimates, a row each."""
    if not log:
        return Drawing("dots", data)
    return chart.logarithmic("log-dots", data, [v for d in data for v in d["rounds"]])


def told(d: Datum) -> str:
    """An estimate in words."""
    value = d["note"] or "nothing" if d["value"] is None else f"{'at least ' if d['bound'] else ''}{number(d['value'])}"
    return f"{d['entry']} {value}"


def quantiles(cells: Cells) -> list[Group]:
    """Latency quantiles of each round, a figure a load."""
    groups = []
    for scenario in cells.scenarios:
        figures = [
            Figure(
                slug("latency", level.scenario, level.tier),
                "Latency quantiles, ms",
                level.caption,
                f"Latency quantiles in milliseconds, {level.title}. {IN_TABLE}",
                chart.logarithmic("latency", data, [d["ms"] for d in data]),
                {"scenario": scenario, "tier": level.tier},
            )
            for level in cells.levels
            if level.scenario == scenario and (data := points.quantiles(cells, level))
        ]
        if figures:
            groups.append(Group(scenario, figures))
    return groups


def curves(cells: Cells, evidence: Evidence) -> list[Group]:
    """Latency by the share of requests, a figure a server, a group a scenario."""
    groups = []
    for scenario in cells.scenarios:
        levels = [level for level in cells.levels if level.scenario == scenario]
        figures = [
            Figure(
                slug("curves", scenario, name),
                f"Latency over the share of requests, ms, {scenario}",
                f"{name} · closed, c = {', '.join(f'{level.actual:,}' for level in levels)}",
                f"Latency in milliseconds over the share of requests that stayed below it, {name}, {scenario}.",
                chart.logarithmic("curves", data, [d["ms"] for d in data]),
                {"scenario": scenario, "server": name},
            )
            for name in cells.servers
            if (data := traces.curves(cells, evidence, levels, name))
        ]
        if figures:
            groups.append(Group(scenario, figures))
    return groups


def memory(cells: Cells, evidence: Evidence) -> list[Group]:
    """Resident memory over time, a figure an entry, a group a scenario with one scale for all."""
    groups = []
    for scenario in cells.scenarios:
        data = {entry: traces.memory(cells, evidence, scenario, entry) for entry in cells.entries}
        known = [d for rows in data.values() for d in rows]
        if not known:
            continue
        span = [min(d["low"] for d in known), max(d["high"] for d in known)]
        figures = [
            Figure(
                slug("memory", scenario, entry),
                f"Resident memory over the window, MB, {scenario}",
                entry,
                f"Resident memory in MB over the seconds of the window, {entry}, {scenario}. Peaks: {IN_TABLE}",
                chart.logarithmic("memory", rows, span, hue=looks.KINDS[cells.kinds[entry]][0]),
                {"scenario": scenario, "server": server(entry), "variant": variant(entry)},
            )
            for entry, rows in data.items()
            if rows
        ]
        waits = any(row.delay_s for (s, _, _), row in cells.rows.items() if s == scenario)
        groups.append(Group(f"{scenario}: resident memory over the window", figures, folded=not waits))
    return groups


def costs(cells: Cells, records: Sequence[Record]) -> list[Group]:
    """What a held connection costs every entry, a figure a scenario."""
    groups = []
    for scenario in cells.scenarios:
        data = points.costs(cells, records, scenario)
        if data:
            title, caption = f"What a held connection costs, {scenario}", "RSS per held connection, kB"
            said = f"{caption}, {scenario}: " + "; ".join(map(told, data))
            figure = Figure(
                slug("cost", scenario), title, caption, said, dotted(data, log=True), {"scenario": scenario}
            )
            groups.append(Group(f"{scenario}: what a held connection costs", [figure]))
    return groups


def held(cells: Cells, records: Sequence[Record]) -> list[Group]:
    """Memory against held connections, a figure a server."""
    groups = []
    for scenario in cells.scenarios:
        figures = []
        for name in cells.servers:
            data = points.held(cells, records, name, scenario)
            if not data:
                continue
            cost = ", ".join(f"{of} {text}" for of, text in points.slopes(cells, name, scenario))
            title = f"Peak memory over held connections, {scenario}"
            said = f"{title}, {name}. Slope: {cost}."
            caption = f"{name} · {cost}"
            about = {"scenario": scenario, "server": name}
            figures.append(Figure(slug("held", scenario, name), title, caption, said, Drawing("held", data), about))
        if figures:
            groups.append(Group(f"{scenario}: the line of each round that this slope is taken from", figures))
    return groups


def warmups(cells: Cells, records: Sequence[Record]) -> list[Group]:
    """Requests a second over the windows of warm-up, a figure an entry."""
    figures = []
    for entry in cells.entries:
        data = points.warmups(records, entry)
        if data:
            settled = {d["round"]: d["settled"] for d in data}
            caption = f"{entry} · settled in {sum(settled.values())} of {len(settled)} rounds"
            title = "Requests a second in each window of warm-up"
            drawn = chart.warmup(data, cells.kinds[entry])
            about = {"server": server(entry), "variant": variant(entry)}
            figures.append(Figure(slug("warmup", entry), title, caption, f"{title}, {caption}.", drawn, about))
    return [Group("", figures)] if figures else []


def noise(records: Sequence[Record]) -> list[Group]:
    """What else the machine did, over the minutes of the run; all figures draw the same rows."""
    data = points.course(records)
    figures = []
    for name, (title, _, limit) in points.NOISE.items():
        values = [d[name] for d in data if d[name] is not None]
        if values:
            said = f"{title}, for each cell over the minutes of the run: at most {number(max(values))}."
            drawn = chart.course(data, name, limit)
            figures.append(Figure(slug("noise", name), "What else the machine did", title, said, drawn))
    return [Group("Over the minutes of the run, a mark a cell", figures)] if figures else []


def variants(cells: Cells) -> Iterator[tuple[str, str, str, str]]:
    """Kind, colour, shape and the variants of it, for the legend."""
    for kind, (hue, shape) in looks.KINDS.items():
        names = [entry for entry in cells.entries if cells.kinds[entry] == kind]
        if names:
            yield kind, hue, shape, ", ".join(sorted({variant(n) for n in names}))


def slug(*words: str) -> str:
    """Words as an id in HTML: `memory-sleep-java-tomcat-virtual`."""
    return re.sub(r"[^a-z0-9.]+", "-", " ".join(words).lower()).strip("-")
