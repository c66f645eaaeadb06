"""Dot charts with one row per entry: requests per second, CPU, threads, memory per waiting request. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial

import altair as alt

from zoo.core.measurement import Measurement
from zoo.report.cells import Cells, Level
from zoo.report.charts import looks
from zoo.report.charts.figure import (
    ChartPart,
    Datum,
    Drawing,
    Figure,
    Form,
    Group,
    draw_on_log_axis,
    group_by_scenario,
    round_figure,
    round_if_known,
    slug,
)
from zoo.report.columns import title_of
from zoo.report.formatting import format_number
from zoo.report.wording import format_flag
from zoo.stats import student_ratio
from zoo.stats.metrics import cpu_per_million
from zoo.stats.summary import Row

Read = Callable[[Measurement], float | None]

ESTIMATE = (
    "Tick: one round; mark: median of the rounds; bar: 95% interval of their geometric mean (Student, on logarithms)."
)


def draw_by_level(
    cells: Cells, name: str, title: str, read: Read, *, log: bool = False, bounds: bool = False
) -> list[Group]:
    """Draw one reading of all entries, with a figure for each load; `bounds` draws lower bounds as hollow marks."""

    def figures(scenario: str) -> list[Figure]:
        return [
            Figure(
                slug(name, scenario, level.tier),
                title,
                level.caption,
                describe_rows(f"{title}, {level.title}", data),
                _draw_dots(data, log=log),
                {"scenario": scenario, "tier": level.tier},
            )
            for level in cells.levels_of(scenario)
            if (data := _estimate_rows(cells, level, read, bounds=bounds))
        ]

    return group_by_scenario(cells, figures)


def draw_costs(cells: Cells) -> list[Group]:
    """Draw the memory per waiting request of every entry, with a figure for each scenario."""
    column = title_of("kb_per_request")

    def figures(scenario: str) -> list[Figure]:
        data, title = _cost_rows(cells, scenario), f"Memory per waiting request, {scenario}"
        description, about = describe_rows(f"{column}, {scenario}", data), {"scenario": scenario}
        if not data:
            return []
        return [Figure(slug("cost", scenario), title, column, description, _draw_dots(data, log=True), about)]

    return group_by_scenario(cells, figures, "{}: memory per waiting request")


def _draw_dots(data: list[Datum], *, log: bool) -> Drawing:
    return draw_on_log_axis(LOG_DOTS, data, [v for d in data for v in d["rounds"]]) if log else Drawing(DOTS, data)


def describe_rows(heading: str, data: Sequence[Datum]) -> str:
    """Return a chart's description, which lists every estimate as text."""
    values = []
    for d in data:
        value = d["note"] or "nothing"
        if d["value"] is not None:
            value = f"{'at least ' if d['bound'] else ''}{format_number(d['value'])}"
        values.append(f"{d['entry']} {value}")
    return f"{heading}: {'; '.join(values)}"


def dot_row(
    place: int,
    entry: str,
    kind: str,
    rounds: Sequence[float],
    value: float | None,
    interval: tuple[float | None, float | None] = (None, None),
    **more: str | bool,
) -> Datum:
    """Return the row of an entry. `more` may hold a note, the flags, and whether the value is a lower bound."""
    low, high = map(round_if_known, interval)
    return {
        "entry": entry,
        "place": place,
        "kind": kind,
        "value": round_if_known(value),
        "low": low,
        "high": high,
        "rounds": [round_figure(v) for v in rounds],
        "text": " · ".join(map(format_number, rounds)) or "none",
        "bound": False,
        "note": "",
        "flags": "none",
    } | more


def _estimate_rows(cells: Cells, level: Level, read: Read, *, bounds: bool) -> list[Datum]:
    """Return a row for each entry: its rounds, their median and the interval of their geometric mean, or a note."""
    rows: list[Datum] = []
    for place, row in enumerate(cells.rows_at(level)):
        values = [v for _, m in cells.measurements(level, row.entry) if (v := read(m)) is not None]
        mean = student_ratio(list(map(math.log, values))) if len(values) > 1 and min(values) > 0 else None
        rows.append(
            dot_row(
                place,
                row.entry,
                cells.kinds[row.entry],
                values,
                statistics.median(values) if values else None,
                (mean.low, mean.high) if mean else (None, None),
                note=_row_note(row, values, bounds=bounds),
                bound=bounds and row.lower_bound,
                flags=", ".join(format_flag(flag) for flag, _ in row.flags) or "none",
            )
        )
    return _unless_empty(rows)


