"""Latency: the quantiles of every round, and curves over the share of requests. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt

from zoo.core.histogram import merge
from zoo.core.measurement import Measurement
from zoo.report.cells import Cells, Level
from zoo.report.charts import looks
from zoo.report.charts.figure import (
    IN_TABLE,
    ChartPart,
    Datum,
    Figure,
    Form,
    Group,
    draw_on_log_axis,
    group_by_scenario,
    round_figure,
    slug,
)
from zoo.report.raw_files import RawFiles

READ: dict[str, Callable[[Measurement], float | None]] = {
    "p50": lambda m: m.load.latency.p50_us,
    "p99": lambda m: m.load.latency.p99_us,
    "p99.9": lambda m: m.load.latency.p999_us,
}

STEPS_A_DECADE = 6

DECADES = 6


def _draw_quantiles(cells: Cells) -> list[Group]:
    """Draw the latency quantiles of each round, with a figure for each load."""

    def figures(scenario: str) -> list[Figure]:
        return [
            Figure(
                slug("latency", scenario, level.tier),
                "Latency quantiles, ms",
                level.caption,
                f"Latency quantiles in milliseconds, {level.title}. {IN_TABLE}",
                draw_on_log_axis(LATENCY, data, [d["ms"] for d in data]),
                {"scenario": scenario, "tier": level.tier},
            )
            for level in cells.levels_of(scenario)
            if (data := _quantile_rows(cells, level))
        ]

    return group_by_scenario(cells, figures)


def _quantile_rows(cells: Cells, level: Level) -> list[Datum]:
    """Return a row for each round and quantile; quantiles with too few samples beyond them are left out."""
    return [
        quantile_row(place, row.entry, cells.kinds[row.entry], number, name, value)
        for place, row in enumerate(cells.rows_at(level))
        for number, measurement in cells.measurements(level, row.entry)
        for name, read in READ.items()
        if (value := read(measurement)) is not None
    ]


def quantile_row(place: int, entry: str, kind: str, number: int, name: str, us: float) -> Datum:
    """Return the row of one quantile in one round; `us` is in microseconds, the row in milliseconds."""
    ms = round_figure(max(us, 1) / 1000)
    return {"entry": entry, "place": place, "kind": kind, "round": number, "quantile": name, "ms": ms}


def _quantile_chart() -> alt.Chart:
    """Return a chart with one row per entry and one mark per round and quantile; the shape shows the quantile."""
    chart: alt.Chart = (
        looks.base_chart()
        .mark_point(size=45, filled=True, opacity=0.75)
        .encode(
            y=looks.row_axis("entry"),
            x=alt.X("ms:Q", scale=looks.log_scale(), axis=looks.log_axis()),
            color=looks.colour_encoding("kind", looks.MODEL_STYLES),
            shape=looks.scaled_encoding(alt.Shape, "quantile", looks.QUANTILES),
            tooltip=["entry:N", "quantile:N", alt.Tooltip("ms:Q", title="ms"), "round:Q"],
        )
    )
    return chart


LATENCY = Form("latency", _quantile_chart)

QUANTILE_PART = ChartPart(
    "latency",
    "Latency",
    "Latency quantiles, ms",
    "● p50, ▲ p99, ◆ p99.9; one mark per round. A quantile is shown only if at least 100 samples lie "
    "beyond it. Closed load: these are the waits of the clients of this load, not of users who "
    "arrive independently.",
    lambda drawn: _draw_quantiles(drawn.cells),
)


def _draw_curves(cells: Cells, evidence: RawFiles) -> list[Group]:
    """Draw latency over the share of requests, with a figure for each server."""

    def figures(scenario: str) -> list[Figure]:
        levels = cells.levels_of(scenario)
        return [
            Figure(
                slug("curves", scenario, name),
                f"Latency by share of requests, ms, {scenario}",
                f"{name} · closed, c = {', '.join(f'{level.actual:,}' for level in levels)}",
                f"Latency in milliseconds below which a share of the requests stayed, {name}, {scenario}.",
                draw_on_log_axis(CURVES, data, [d["ms"] for d in data]),
                {"scenario": scenario, "server": name},
            )
            for name in cells.servers
            if (data := _curve_rows(cells, evidence, levels, name))
        ]

    return group_by_scenario(cells, figures)


def _curve_rows(cells: Cells, evidence: RawFiles, levels: Sequence[Level], server: str) -> list[Datum]:
    """Return the latency below which each share of requests stayed, over all rounds merged.

    A curve ends where fewer than 100 samples are left beyond it.
    """
    rows = []
    for level in levels:
        for entry in cells.entries_of(server):
            measured = cells.measurements(level, entry)
            histograms = [evidence.histograms.get(m.load.histogram or "") for _, m in measured]
            merged = merge(part for part in histograms if part is not None)
            for step in range(STEPS_A_DECADE * DECADES + 1):
                beyond = 10 ** (step / STEPS_A_DECADE)
                share = round(1 - 1 / beyond, 9)
                value = merged.quantile(share)
                if value is None or not merged.supports(share):
                    break
                rows.append(
                    {
                        "entry": entry,
                        "kind": cells.kinds[entry],
                        "tier": level.tier,
                        "dash": cells.dash_pattern(level),
                        "beyond": round_figure(beyond),
                        "ms": round_figure(max(value, 1) / 1000),
                    }
                )
    return rows


def _curve_chart() -> alt.Chart:
    """Return a chart of latency over the share of requests that stayed below it.

    Both axes are logarithmic; the dash pattern shows the connections.
    """
    share = "format(100 - 100 / datum.value, '~g') + '%'"
    chart: alt.Chart = (
        looks.base_chart()
        .mark_line(strokeWidth=2, interpolate="monotone")
        .encode(
            x=alt.X(
                "beyond:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=[10**n for n in range(7)], labelExpr=share, title=None),
            ),
            y=alt.Y("ms:Q", scale=looks.log_scale(), axis=looks.log_axis("ms")),
            color=looks.colour_encoding("kind", looks.MODEL_STYLES),
            strokeDash=looks.scaled_encoding(alt.StrokeDash, "dash", looks.DASHES),
            detail="entry:N",
            tooltip=["entry:N", "tier:N", alt.Tooltip("ms:Q", title="ms")],
        )
    )
    return chart


CURVES = Form("curves", _curve_chart, 200)

CURVE_PART = ChartPart(
    "curves",
    "Curves",
    "Latency by share of requests, ms",
    "All rounds merged, for this chart only; without wrk's correction for coordinated omission.",
    lambda drawn: _draw_curves(drawn.cells, drawn.raw_files),
)
