"""The view of a scenario with several cases over connection counts, such as `cpu`. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

import altair as alt

from zoo.core.capacity import parse_count
from zoo.core.entry_id import server_name
from zoo.core.measurement import Measurement
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, round_figure, round_if_known, slug
from zoo.report.charts.looks import (
    MODEL_STYLES,
    RULE,
    Chart,
    base_chart,
    colour_encoding,
    log_axis,
    plain_axis,
    shape_encoding,
)
from zoo.report.columns import title_of
from zoo.report.formatting import format_number, format_ratio, format_spread
from zoo.report.section import Section, Table
from zoo.report.view import Kinds, View, notes
from zoo.report.wording import format_comparison
from zoo.stats import flags
from zoo.stats.metrics import REQUESTS
from zoo.stats.pairs import Kind, compare
from zoo.stats.summary import spread
from zoo.stats.trials import newest_by_round

Read = Callable[[Measurement], float | None]


def switches_per_request(measurement: Measurement) -> float | None:
    """Return the server's context switches per good response; None if too many may have been missed."""
    work = measurement.work
    if work is None or not measurement.load.goodput:
        return None
    count = flags.context_switches(work.voluntary_switches, work.involuntary_switches, work.switches_missed)
    return None if count is None else count / measurement.load.goodput


def migrations_per_request(measurement: Measurement) -> float | None:
    """Return moves of the server's threads to another CPU per good response; None if its switches are unknown."""
    work = measurement.work
    if work is None or work.migrations is None or switches_per_request(measurement) is None:
        return None
    return work.migrations / measurement.load.goodput


RATE = title_of("rps")
THROUGHPUT: Mapping[str, Read] = {RATE: lambda m: m.load.goodput_rps}
READINGS: Mapping[str, Read] = {
    **THROUGHPUT,
    "context switches per request": switches_per_request,
    "migrations per request": migrations_per_request,
}


def sweep_view(name: str, heading: str, text: str, readings: Mapping[str, Read] = READINGS) -> View:
    """Return the view of a sweep: a table for each case and reading, and requests per second as charts."""

    def section(records: Sequence[Record]) -> Section:
        tables = [
            _reading_table(records, case, reading, read)
            for case in _sort_cases(records)
            for reading, read in readings.items()
        ]
        return Section(f"Scenario {name}", [text], [table for table in tables if table.rows], notes(records))

    return View(heading, section, sweep_groups)


