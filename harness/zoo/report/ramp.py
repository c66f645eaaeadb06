"""What is said of ramp-up: when all connections were served, with how many threads. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from zoo.analysis.summary import spread
from zoo.model.entry_id import server_of
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import RampResult
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, short, slug
from zoo.report.charts.looks import KINDS, RULE, Chart, coloured, named_points, plain_axis
from zoo.report.columns import title_of
from zoo.report.formatting import format_spread
from zoo.report.section import Section, Table
from zoo.report.trial_rows import Kinds, LoadKey, levels, notes, peak_mb, results, thinned

TEXT = (
    "All connections begin at once on a server at rest, and every request waits. t95: the first window of 100 ms at "
    "whose end 95 % of the connections had an answer within the last wait; none can come earlier than one wait. "
    "Plateau and last third: answers a second as a share of connections ÷ wait."
)


def section(records: Sequence[Record]) -> Section:
    """A table a load."""
    tables = [_table(records, level) for level in levels(records)]
    return Section("Scenario ramp", [TEXT], tables, notes(records))


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """The curves of each load, a figure a server."""
    made = []
    for level in levels(records):
        found = results(records, level, RampResult)
        servers = sorted({server_of(entry) for entry in found})
        shares = [_figure(level, name, RAMP, "connections served, %", _shares(kinds, found, name)) for name in servers]
        threads = [_figure(level, name, THREADS, "OS threads", _threads(kinds, found, name)) for name in servers]
        title = f"{level[0]}, {level[1]} connections"
        if found:
            made.append(Group(f"{title}: share that was answered within the last wait", shares))
            made.append(Group(f"{title}: OS threads", threads))
    return made


Found = dict[str, list[tuple[Record, RampResult]]]


def _table(records: Sequence[Record], level: LoadKey) -> Table:
    body = []
    for entry, found in sorted(results(records, level, RampResult).items()):
        each = [result for _, result in found]
        body.append(
            [
                entry,
                _t95(each),
                format_spread(spread(_percent(r.plateau) for r in each)),
                format_spread(spread(_percent(r.late) for r in each)),
                format_spread(spread(max(r.threads, default=None) for r in each)),
                f"{sum(r.answered for r in each):,}",
                f"{sum(sum(r.failed.values()) for r in each):,}",
                format_spread(spread(peak_mb(r) for r, _ in found)),
            ]
        )
    columns = ["entry", "t95 s", "plateau %", "last third %", title_of("threads_peak"), title_of("answers"), "failed"]
    return Table(f"{level[0]} · closed, c = {level[1]}, from rest", [*columns, title_of("rss_peak_mb")], body)


def _t95(each: Sequence[RampResult]) -> str:
    never = sum(result.t95_s is None for result in each)
    text = format_spread(spread(result.t95_s for result in each))
    if never == len(each):
        return "never"
    return text if not never else f"{text}, never in {never} of {len(each)}"


def _figure(level: LoadKey, name: str, form: Form, what: str, data: list[Datum]) -> Figure:
    return Figure(
        slug(form.name, *level, name),
        f"{what}, {level[0]}",
        name,
        f"{what} over the seconds since the load began, {name}, {level[0]}, {level[1]} connections. "
        "The times are in the table.",
        Drawing(form, data),
    )


def _shares(kinds: Kinds, found: Found, of_server: str) -> list[Datum]:
    """At the end of windows: the connections answered within the last delay, in percent."""
    made: list[Datum] = []
    for entry, rounds in found.items():
        for record, result in rounds if server_of(entry) == of_server else ():
            size = max(1, round(result.delay_s / result.window_s))
            for end in thinned(range(1, len(result.windows) + 1)):
                answered = sum(result.windows[max(0, end - size) : end])
                made.append(
                    {
                        "entry": entry,
                        "kind": kinds[entry],
                        "round": record.round,
                        "s": short(end * result.window_s),
                        "share": short(100 * answered / result.connections),
                    }
                )
    return made


def _threads(kinds: Kinds, found: Found, of_server: str) -> list[Datum]:
    return [
        {"entry": entry, "kind": kinds[entry], "round": record.round, "s": short(at), "threads": count}
        for entry, rounds in found.items()
        if server_of(entry) == of_server
        for record, result in rounds
        for at, count in thinned(list(zip(result.threads_t, result.threads, strict=True)))
    ]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _served() -> Chart:
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


def _counted() -> Chart:
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


def _seconds() -> alt.X:
    return alt.X("s:Q", title="s", axis=alt.Axis(tickCount=6, grid=False))


RAMP = Form("ramp", _served, 170)
THREADS = Form("threads", _counted, 110)
