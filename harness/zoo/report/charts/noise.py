"""Charts of the machine's other activity over the minutes of the run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import altair as alt

from zoo.core.flag import FOREIGN_LIMIT
from zoo.core.record import Record
from zoo.report.charts.figure import ChartPart, Datum, Drawing, Figure, Form, Group, round_if_known, slug
from zoo.report.charts.looks import Chart, base_chart
from zoo.report.columns import RECORD_COLUMNS, RecordColumn
from zoo.report.formatting import format_number

NOISE: dict[str, tuple[str, RecordColumn, float | None]] = {
    "foreign": ("CPU of other programs, % of the machine", RECORD_COLUMNS["other_cpu"], 100 * FOREIGN_LIMIT),
    "steal": ("Stolen by the hypervisor, % of the machine", RECORD_COLUMNS["steal"], None),
    "pressure": ("Share of time in which a task waited for a CPU, %", RECORD_COLUMNS["pressure_cpu"], None),
    "canary": ("Time for a fixed amount of work before the block, ms", RECORD_COLUMNS["canary_ms"], None),
}
"""Noise figures by name: title, column of a record, and the value from which a cell is flagged."""


def _draw_noise(records: Sequence[Record]) -> list[Group]:
    """Draw the machine's other activity over the minutes of the run; all figures draw the same rows."""
    data = _noise_rows(records)
    figures = []
    for name, (title, _, limit) in NOISE.items():
        values = [d[name] for d in data if d[name] is not None]
        if values:
            description = f"{title}, by cell over the minutes of the run: at most {format_number(max(values))}."
            drawing = Drawing(NOISE_FORM, data, {"metric": name})
            if limit is not None:
                drawing = Drawing(LIMITED_NOISE_FORM, data, {"metric": name, "limit": limit})
            figures.append(Figure(slug("noise", name), "Other activity of the machine", title, description, drawing))
    return [Group("Over the minutes of the run, one mark per cell", figures)] if figures else []


def _noise_rows(records: Sequence[Record]) -> list[Datum]:
    """Return one row per cell: the minute of the run at which it started, and its noise figures."""
    measured = [(r, r.measurement) for r in records if r.measurement is not None]
    if not measured:
        return []
    start = min(datetime.fromisoformat(r.started_at) for r, _ in measured)
    return [
        {
            "minute": round((datetime.fromisoformat(record.started_at) - start).total_seconds() / 60, 1),
            "cell": f"{record.entry} · {record.workload} {record.tier} · round {record.round}",
            **{name: round_if_known(column.value(measurement)) for name, (_, column, _) in NOISE.items()},
        }
        for record, measurement in measured
    ]


def _noise_chart() -> alt.Chart:
    """Return a chart of one noise figure over the minutes of the run, with one mark per cell."""
    base = base_chart().transform_calculate(value="datum[metric]")
    marks: alt.Chart = base.mark_point(size=25, filled=True, color="#7a7f87", opacity=0.8).encode(
        x=alt.X("minute:Q", title="minutes since the start", axis=alt.Axis(grid=False)),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True)),
        tooltip=["cell:N", "value:Q"],
    )
    return marks


def _limited_noise_chart() -> Chart:
    """Return the same chart with a line at the value from which cells are flagged."""
    base = base_chart().transform_calculate(at="limit")
    return alt.layer(_noise_chart(), base.mark_rule(color="#d55e00", strokeDash=[4, 3]).encode(y="at:Q"))


NOISE_FORM = Form("course", _noise_chart, 110)
LIMITED_NOISE_FORM = Form("limited-course", _limited_noise_chart, 110)

PART = ChartPart(
    "noise",
    "Noise",
    "Other activity of the machine",
    "Cells above the dashed line are flagged.",
    lambda drawn: _draw_noise(drawn.records),
)