def sweep_groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Draw a figure for each case and server, then the ratios of virtual to platform threads."""
    lines, ratios = [], []
    for case in _sort_cases(records):
        matching = [r for r in records if r.workload == case]
        for name in sorted({server_name(r.entry) for r in matching}):
            if data := _rate_rows(kinds, [r for r in matching if server_name(r.entry) == name]):
                caption = f"{name} · {case}"
                description = f"Requests per second by number of connections, {caption}. The table has the figures."
                lines.append(
                    Figure(slug("sweep", case, name), case, caption, description, _draw_over_connections(data, SWEEP))
                )
        for entry, data in _ratio_rows(run, matching).items():
            caption = f"{entry} ÷ platform · {case}"
            ratios_text = "; ".join(f"{d['connections']} {d['text']}" for d in data)
            description = f"Ratio of requests per second by number of connections, {caption}: {ratios_text}"
            ratios.append(
                Figure(slug("ratios", case, entry), case, caption, description, _draw_over_connections(data, RATIOS))
            )
    chart_groups = [Group("Requests per second by number of connections", lines)] if lines else []
    if ratios:
        chart_groups.append(
            Group("Virtual ÷ platform threads, requests per second: above 1, virtual threads are faster", ratios)
        )
    return chart_groups


def _sort_cases(records: Sequence[Record]) -> list[str]:
    """Return the cases ordered by the size in their names: 256 before 1024, 0.5ms before 5ms."""
    return sorted({r.workload for r in records}, key=lambda case: ("+" in case, _case_size(case.partition(" ")[2])))


def _case_size(case: str) -> float:
    digits = case.partition("+")[0].removesuffix("ms").removesuffix("s")
    scale = 1000.0 if case.endswith("s") and not case.endswith("ms") else 1.0
    return scale * float(digits or 0)


def _reading_table(records: Sequence[Record], case: str, reading: str, read: Read) -> Table:
    tiers = sorted({r.tier for r in records if r.workload == case}, key=parse_count)
    measured: dict[str, dict[str, list[Measurement]]] = {}
    for record in newest_by_round(records):
        if record.workload == case and record.measurement:
            measured.setdefault(record.entry, {}).setdefault(record.tier, []).append(record.measurement)
    body = []
    for entry, by_tier in sorted(measured.items()):
        spreads = [spread(map(read, by_tier.get(tier, ()))) for tier in tiers]
        if any(spreads):
            body.append([entry, *map(format_spread, spreads)])
    return Table(f"{case}: {reading} · closed, c =", ["entry", *tiers], body)


def _rate_rows(kinds: Kinds, records: Sequence[Record]) -> list[Datum]:
    """Return the median and range over rounds of requests per second, by entry and connections."""
    values: dict[tuple[str, int], list[float]] = {}
    for record in newest_by_round(records):
        measurement = record.measurement
        if measurement and measurement.load.goodput_rps is not None:
            values.setdefault((record.entry, measurement.connections.actual), []).append(measurement.load.goodput_rps)
    return [
        {
            "entry": entry,
            "kind": kinds[entry],
            "connections": connections,
            "value": round_figure(statistics.median(rates)),
            "low": round_figure(min(rates)),
            "high": round_figure(max(rates)),
            "text": " · ".join(map(format_number, rates)),
        }
        for (entry, connections), rates in sorted(values.items())
    ]


def _ratio_rows(run: Run, records: Sequence[Record]) -> dict[str, list[Datum]]:
    """Return requests per second of each virtual variant ÷ its server's platform variant."""
    rows: dict[str, list[Datum]] = {}
    for pair in compare(run.plan.entries, records).of(Kind.MODEL):
        comparison = pair.comparisons.get(REQUESTS)
        if comparison is None or comparison.ratio is None:
            continue
        ratio = comparison.ratio
        rows.setdefault(pair.a, []).append(
            {
                "connections": pair.requested,
                "ratio": round_figure(ratio.value),
                "low": round_if_known(ratio.low),
                "high": round_if_known(ratio.high),
                "text": f"×{format_ratio(ratio.value)}",
                "verdict": format_comparison(comparison),
            }
        )
    return {entry: sorted(data, key=lambda d: d["connections"]) for entry, data in rows.items()}


def _draw_over_connections(data: list[Datum], form: Form) -> Drawing:
    """Return a drawing over connections, with a tick at each count."""
    return Drawing(form, data, {"ticks": sorted({d["connections"] for d in data})})


def _median_chart() -> Chart:
    """Return a chart of requests per second over connections.

    A line joins the medians of each entry; bars are the range over rounds.
    """
    base = base_chart().encode(x=_connections_axis(), color=colour_encoding("kind", MODEL_STYLES), detail="entry:N")
    bar = base.mark_rule(strokeWidth=3, opacity=0.35).encode(y=alt.Y("low:Q", axis=plain_axis()), y2="high:Q")
    line = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("value:Q", axis=plain_axis()))
    point = base.mark_point(size=45, filled=True).encode(
        y=alt.Y("value:Q", axis=plain_axis()),
        shape=shape_encoding(),
        tooltip=["entry:N", "connections:Q", alt.Tooltip("text:N", title="by round")],
    )
    return alt.layer(bar, line, point)


def _interval_chart() -> Chart:
    """Return a chart of virtual ÷ platform threads over connections, with intervals and a line at 1."""
    scale, color = alt.Scale(zero=False), MODEL_STYLES["virtual-thread"][0]
    base = base_chart().encode(x=_connections_axis())
    one = base_chart().mark_rule(color=RULE, strokeWidth=1.5).encode(y=alt.YDatum(1, scale=scale))
    low, ratio = (alt.Y(f"{name}:Q", scale=scale, axis=plain_axis()) for name in ("low", "ratio"))
    bar = base.mark_rule(strokeWidth=3, opacity=0.4, color=color).encode(y=low, y2="high:Q")
    line = base.mark_line(strokeWidth=1.5, color=color).encode(y=ratio)
    point = base.mark_point(size=45, filled=True, color=color).encode(
        y=ratio,
        tooltip=["connections:Q", alt.Tooltip("text:N", title="ratio"), alt.Tooltip("verdict:N", title="verdict")],
    )
    return alt.layer(one, bar, line, point)


def _connections_axis() -> alt.X:
    """Return the x axis, with a tick at each connection count."""
    return alt.X("connections:Q", scale=alt.Scale(type="log", nice=False, padding=14), axis=log_axis("connections"))


SWEEP = Form("sweep", _median_chart, 180)
RATIOS = Form("ratios", _interval_chart, 150)
