"""Figures of entries as dots, an entry a row: requests per second, CPU, threads, memory per waiting request. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial

import altair as alt

from zoo.analysis.metrics import cpu_per_million
from zoo.analysis.stats import student_ratio
from zoo.analysis.summary import Row
from zoo.model.measurement import Measurement
from zoo.report.cells import Cells, Level
from zoo.report.charts import looks
from zoo.report.charts.figure import (
    ChartPart,
    Datum,
    Drawing,
    Figure,
    Form,
    Group,
    by_scenario,
    logarithmic,
    short,
    short_if_known,
    slug,
)
from zoo.report.columns import title_of
from zoo.report.formatting import format_number
from zoo.report.text.wording import words

Read = Callable[[Measurement], float | None]

ESTIMATE = "Tick: a round; mark: their median; bar: 95 % interval of their geometric mean (Student, on logarithms)."


def by_level(
    cells: Cells, name: str, title: str, read: Read, *, log: bool = False, bounds: bool = False
) -> list[Group]:
    """Draw one reading of all entries, a figure for each load; with `bounds`, lower bounds are looks.marked."""

    def figures(scenario: str) -> list[Figure]:
        return [
            Figure(
                slug(name, scenario, level.tier),
                title,
                level.caption,
                described(f"{title}, {level.title}", data),
                _dotted(data, log=log),
                {"scenario": scenario, "tier": level.tier},
            )
            for level in cells.levels_of(scenario)
            if (data := _estimates(cells, level, read, bounds=bounds))
        ]

    return by_scenario(cells, figures)


def costs(cells: Cells) -> list[Group]:
    """Draw the memory per waiting request of every entry, a figure for each scenario."""
    column = title_of("kb_per_request")

    def figures(scenario: str) -> list[Figure]:
        data, title = _costs(cells, scenario), f"Memory per waiting request, {scenario}"
        said, about = described(f"{column}, {scenario}", data), {"scenario": scenario}
        return [Figure(slug("cost", scenario), title, column, said, _dotted(data, log=True), about)] if data else []

    return by_scenario(cells, figures, "{}: memory per waiting request")


def _dotted(data: list[Datum], *, log: bool) -> Drawing:
    return logarithmic(LOG_DOTS, data, [v for d in data for v in d["rounds"]]) if log else Drawing(DOTS, data)


def described(heading: str, data: Sequence[Datum]) -> str:
    """Return a chart's description with every estimate in words."""
    told = []
    for d in data:
        value = d["note"] or "nothing"
        if d["value"] is not None:
            value = f"{'at least ' if d['bound'] else ''}{format_number(d['value'])}"
        told.append(f"{d['entry']} {value}")
    return f"{heading}: {'; '.join(told)}"


def dot(
    place: int,
    entry: str,
    kind: str,
    rounds: Sequence[float],
    value: float | None,
    interval: tuple[float | None, float | None] = (None, None),
    **more: str | bool,
) -> Datum:
    """Return the row of an entry; `more` may have a note, the flags, and whether the value is a lower bound."""
    low, high = map(short_if_known, interval)
    return {
        "entry": entry,
        "place": place,
        "kind": kind,
        "value": short_if_known(value),
        "low": low,
        "high": high,
        "rounds": [short(v) for v in rounds],
        "text": " · ".join(map(format_number, rounds)) or "none",
        "bound": False,
        "note": "",
        "flags": "none",
    } | more


def _estimates(cells: Cells, level: Level, read: Read, *, bounds: bool) -> list[Datum]:
    """Return a row for each entry: its rounds, their median, the interval of their geometric mean, or a note."""
    made: list[Datum] = []
    for place, row in enumerate(cells.at(level)):
        values = [v for _, m in cells.measured(level, row.entry) if (v := read(m)) is not None]
        mean = student_ratio(list(map(math.log, values))) if len(values) > 1 and min(values) > 0 else None
        made.append(
            dot(
                place,
                row.entry,
                cells.kinds[row.entry],
                values,
                statistics.median(values) if values else None,
                (mean.low, mean.high) if mean else (None, None),
                note=_note(row, values, bounds=bounds),
                bound=bounds and row.lower_bound,
                flags=", ".join(words(flag) for flag, _ in row.flags) or "none",
            )
        )
    return _if_any(made)


