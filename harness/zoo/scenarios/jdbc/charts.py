"""Charts of a database run. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from zoo.core.jdbc import MODELS, JdbcCell
from zoo.report.charts import forest
from zoo.report.charts.dots import DOTS, describe_rows, dot_row
from zoo.report.charts.figure import (
    Datum,
    Drawing,
    Figure,
    Form,
    Group,
    draw_on_log_axis,
    round_figure,
    round_if_known,
    slug,
)
from zoo.report.charts.looks import MODEL_STYLES as LOOKS
from zoo.report.charts.looks import (
    RULE,
    Chart,
    base_chart,
    colour_encoding,
    log_axis,
    log_scale,
    row_axis,
    shape_encoding,
)
from zoo.report.findings import Finding, list_findings
from zoo.report.formatting import format_number
from zoo.scenarios.jdbc.published import TABLES
from zoo.stats.databases import BASELINE, OPS, VIRTUAL, DatabaseRow, FloodRow, Records, compare, newest_floods, rows
from zoo.stats.pairs import Kind


def groups(records: Records) -> list[Group]:
    """Return charts of what virtual threads gain, of when the pool is the bottleneck, and of every executor."""
    found = rows(records)
    questions = dict.fromkeys(
        (row.cell.query_label, row.cell.connections) for row in found.values() if not row.cell.again
    )
    return [
        *_group("Operations per second, virtual ÷ cached", _gains(records)),
        *_group("When is the pool the bottleneck? Operations per second by connections of the pool", _pools(found)),
        *_group(
            "Operations per second by executor", [f for q in sorted(questions) for f in _executor_figures(q, found)]
        ),
    ]


def floods(records: Records) -> list[Group]:
    """Return a chart of the memory that unbounded executors take."""
    finished = [record for record in newest_floods(records) if record.result]
    data = [_flood(record, place) for place, record in enumerate(finished)]
    alt_text = "Peak resident memory in MB: " + "; ".join(f"{d['entry']} {d['text']} ({d['note']})" for d in data)
    title = "All tasks at once on unbounded executors"
    figure = Figure("floods", title, "Peak resident memory, MB", alt_text, Drawing(DOTS, data))
    return _group("All tasks at once", [figure] if data else [])


def _gains(records: Records) -> list[Figure]:
    """Return a chart of our ratios with their intervals and of the published ratios, one row per cell."""
    limited = {(c.query_label, c.connections, c.executor) for c, row in rows(records).items() if row.at_bound}
    data: list[Datum] = []
    for f in list_findings(compare(records), Kind.MODEL):
        if f.metric == OPS and f.ratio is not None:
            sides = {(f.pair.scenario, f.pair.tier, name) for name in (f.pair.a, f.pair.b)}
            row = f"{f.pair.scenario} · {f.pair.tier}"
            pair, bound = f"{row}, {f.pair.a} ÷ {f.pair.b}", bool(sides & limited)
            ours = forest.ratio_row(f, f.ratio, len(data), row, pair, bound=bound)
            data.append(ours | {"published": round_if_known(_published(f))})
    values_text = "; ".join(
        f"{d['row']}: {d['text']}" + (f", published ×{d['published']:.2g}" if d["published"] else "") for d in data
    )
    caption = f"Right of 1: {VIRTUAL} is faster than {BASELINE}; hollow: the pool limited one side; ◇ as published"
    title = f"Operations per second, {VIRTUAL} ÷ {BASELINE}"
    return [Figure("gains", title, caption, f"{title}. {values_text}", _with_published(data))] if data else []


def _published(f: Finding) -> float | None:
    for table in TABLES:
        if (table.cell(VIRTUAL, None).query_label, table.pool) == (f.pair.scenario, f.pair.requested):
            return table.over(BASELINE, VIRTUAL)
    return None


def _pools(found: dict[JdbcCell, DatabaseRow]) -> list[Figure]:
    """Return a figure for each question that was measured with several pool sizes."""
    figures = []
    for question in dict.fromkeys(cell.query_label for cell in found):
        here = [row for row in found.values() if row.cell.query_label == question and _of_pools(row)]
        if len({row.cell.pool for row in here}) < 2:
            continue
        data = _lines(here)
        bounds = [d["bound"] for d in data if d["bound"] is not None]
        values = [d[side] for side in ("low", "high") for d in data if d[side] is not None]
        caption = question + (" · dashed: connections ÷ latency" if bounds else "")
        values_text = "; ".join(
            f"{d['executor']}, {d['connections']:g} connections: {d['text']}" for d in data if d["text"]
        )
        drawing = draw_on_log_axis(POOLS, data, [*values, *bounds])
        title = "Operations per second by connections of the pool"
        figures.append(Figure(slug("pools", question), title, caption, f"{title}, {question}. {values_text}", drawing))
    return figures


def _of_pools(row: DatabaseRow) -> bool:
    return bool(row.rounds) and not row.cell.again and row.cell.executor in (BASELINE, VIRTUAL, "forkjoin-15")


def _lines(here: Sequence[DatabaseRow]) -> list[Datum]:
    """Return one point per cell, the bound as a separate line, and a name at the right end of each line."""
    data: list[Datum] = []
    bounds: dict[float, float] = {}
    for row in sorted(here, key=lambda row: (row.cell.executor, row.median("connections"))):
        values, connections, bound = row.values("ops_per_s"), row.median("connections"), row.median("bound_ops_per_s")
        assert connections is not None
        middle = row.median("ops_per_s") or 0.0
        data.append(
            _point(row.cell.executor, connections)
            | {
                "ops": round_figure(middle),
                "low": round_figure(min(values)),
                "high": round_figure(max(values)),
                "at": round_figure(middle),
                "text": " · ".join(format_number(v) for v in values),
            }
        )
        if bound is not None:
            bounds[connections] = bound
    data += [
        _point("bound", connections) | {"bound": round_figure(bound), "at": round_figure(bound)}
        for connections, bound in sorted(bounds.items())
    ]
    ends = {d["executor"]: d for d in data}
    for name, datum in ends.items():
        datum["name"] = name
    return data


def _point(executor: str, connections: float) -> Datum:
    return {
        "executor": executor,
        "kind": MODELS.get(executor),
        "connections": connections,
        **dict.fromkeys(("ops", "low", "high", "bound", "at")),
        "text": "",
        "name": "",
    }


def _executor_figures(question: tuple[str, str], found: dict[JdbcCell, DatabaseRow]) -> list[Figure]:
    """Return one row per executor: its rounds, their median, and the bound if there is one."""
    here = [
        row
        for row in found.values()
        if (row.cell.query_label, row.cell.connections) == question
        and not row.cell.again
        and row.cell.executor in MODELS
    ]
    ordered = sorted(here, key=lambda row: list(MODELS).index(row.cell.executor))
    data = [_executor_dot(row, place) for place, row in enumerate(ordered)]
    if not any(d["value"] is not None for d in data):
        return []
    caption, title = f"{question[0]} · pool {question[1]}", "Operations per second by executor"
    description = describe_rows(f"{title}, {caption}", data)
    return [Figure(slug("executors", *question), title, caption, description, Drawing(DOTS, data))]


def _executor_dot(row: DatabaseRow, place: int) -> Datum:
    values, bound = row.values("ops_per_s"), row.median("bound_ops_per_s")
    return dot_row(
        place,
        row.cell.executor,
        MODELS[row.cell.executor],
        values,
        row.median("ops_per_s") if values else None,
        bound=row.at_bound,
        note="failed" if not values else "" if bound is None else f"bound {format_number(bound)}",
        flags="at its limit" if row.at_bound else "none",
    )


def _flood(record: FloodRow, place: int) -> Datum:
    flood, result = record.flood, record.result
    assert result is not None
    entry, mb, outcome = f"{flood.tasks:,} · {flood.executor}", result.peak_rss_kb / 1024, result.outcome
    bound = outcome != "finished"
    return dot_row(place, entry, MODELS[flood.executor], [mb], mb, bound=bound, note=outcome, flags=outcome)


def _group(title: str, figures: list[Figure]) -> list[Group]:
    return [Group(title, figures)] if figures else []


def _with_published(points: list[Datum]) -> Drawing:
    """Return a drawing of the points with the published ratio of each pair."""
    known = [{**d, "ratio": d["published"], "low": None, "high": None} for d in points if d["published"] is not None]
    return Drawing(GAINS_AND_PUBLISHED, points, forest.draw_forest([*points, *known]).settings)


def _forest_and_published() -> Chart:
    """Return a forest plot with a hollow diamond at each published ratio."""
    published = (
        base_chart()
        .transform_filter("datum.published != null")
        .mark_point(shape="diamond", size=130, strokeWidth=2, color=RULE)
        .encode(
            y=row_axis("row"),
            x=alt.X("published:Q", scale=log_scale(), axis=log_axis()),
            tooltip=[alt.Tooltip("pair:N", title="pair"), alt.Tooltip("published:Q", title="published")],
        )
    )
    return alt.layer(*forest.forest_chart().layer, published)


def _operations() -> Chart:
    """Return a chart of operations per second over a pool's connections, one line per executor.

    The dashed line is the bound: pool ÷ latency.
    """
    x = alt.X("connections:Q", scale=alt.Scale(type="log", nice=False, padding=30), axis=_pool_axis())
    scale, axis = log_scale(), log_axis("ops/s")
    base = base_chart().encode(x=x, detail="executor:N")
    hue = colour_encoding("kind", LOOKS)
    bound = base.transform_filter("datum.bound != null").mark_line(color=RULE, strokeDash=[6, 4], strokeWidth=2)
    measured = base.transform_filter("datum.ops != null")
    line = measured.mark_line(strokeWidth=2, opacity=0.7)
    span = measured.mark_rule(strokeWidth=4, opacity=0.35)
    point = measured.mark_point(size=70, filled=True)
    name = base.transform_filter("datum.name != ''").mark_text(align="right", dx=-9, dy=-9, fontSize=11)
    return alt.layer(
        bound.encode(y=alt.Y("bound:Q", scale=scale, axis=axis)),
        line.encode(y=alt.Y("ops:Q", scale=scale, axis=axis), color=hue),
        span.encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q", color=hue),
        point.encode(
            y=alt.Y("ops:Q", scale=scale, axis=axis),
            color=hue,
            shape=shape_encoding(),
            tooltip=["executor:N", "connections:Q", alt.Tooltip("text:N", title="ops/s by round")],
        ),
        name.encode(y=alt.Y("at:Q", scale=scale, axis=axis), text="name:N"),
    )


def _pool_axis() -> alt.Axis:
    return alt.Axis(values=[10, 20, 50, 100, 200, 500, 1000], format=",~g", title="connections", grid=False)


GAINS_AND_PUBLISHED = Form("beside", _forest_and_published)
POOLS = Form("pools", _operations, 260)
