"""Charts of figures that rise or fall over something: time since a start, the number of connections. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import altair as alt

from zoo.report.charts.encoding import Chart, coloured, log_axis, named_points, plain_axis, scaled
from zoo.report.charts.looks import KINDS, RULE

HEIGHTS = {"ramp": 170, "threads": 110, "sweep": 180, "ratios": 150, "reach": 260}


def _ramp() -> Chart:
    """Connections served within the last delay, in percent, over the seconds of the load; dashed: 95 %."""
    base = named_points()
    line = base.mark_line(strokeWidth=2, interpolate="step-after").encode(
        x=_seconds(),
        y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 105]), axis=plain_axis("% served")),
        color=coloured("kind", KINDS),
        detail=["entry:N", "round:N"],
        tooltip=["entry:N", "round:N", alt.Tooltip("s:Q", title="s"), alt.Tooltip("share:Q", title="% served")],
    )
    limit = base.mark_rule(color=RULE, strokeDash=[4, 3]).encode(y=alt.YDatum(95))
    return alt.layer(limit, line)


def _threads() -> Chart:
    """OS threads over the seconds of the load."""
    chart: alt.Chart = (
        named_points()
        .mark_line(strokeWidth=2, interpolate="step-after")
        .encode(
            x=_seconds(),
            y=alt.Y("threads:Q", axis=plain_axis("threads")),
            color=coloured("kind", KINDS),
            detail=["entry:N", "round:N"],
            tooltip=["entry:N", "round:N", alt.Tooltip("s:Q", title="s"), "threads:Q"],
        )
    )
    return chart


def _sweep() -> Chart:
    """A figure of each entry over the number of connections: medians joined by a line, bars from round to round."""
    base = named_points().encode(x=_connections(), color=coloured("kind", KINDS), detail="entry:N")
    bar = base.mark_rule(strokeWidth=3, opacity=0.35).encode(y=alt.Y("low:Q", axis=plain_axis()), y2="high:Q")
    line = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("value:Q", axis=plain_axis()))
    point = base.mark_point(size=45, filled=True).encode(
        y=alt.Y("value:Q", axis=plain_axis()),
        shape=_shaped(),
        tooltip=["entry:N", "connections:Q", alt.Tooltip("text:N", title="by round")],
    )
    return alt.layer(bar, line, point)


def _ratios() -> Chart:
    """Virtual over platform threads by the number of connections, with intervals; a line at 1."""
    scale = alt.Scale(zero=False)
    base = named_points().encode(x=_connections())
    one = named_points().mark_rule(color=RULE, strokeWidth=1.5).encode(y=alt.YDatum(1, scale=scale))
    bar = base.mark_rule(strokeWidth=3, opacity=0.4, color=KINDS["virtual-thread"][0]).encode(
        y=alt.Y("low:Q", scale=scale, axis=plain_axis()), y2="high:Q"
    )
    line = base.mark_line(strokeWidth=1.5, color=KINDS["virtual-thread"][0]).encode(
        y=alt.Y("ratio:Q", scale=scale, axis=plain_axis())
    )
    point = base.mark_point(size=45, filled=True, color=KINDS["virtual-thread"][0]).encode(
        y=alt.Y("ratio:Q", scale=scale, axis=plain_axis()),
        tooltip=["connections:Q", alt.Tooltip("text:N", title="ratio"), alt.Tooltip("verdict:N", title="verdict")],
    )
    return alt.layer(one, bar, line, point)


def _reach() -> Chart:
    """Memory over held connections, a line a life, named where it ends."""
    scale = alt.Scale(domain=cast("Any", [0, alt.ExprRef("most")]), nice=False)
    axis = alt.Axis(values=alt.ExprRef("ticks"), format=",d", title="held connections")
    base = named_points().encode(x=alt.X("connections:Q", scale=scale, axis=axis), color=coloured("kind", KINDS))
    lives = base.encode(detail=["entry:N", "round:N"], y=alt.Y("mb:Q", axis=plain_axis("MB")))
    point = lives.mark_point(size=40, filled=True).encode(
        shape=_shaped(), tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="RSS MB")]
    )
    name = base.transform_filter("datum.name != ''").mark_text(align="left", dx=9, fontSize=11)
    return alt.layer(lives.mark_line(strokeWidth=1.5, opacity=0.6), point, name.encode(y=alt.Y("at:Q"), text="name:N"))


def _seconds() -> alt.X:
    return alt.X("s:Q", title="s", axis=alt.Axis(tickCount=6, grid=False))


def _connections() -> alt.X:
    """Each count is a tick."""
    return alt.X("connections:Q", scale=alt.Scale(type="log", nice=False, padding=14), axis=log_axis("connections"))


def _shaped() -> Any:  # noqa: ANN401 (altair's channels share no type)
    return scaled(alt.Shape, "kind", {name: shape for name, (_, shape) in KINDS.items()})


TEMPLATES: dict[str, Callable[[], Chart]] = {
    "ramp": _ramp,
    "threads": _threads,
    "sweep": _sweep,
    "ratios": _ratios,
    "reach": _reach,
}