def _costs(cells: Cells, scenario: str) -> list[Datum]:
    """Return a row for each entry: kB of resident memory per held connection, a slope for each round, or a note."""
    made: list[Datum] = []
    for entry in cells.entries:
        rows = [row for row in cells.of_scenario(scenario) if row.entry == entry]
        mean = next((row.kb_per_connection for row in rows if row.kb_per_connection), None)
        kind = cells.kinds[entry]
        if mean is not None and mean.value > 0:  # the logarithmic axis has no 0
            low = None if mean.low is None else max(mean.low, 1e-3)
            rounds = [line.kb for line in cells.lines(scenario, entry).values() if line.kb > 0]
            made.append(dot(len(made), entry, kind, rounds, mean.value, (low, mean.high)))
        elif rows:
            made.append(dot(len(made), entry, kind, [], None, note="no rise" if mean else no_slope(rows)))
    return _if_any(made)


def _if_any(made: list[Datum]) -> list[Datum]:
    return made if any(d["value"] is not None for d in made) else []


def no_slope(rows: Sequence[Row]) -> str:
    """Return why an entry has no memory per waiting request."""
    pool = any(row.ceiling_rps is not None for row in rows)
    return "not held (pool)" if pool else "no slope (not every tier held)"


def _note(row: Row, values: Sequence[float], *, bounds: bool) -> str:
    if not row.measured:
        return "failed"
    if not values:
        return "not measurable"
    if bounds and row.ceiling_rps is not None:
        return f"pool: at most {format_number(row.ceiling_rps)}/s"
    return ""


def _dots(scale: alt.Scale, axis: alt.Axis) -> looks.Chart:
    """An entry a row: its rounds as ticks, the interval as a bar, the median as a mark, hollow for a lower bound."""
    x, colour = partial(alt.X, scale=scale, axis=axis), looks.coloured("kind", looks.KINDS)
    base = looks.named_points().encode(y=looks.entry_rows("entry"))
    bar = base.mark_rule(strokeWidth=4, opacity=0.35, clip=True).encode(x=x("low:Q"), x2="high:Q", color=colour)
    ticks = base.transform_flatten(["rounds"]).mark_tick(thickness=1.5, opacity=0.7, size=12)
    point = base.mark_point(size=70, strokeWidth=2).encode(
        x=x("value:Q"),
        **looks.marked("kind", looks.KINDS),
        tooltip=[
            alt.Tooltip("entry:N", title="entry"),
            alt.Tooltip("text:N", title="by round"),
            alt.Tooltip("flags:N", title="flags"),
        ],
    )
    beside = base.transform_filter("datum.value != null").mark_text(align="left", dx=9)
    instead = base.transform_filter("datum.value == null").mark_text(align="left", fontStyle="italic")
    return alt.layer(
        bar,
        ticks.encode(x=x("rounds:Q"), color=colour),
        point,
        beside.encode(x=x("value:Q"), text="note:N"),
        instead.encode(x=alt.value(4), text="note:N"),
    )


DOTS = Form("dots", lambda: _dots(alt.Scale(zero=True), looks.plain_axis()))
LOG_DOTS = Form("log-dots", lambda: _dots(looks.log_scale(), looks.log_axis()))

REQUESTS = ChartPart(
    "throughput",
    "Throughput",
    "Requests a second",
    f"{ESTIMATE} Hollow marks are lower bounds: something other than the server limited them.",
    lambda drawn: by_level(drawn.cells, "requests", "req/s", lambda m: m.load.goodput_rps, bounds=True),
)

CPU = ChartPart(
    "cpu",
    "CPU",
    "CPU time of the server per request",
    f"{ESTIMATE} Compares servers even where generator and server share the cores. Not shown below 0.2 s.",
    lambda drawn: by_level(drawn.cells, "cpu", title_of("cpu_us_per_request"), cpu_per_million),
)

THREADS = ChartPart(
    "threads",
    "Threads",
    "Peak number of OS threads",
    "Virtual threads are not among them.",
    lambda drawn: by_level(drawn.cells, "threads", "threads", lambda m: m.threads_peak, log=True),
)
