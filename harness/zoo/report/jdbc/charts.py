"""The charts of a database run. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from zoo.analysis.pairs import Kind
from zoo.jdbc.analysis import BASELINE, OPS, VIRTUAL, Records, Row, compare, last_floods, rows
from zoo.jdbc.published import TABLES
from zoo.jdbc.records import Cell, FloodRecord
from zoo.report.charts import forest
from zoo.report.charts.dots import DOTS
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, logarithmic, short, short_if_known, slug
from zoo.report.charts.looks import KINDS as LOOKS
from zoo.report.charts.looks import RULE, Chart, coloured, entry_rows, log_axis, log_scale, named_points, shaped
from zoo.report.findings import Finding, findings
from zoo.report.formatting import format_number

KINDS = {
    "cached": "platform-thread",
    "fixed-10": "platform-thread",
    "fixed-200": "platform-thread",
    "virtual": "virtual-thread",
    "virtual-semaphore": "virtual-thread",
    "forkjoin": "event-loop",
    "forkjoin-15": "event-loop",
}
"""Whose colour and shape an executor has."""

LEGEND = {
    "platform-thread": "platform threads (cached, fixed)",
    "virtual-thread": "virtual threads",
    "event-loop": "ForkJoinPool",
}


def answer(records: Records) -> list[Group]:
    """What virtual threads give, and when the pool is the bottleneck."""
    found = rows(records)
    return [
        *_group("Operations a second, virtual ÷ cached", _gains(records)),
        *_group("When is the pool the bottleneck? Operations a second over its connections", _pools(found)),
    ]


def cells(records: Records) -> list[Group]:
    """Every executor of every cell."""
    found = rows(records)
    questions = dict.fromkeys((row.cell.question, row.cell.connections) for row in found.values() if not row.cell.again)
    return _group("Operations a second by executor", [f for q in sorted(questions) for f in _executors(q, found)])


def floods(records: Records) -> list[Group]:
    """What an executor without a bound takes."""
    finished = [record for record in last_floods(records) if record.result]
    data = [_flood(record, place) for place, record in enumerate(finished)]
    said = "Peak resident memory in MB: " + "; ".join(f"{d['entry']} {d['text']} ({d['note']})" for d in data)
    title = "All tasks at once on executors without a bound"
    figure = Figure("floods", title, "Peak resident memory, MB", said, Drawing(DOTS, data))
    return _group("All tasks at once", [figure] if data else [])


def _gains(records: Records) -> list[Figure]:
    """Ours with its interval and the published one beside it, a row a cell."""
    limited = {(c.question, c.connections, c.executor) for c, row in rows(records).items() if row.at_bound}
    data: list[Datum] = []
    for f in findings(compare(records), Kind.MODEL):
        if f.metric == OPS and f.ratio is not None:
            sides = {(f.pair.scenario, f.pair.tier, name) for name in (f.pair.a, f.pair.b)}
            data.append(_gain(f, len(data), bound=bool(sides & limited)))
    said = "; ".join(f"{d['row']}: {d['text']}, published {d['published'] or 'not'}" for d in data)
    caption = f"Right of 1: {VIRTUAL} is ahead of {BASELINE}; hollow: the pool limited a side; ◇ as published"
    title = f"Operations a second, {VIRTUAL} ÷ {BASELINE}"
    return [Figure("gains", title, caption, f"{title}. {said}", _beside(data))] if data else []


def _gain(f: Finding, place: int, *, bound: bool) -> Datum:
    assert f.ratio is not None
    row = f"{f.pair.scenario} · {f.pair.tier}"
    ratio = _published(f)
    return {
        "row": row,
        "place": place,
        "pair": f"{row}, {f.pair.a} ÷ {f.pair.b}",
        "ratio": short(f.ratio.value),
        "low": short_if_known(f.ratio.low),
        "high": short_if_known(f.ratio.high),
        "noise_low": None if f.band is None else short(1 / f.band),
        "noise_high": short_if_known(f.band),
        "n": f.ratio.rounds,
        "bound": bound,
        "side": f.side,
        "verdict": f.comparison.verdict.text,
        "text": f.figure,
        "published": short_if_known(ratio),
    }


def _published(f: Finding) -> float | None:
    for table in TABLES:
        if (table.cell(VIRTUAL, None).question, table.pool) == (f.pair.scenario, f.pair.requested):
            return table.over(BASELINE, VIRTUAL)
    return None


def _pools(found: dict[Cell, Row]) -> list[Figure]:
    """A figure for each question that was asked of pools of several sizes."""
    figures = []
    for question in dict.fromkeys(cell.question for cell in found):
        here = [row for row in found.values() if row.cell.question == question and _of_pools(row)]
        if len({row.cell.pool for row in here}) < 2:
            continue
        data = _lines(here)
        bounds = [d["bound"] for d in data if d["bound"] is not None]
        values = [d[side] for side in ("low", "high") for d in data if d[side] is not None]
        caption = question + (" · dashed: connections ÷ latency" if bounds else "")
        said = "; ".join(f"{d['executor']}, {d['connections']:g} connections: {d['text']}" for d in data if d["text"])
        drawing = logarithmic(POOLS, data, [*values, *bounds])
        title = "Operations a second over the connections of the pool"
        figures.append(Figure(slug("pools", question), title, caption, f"{title}, {question}. {said}", drawing))
    return figures


def _of_pools(row: Row) -> bool:
    return bool(row.rounds) and not row.cell.again and row.cell.executor in (BASELINE, VIRTUAL, "forkjoin-15")


def _lines(here: Sequence[Row]) -> list[Datum]:
    """A point a cell; the bound as a line of its own; a name at the right end of each."""
    data: list[Datum] = []
    bounds: dict[float, float] = {}
    for row in sorted(here, key=lambda row: (row.cell.executor, row.median("connections"))):
        values, connections, bound = row.values("ops_per_s"), row.median("connections"), row.median("bound_ops_per_s")
        assert connections is not None
        middle = row.median("ops_per_s") or 0.0
        data.append(
            _point(row.cell.executor, connections)
            | {
                "ops": short(middle),
                "low": short(min(values)),
                "high": short(max(values)),
                "at": short(middle),
                "text": " · ".join(format_number(v) for v in values),
            }
        )
        if bound is not None:
            bounds[connections] = bound
    data += [
        _point("bound", connections) | {"bound": short(bound), "at": short(bound)}
        for connections, bound in sorted(bounds.items())
    ]
    ends = {d["executor"]: d for d in data}
    for name, datum in ends.items():
        datum["name"] = name
    return data


def _point(executor: str, connections: float) -> Datum:
    return {
        "executor": executor,
        "kind": KINDS.get(executor),
        "connections": connections,
        **dict.fromkeys(("ops", "low", "high", "bound", "at")),
        "text": "",
        "name": "",
    }


def _executors(question: tuple[str, str], found: dict[Cell, Row]) -> list[Figure]:
    """A row an executor: its rounds, their median, and the bound where there is one."""
    here = [
        row
        for row in found.values()
        if (row.cell.question, row.cell.connections) == question and not row.cell.again and row.cell.executor in KINDS
    ]
    ordered = sorted(here, key=lambda row: list(KINDS).index(row.cell.executor))
    data = [_dot(row, place) for place, row in enumerate(ordered)]
    if not any(d["value"] is not None for d in data):
        return []
    caption = f"{question[0]} · pool {question[1]}"
    said = "; ".join(f"{d['entry']} {d['text']}" for d in data)
    drawing = Drawing(DOTS, data)
    title = "Operations a second by executor"
    return [Figure(slug("executors", *question), title, caption, f"{title}, {caption}. {said}", drawing)]


def _dot(row: Row, place: int) -> Datum:
    values, bound = row.values("ops_per_s"), row.median("bound_ops_per_s")
    note = f"bound {format_number(bound)}" if bound is not None else ""
    return {
        "entry": row.cell.executor,
        "place": place,
        "kind": KINDS[row.cell.executor],
        "value": short(row.median("ops_per_s") or 0.0) if values else None,
        "low": None,
        "high": None,
        "rounds": [short(v) for v in values],
        "bound": row.at_bound,
        "note": note if values else "failed",
        "text": " · ".join(format_number(v) for v in values) or "failed",
        "flags": "at its bound" if row.at_bound else "none",
    }


def _flood(record: FloodRecord, place: int) -> Datum:
    result = record.result
    assert result is not None
    megabytes = short(result.peak_rss_kb / 1024)
    return {
        "entry": f"{record.flood.tasks:,} · {record.flood.executor}",
        "place": place,
        "kind": KINDS[record.flood.executor],
        "value": megabytes,
        "low": None,
        "high": None,
        "rounds": [megabytes],
        "bound": result.outcome != "finished",
        "note": result.outcome,
        "text": format_number(megabytes),
        "flags": result.outcome,
    }


def _group(title: str, figures: list[Figure]) -> list[Group]:
    return [Group(title, figures)] if figures else []


def _beside(points: list[Datum]) -> Drawing:
    """The same with the published ratio of each pair."""
    known = [{**d, "ratio": d["published"], "low": None, "high": None} for d in points if d["published"] is not None]
    return Drawing(BESIDE, points, forest.drawing([*points, *known]).settings)


def _forest_and_published() -> Chart:
    """A forest with a hollow diamond where the published ratio is."""
    published = (
        named_points()
        .transform_filter("datum.published != null")
        .mark_point(shape="diamond", size=130, strokeWidth=2, color=RULE)
        .encode(
            y=entry_rows("row"),
            x=alt.X("published:Q", scale=log_scale(), axis=log_axis()),
            tooltip=[alt.Tooltip("pair:N", title="pair"), alt.Tooltip("published:Q", title="published")],
        )
    )
    return alt.layer(*forest.layers().layer, published)


def _operations() -> Chart:
    """Operations a second over a pool's connections, a line an executor; dashed, what pool ÷ latency allows."""
    x = alt.X("connections:Q", scale=alt.Scale(type="log", nice=False, padding=30), axis=_pool_axis())
    scale, axis = log_scale(), log_axis("ops/s")
    base = named_points().encode(x=x, detail="executor:N")
    hue = coloured("kind", LOOKS)
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
            shape=shaped(),
            tooltip=["executor:N", "connections:Q", alt.Tooltip("text:N", title="ops/s by round")],
        ),
        name.encode(y=alt.Y("at:Q", scale=scale, axis=axis), text="name:N"),
    )


def _pool_axis() -> alt.Axis:
    return alt.Axis(values=[10, 20, 50, 100, 200, 500, 1000], format=",~g", title="connections", grid=False)


BESIDE = Form("beside", _forest_and_published)
POOLS = Form("pools", _operations, 260)