def _cost_rows(cells: Cells, scenario: str) -> list[Datum]:
    """Return a row for each entry: resident kB per waiting request with the slope of each round, or a note."""
    dots: list[Datum] = []
    for entry in cells.entries:
        rows = [row for row in cells.rows_of_scenario(scenario) if row.entry == entry]
        mean = next((row.kb_per_connection for row in rows if row.kb_per_connection), None)
        kind = cells.kinds[entry]
        if mean is not None and mean.value > 0:  # the logarithmic axis has no 0
            low = None if mean.low is None else max(mean.low, 1e-3)
            rounds = [line.kb for line in cells.slopes_of(scenario, entry).values() if line.kb > 0]
            dots.append(dot_row(len(dots), entry, kind, rounds, mean.value, (low, mean.high)))
        elif rows:
            dots.append(
                dot_row(len(dots), entry, kind, [], None, note="no rise" if mean else explain_missing_slope(rows))
            )
    return _unless_empty(dots)


def _unless_empty(rows: list[Datum]) -> list[Datum]:
    return rows if any(d["value"] is not None for d in rows) else []


def explain_missing_slope(rows: Sequence[Row]) -> str:
    """Return the reason why an entry has no memory per waiting request."""
    pool = any(row.ceiling_rps is not None for row in rows)
    return "not held (pool)" if pool else "no slope (some connection counts not held)"


def _row_note(row: Row, values: Sequence[float], *, bounds: bool) -> str:
    if not row.measured:
        return "failed"
    if not values:
        return "not measurable"
    if bounds and row.ceiling_rps is not None:
        return f"pool: at most {format_number(row.ceiling_rps)}/s"
    return ""


def _dot_chart(scale: alt.Scale, axis: alt.Axis) -> looks.Chart:
    """Return a chart with one row per entry.

    Ticks are the rounds, the bar is the interval, and the mark is the median, hollow for a lower bound.
    """
    x, colour = partial(alt.X, scale=scale, axis=axis), looks.colour_encoding("kind", looks.MODEL_STYLES)
    base = looks.base_chart().encode(y=looks.row_axis("entry"))
    bar = base.mark_rule(strokeWidth=4, opacity=0.35, clip=True).encode(x=x("low:Q"), x2="high:Q", color=colour)
    ticks = base.transform_flatten(["rounds"]).mark_tick(thickness=1.5, opacity=0.7, size=12)
    point = base.mark_point(size=70, strokeWidth=2).encode(
        x=x("value:Q"),
        **looks.mark_encodings("kind", looks.MODEL_STYLES),
        tooltip=[
            alt.Tooltip("entry:N", title="entry"),
            alt.Tooltip("text:N", title="by round"),
            alt.Tooltip("flags:N", title="flags"),
        ],
    )
    note = base.transform_filter("datum.value != null").mark_text(align="left", dx=9)
    missing = base.transform_filter("datum.value == null").mark_text(align="left", fontStyle="italic")
    return alt.layer(
        bar,
        ticks.encode(x=x("rounds:Q"), color=colour),
        point,
        note.encode(x=x("value:Q"), text="note:N"),
        missing.encode(x=alt.value(4), text="note:N"),
    )


DOTS = Form("dots", lambda: _dot_chart(alt.Scale(zero=True), looks.plain_axis()))
LOG_DOTS = Form("log-dots", lambda: _dot_chart(looks.log_scale(), looks.log_axis()))

REQUESTS = ChartPart(
    "throughput",
    "Throughput",
    "Requests per second",
    f"{ESTIMATE} A hollow mark is a lower bound: something other than the server was the bottleneck.",
    lambda drawn: draw_by_level(drawn.cells, "requests", "req/s", lambda m: m.load.goodput_rps, bounds=True),
)

CPU = ChartPart(
    "cpu",
    "CPU",
    "CPU time of the server per request",
    f"{ESTIMATE} Comparable even if generator and server share the cores. Not shown below 0.2 s.",
    lambda drawn: draw_by_level(drawn.cells, "cpu", title_of("cpu_us_per_request"), cpu_per_million),
)

THREADS = ChartPart(
    "threads",
    "Threads",
    "Peak number of OS threads",
    "Does not count virtual threads.",
    lambda drawn: draw_by_level(drawn.cells, "threads", "threads", lambda m: m.threads_peak, log=True),
)
