"""Latency: quantiles of every round, and curves over the share of requests. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt

from zoo.model.histogram import merge
from zoo.model.measurement import Measurement
from zoo.report.cells import Cells, Level
from zoo.report.charts import looks
from zoo.report.charts.figure import (
    IN_TABLE,
    ChartPart,
    Datum,
    Figure,
    Form,
    Group,
    by_scenario,
    logarithmic,
    short,
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


def _quantiles(cells: Cells) -> list[Group]:
    """Latency quantiles of each round, a figure for each load."""

    def figures(scenario: str) -> list[Figure]:
        return [
            Figure(
                slug("latency", scenario, level.tier),
                "Latency quantiles, ms",
                level.caption,
                f"Latency quantiles in milliseconds, {level.title}. {IN_TABLE}",
                logarithmic(LATENCY, data, [d["ms"] for d in data]),
                {"scenario": scenario, "tier": level.tier},
            )
            for level in cells.levels_of(scenario)
            if (data := _quantile_rows(cells, level))
        ]

    return by_scenario(cells, figures)


def _quantile_rows(cells: Cells, level: Level) -> list[Datum]:
    """Return a row for each round and quantile; only quantiles with enough samples beyond them."""
    return [
        quantile_row(place, row.entry, cells.kinds[row.entry], number, name, value)
        for place, row in enumerate(cells.at(level))
        for number, seen in cells.measured(level, row.entry)
        for name, read in READ.items()
        if (value := read(seen)) is not None
    ]


def quantile_row(place: int, entry: str, kind: str, number: int, name: str, us: float) -> Datum:
    """Return a quantile of a round, in milliseconds."""
    ms = short(max(us, 1) / 1000)
    return {"entry": entry, "place": place, "kind": kind, "round": number, "quantile": name, "ms": ms}


def _marks() -> alt.Chart:
    """An entry a row, a round and quantile a mark: p50 a circle, p99 a triangle, p99.9 a diamond."""
    chart: alt.Chart = (
        looks.named_points()
        .mark_point(size=45, filled=True, opacity=0.75)
        .encode(
            y=looks.entry_rows("entry"),
            x=alt.X("ms:Q", scale=looks.log_scale(), axis=looks.log_axis()),
            color=looks.coloured("kind", looks.KINDS),
            shape=looks.scaled(alt.Shape, "quantile", looks.QUANTILES),
            tooltip=["entry:N", "quantile:N", alt.Tooltip("ms:Q", title="ms"), "round:Q"],
        )
    )
    return chart


LATENCY = Form("latency", _marks)

QUANTILE_PART = ChartPart(
    "latency",
    "Latency",
    "Latency quantiles, ms",
    "● p50, ▲ p99, ◆ p99.9; a mark a round. A quantile is shown only with 100 samples beyond it. Closed load: "
    "what a client of this load waited, not what users of an open system would.",
    lambda drawn: _quantiles(drawn.cells),
)


def _curves(cells: Cells, evidence: RawFiles) -> list[Group]:
    """Latency by the share of requests, a figure for each server."""

    def figures(scenario: str) -> list[Figure]:
        levels = cells.levels_of(scenario)
        return [
            Figure(
                slug("curves", scenario, name),
                f"Latency over the share of requests, ms, {scenario}",
                f"{name} · closed, c = {', '.join(f'{level.actual:,}' for level in levels)}",
                f"Latency in milliseconds over the share of requests that stayed below it, {name}, {scenario}.",
                logarithmic(CURVES, data, [d["ms"] for d in data]),
                {"scenario": scenario, "server": name},
            )
            for name in cells.servers
            if (data := _curve_rows(cells, evidence, levels, name))
        ]

    return by_scenario(cells, figures)


def _curve_rows(cells: Cells, evidence: RawFiles, levels: Sequence[Level], server: str) -> list[Datum]:
    """Latency below which a share of all requests stayed, rounds merged; as far as 100 samples lie beyond."""
    made = []
    for level in levels:
        for entry in cells.entries_of(server):
            seen = cells.measured(level, entry)
            parts = [evidence.histograms.get(m.load.histogram or "") for _, m in seen]
            merged = merge(part for part in parts if part is not None)
            for step in range(STEPS_A_DECADE * DECADES + 1):
                beyond = 10 ** (step / STEPS_A_DECADE)
                share = round(1 - 1 / beyond, 9)
                value = merged.quantile(share)
                if value is None or not merged.supports(share):
                    break
                made.append(
                    {
                        "entry": entry,
                        "kind": cells.kinds[entry],
                        "tier": level.tier,
                        "dash": cells.dash(level),
                        "beyond": short(beyond),
                        "ms": short(max(value, 1) / 1000),
                    }
                )
    return made


def _lines() -> alt.Chart:
    """Latency over the share of requests that stayed below it, both axes logarithmic; tiers by dash."""
    share = "format(100 - 100 / datum.value, '~g') + ' %'"
    chart: alt.Chart = (
        looks.named_points()
        .mark_line(strokeWidth=2, interpolate="monotone")
        .encode(
            x=alt.X(
                "beyond:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=[10**n for n in range(7)], labelExpr=share, title=None),
            ),
            y=alt.Y("ms:Q", scale=looks.log_scale(), axis=looks.log_axis("ms")),
            color=looks.coloured("kind", looks.KINDS),
            strokeDash=looks.scaled(alt.StrokeDash, "dash", looks.DASHES),
            detail="entry:N",
            tooltip=["entry:N", "tier:N", alt.Tooltip("ms:Q", title="ms")],
        )
    )
    return chart


CURVES = Form("curves", _lines, 200)

CURVE_PART = ChartPart(
    "curves",
    "Curves",
    "Latency over the share of requests, ms",
    "All rounds merged, for the picture only; wrk's correction for coordinated omission is taken out again.",
    lambda drawn: _curves(drawn.cells, drawn.evidence),
)
