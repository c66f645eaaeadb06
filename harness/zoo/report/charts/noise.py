"""What else the machine did, over the minutes of the run. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import altair as alt

from zoo.model.flag import FOREIGN_LIMIT
from zoo.model.record import Record
from zoo.report.charts.figure import ChartPart, Datum, Drawing, Figure, Form, Group, short_if_known, slug
from zoo.report.charts.looks import Chart, named_points
from zoo.report.columns import RECORD_COLUMNS, RecordColumn
from zoo.report.formatting import format_number

NOISE: dict[str, tuple[str, RecordColumn, float | None]] = {
    "foreign": ("CPU of other programs, % of the machine", RECORD_COLUMNS["other_cpu"], 100 * FOREIGN_LIMIT),
    "steal": ("Stolen by the hypervisor, % of the machine", RECORD_COLUMNS["steal"], None),
    "pressure": ("Some task waited for a CPU, % of the time", RECORD_COLUMNS["pressure_cpu"], None),
    "canary": ("Fixed work before the block, ms", RECORD_COLUMNS["canary_ms"], None),
}
"""Name: title, column of a record, and the value from which a cell is flagged."""


def _groups(records: Sequence[Record]) -> list[Group]:
    """What else the machine did, over the minutes of the run; all figures draw the same rows."""
    data = _rows(records)
    figures = []
    for name, (title, _, limit) in NOISE.items():
        values = [d[name] for d in data if d[name] is not None]
        if values:
            said = f"{title}, for each cell over the minutes of the run: at most {format_number(max(values))}."
            drawn = Drawing(COURSE, data, {"metric": name})
            if limit is not None:
                drawn = Drawing(LIMITED_COURSE, data, {"metric": name, "limit": limit})
            figures.append(Figure(slug("noise", name), "What else the machine did", title, said, drawn))
    return [Group("Over the minutes of the run, a mark a cell", figures)] if figures else []


def _rows(records: Sequence[Record]) -> list[Datum]:
    """What else the machine did, a cell a row, by the minutes of the run."""
    seen = [(r, r.measurement) for r in records if r.measurement is not None]
    if not seen:
        return []
    began = min(datetime.fromisoformat(r.started_at) for r, _ in seen)
    return [
        {
            "minute": round((datetime.fromisoformat(record.started_at) - began).total_seconds() / 60, 1),
            "cell": f"{record.entry} · {record.asked} {record.tier} · round {record.round}",
            **{name: short_if_known(column.value(measurement)) for name, (_, column, _) in NOISE.items()},
        }
        for record, measurement in seen
    ]


def _course() -> alt.Chart:
    """A figure of each cell over the minutes of the run."""
    base = named_points().transform_calculate(value="datum[metric]")
    marks: alt.Chart = base.mark_point(size=25, filled=True, color="#7a7f87", opacity=0.8).encode(
        x=alt.X("minute:Q", title="minutes since the start", axis=alt.Axis(grid=False)),
        y=alt.Y("value:Q", title=None, axis=alt.Axis(tickCount=4), scale=alt.Scale(zero=True)),
        tooltip=["cell:N", "value:Q"],
    )
    return marks


def _limited_course() -> Chart:
    """The same with a line where cells begin to be flagged."""
    base = named_points().transform_calculate(at="limit")
    return alt.layer(_course(), base.mark_rule(color="#d55e00", strokeDash=[4, 3]).encode(y="at:Q"))


COURSE = Form("course", _course, 110)
LIMITED_COURSE = Form("limited-course", _limited_course, 110)

PART = ChartPart(
    "noise",
    "Noise",
    "What else the machine did",
    "The dashed line is where a cell is flagged.",
    lambda drawn: _groups(drawn.records),
)
