"""Latency quantiles: an entry a row, a round and quantile a mark. Pure."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt

from zoo.model.measurement import Measurement
from zoo.report.cells import Cells, Level
from zoo.report.charts.encoding import coloured, entry_rows, log_axis, log_scale, named_points, scaled
from zoo.report.charts.figure import IN_TABLE, ChartPart, Datum, Figure, Form, Group, logarithmic, short, slug
from zoo.report.charts.looks import KINDS, QUANTILES

READ: dict[str, Callable[[Measurement], float | None]] = {
    "p50": lambda m: m.load.latency.p50_us,
    "p99": lambda m: m.load.latency.p99_us,
    "p99.9": lambda m: m.load.latency.p999_us,
}


def groups(cells: Cells) -> list[Group]:
    """Latency quantiles of each round, a figure a load."""
    groups = []
    for scenario in cells.scenarios:
        figures = [
            Figure(
                slug("latency", level.scenario, level.tier),
                "Latency quantiles, ms",
                level.caption,
                f"Latency quantiles in milliseconds, {level.title}. {IN_TABLE}",
                logarithmic(LATENCY, data, [d["ms"] for d in data]),
                {"scenario": scenario, "tier": level.tier},
            )
            for level in cells.levels
            if level.scenario == scenario and (data := _rows(cells, level))
        ]
        if figures:
            groups.append(Group(scenario, figures))
    return groups


def _rows(cells: Cells, level: Level) -> list[Datum]:
    """A round and quantile a row, in milliseconds; only quantiles with enough samples beyond them."""
    made = []
    for place, row in enumerate(cells.at(level)):
        for number_, seen in cells.measured(level, row.entry):
            for name, read in READ.items():
                value = read(seen)
                if value is not None:
                    made.append(
                        {
                            "entry": row.entry,
                            "place": place,
                            "kind": cells.kinds[row.entry],
                            "round": number_,
                            "quantile": name,
                            "ms": short(value / 1000),
                        }
                    )
    return made


def marks() -> alt.Chart:
    """An entry a row, a round and quantile a mark: p50 a circle, p99 a triangle, p99.9 a diamond."""
    chart: alt.Chart = (
        named_points()
        .mark_point(size=45, filled=True, opacity=0.75)
        .encode(
            y=entry_rows("entry"),
            x=alt.X("ms:Q", scale=log_scale(), axis=log_axis()),
            color=coloured("kind", KINDS),
            shape=scaled(alt.Shape, "quantile", QUANTILES),
            tooltip=["entry:N", "quantile:N", alt.Tooltip("ms:Q", title="ms"), "round:Q"],
        )
    )
    return chart


LATENCY = Form("latency", marks)


PART = ChartPart(
    "latency",
    "Latency",
    "Latency quantiles, ms",
    "● p50, ▲ p99, ◆ p99.9; a mark a round. A quantile is shown only with 100 samples beyond it. Closed load: "
    "what a client of this load waited, not what users of an open system would.",
    lambda drawn: groups(drawn.cells),
)
