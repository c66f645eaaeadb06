"""The view of a scenario with several cases over connection counts, such as cpu. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

import altair as alt

from zoo.analysis import flags
from zoo.analysis.metrics import REQUESTS
from zoo.analysis.pairs import Kind, compare
from zoo.analysis.summary import spread
from zoo.analysis.trials import latest
from zoo.model.entry_id import server_of
from zoo.model.measurement import Measurement
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.plan.capacity import count
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, short, short_if_known, slug
from zoo.report.charts.looks import KINDS, RULE, Chart, coloured, log_axis, named_points, plain_axis, shaped
from zoo.report.columns import title_of
from zoo.report.formatting import format_number, format_ratio, format_spread
from zoo.report.section import Section, Table
from zoo.report.view import Kinds, View, notes

Read = Callable[[Measurement], float | None]


def switches(seen: Measurement) -> float | None:
    """Context switches of the server per good answer; None where too many may have been missed."""
    work = seen.work
    if work is None or not seen.load.goodput:
        return None
    counted = flags.switches(work.voluntary_switches, work.involuntary_switches, work.switches_missed)
    return None if counted is None else counted / seen.load.goodput


def migrations(seen: Measurement) -> float | None:
    """Moves of the server's threads to another CPU per good answer, where its switches are known."""
    work = seen.work
    if work is None or work.migrations is None or switches(seen) is None:
        return None
    return work.migrations / seen.load.goodput


RATE = title_of("rps")
THROUGHPUT: Mapping[str, Read] = {RATE: lambda m: m.load.goodput_rps}
READINGS: Mapping[str, Read] = {
    **THROUGHPUT,
    "context switches per request": switches,
    "migrations per request": migrations,
}


def sweep_view(name: str, heading: str, text: str, readings: Mapping[str, Read] = READINGS) -> View:
    """Return the view of a sweep: a table for each case and reading, and requests per second as charts."""

    def section(records: Sequence[Record]) -> Section:
        tables = [_table(records, asked, what, read) for asked in _asked(records) for what, read in readings.items()]
        return Section(f"Scenario {name}", [text], [table for table in tables if table.rows], notes(records))

    return View(heading, section, groups)


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """A figure a case and server; then what virtual threads have over platform threads."""
    lines, ratios = [], []
    for asked in _asked(records):
        here = [r for r in records if r.asked == asked]
        for name in sorted({server_of(r.entry) for r in here}):
            if data := _points(kinds, [r for r in here if server_of(r.entry) == name]):
                caption = f"{name} · {asked}"
                told = f"Requests a second by connections, {caption}. The figures are in the table."
                lines.append(Figure(slug("sweep", asked, name), asked, caption, told, _over(data, SWEEP)))
        for entry, data in _ratios(run, here).items():
            caption = f"{entry} ÷ platform · {asked}"
            said = "; ".join(f"{d['connections']} {d['text']}" for d in data)
            told = f"Ratio of requests a second by connections, {caption}: {said}"
            ratios.append(Figure(slug("ratios", asked, entry), asked, caption, told, _over(data, RATIOS)))
    made = [Group("Requests a second by connections", lines)] if lines else []
    if ratios:
        made.append(Group("Virtual ÷ platform threads, requests a second: above 1 virtual threads are ahead", ratios))
    return made


def _asked(records: Sequence[Record]) -> list[str]:
    """In the order of the sizes in their names: 256 before 1024, 0.5ms before 5ms."""
    return sorted({r.asked for r in records}, key=lambda asked: ("+" in asked, _size(asked.partition(" ")[2])))


def _size(case: str) -> float:
    digits = case.partition("+")[0].removesuffix("ms").removesuffix("s")
    scale = 1000.0 if case.endswith("s") and not case.endswith("ms") else 1.0
    return scale * float(digits or 0)


def _table(records: Sequence[Record], asked: str, what: str, read: Read) -> Table:
    tiers = sorted({r.tier for r in records if r.asked == asked}, key=count)
    seen: dict[str, dict[str, list[Measurement]]] = {}
    for record in latest(records):
        if record.asked == asked and record.measurement:
            seen.setdefault(record.entry, {}).setdefault(record.tier, []).append(record.measurement)
    body = []
    for entry, by_tier in sorted(seen.items()):
        found = [spread(map(read, by_tier.get(tier, ()))) for tier in tiers]
        if any(found):
            body.append([entry, *map(format_spread, found)])
    return Table(f"{asked}: {what} · closed, c =", ["entry", *tiers], body)


def _points(kinds: Kinds, records: Sequence[Record]) -> list[Datum]:
    """Return median and range over rounds of requests per second, by entry and connections."""
    values: dict[tuple[str, int], list[float]] = {}
    for record in latest(records):
        seen = record.measurement
        if seen and seen.load.goodput_rps is not None:
            values.setdefault((record.entry, seen.connections.actual), []).append(seen.load.goodput_rps)
    return [
        {
            "entry": entry,
            "kind": kinds[entry],
            "connections": connections,
            "value": short(statistics.median(rates)),
            "low": short(min(rates)),
            "high": short(max(rates)),
            "text": " · ".join(map(format_number, rates)),
        }
        for (entry, connections), rates in sorted(values.items())
    ]


def _ratios(run: Run, records: Sequence[Record]) -> dict[str, list[Datum]]:
    """Requests a second of the virtual variants over their server's platform variant."""
    made: dict[str, list[Datum]] = {}
    for pair in compare(run.plan.entries, records).of(Kind.MODEL):
        comparison = pair.comparisons.get(REQUESTS)
        if comparison is None or comparison.ratio is None:
            continue
        ratio = comparison.ratio
        made.setdefault(pair.a, []).append(
            {
                "connections": pair.requested,
                "ratio": short(ratio.value),
                "low": short_if_known(ratio.low),
                "high": short_if_known(ratio.high),
                "text": f"×{format_ratio(ratio.value)}",
                "verdict": comparison.verdict.text,
            }
        )
    return {entry: sorted(data, key=lambda d: d["connections"]) for entry, data in made.items()}


def _over(data: list[Datum], form: Form) -> Drawing:
    """Over connections, with a tick at each count."""
    return Drawing(form, data, {"ticks": sorted({d["connections"] for d in data})})


def _medians() -> Chart:
    """Requests per second of each entry by connections: medians joined by a line, bars from round to round."""
    base = named_points().encode(x=_connections(), color=coloured("kind", KINDS), detail="entry:N")
    bar = base.mark_rule(strokeWidth=3, opacity=0.35).encode(y=alt.Y("low:Q", axis=plain_axis()), y2="high:Q")
    line = base.mark_line(strokeWidth=1.5).encode(y=alt.Y("value:Q", axis=plain_axis()))
    point = base.mark_point(size=45, filled=True).encode(
        y=alt.Y("value:Q", axis=plain_axis()),
        shape=shaped(),
        tooltip=["entry:N", "connections:Q", alt.Tooltip("text:N", title="by round")],
    )
    return alt.layer(bar, line, point)


def _intervals() -> Chart:
    """Virtual over platform threads by connections, with intervals; a line at 1."""
    scale, color = alt.Scale(zero=False), KINDS["virtual-thread"][0]
    base = named_points().encode(x=_connections())
    one = named_points().mark_rule(color=RULE, strokeWidth=1.5).encode(y=alt.YDatum(1, scale=scale))
    low, ratio = (alt.Y(f"{name}:Q", scale=scale, axis=plain_axis()) for name in ("low", "ratio"))
    bar = base.mark_rule(strokeWidth=3, opacity=0.4, color=color).encode(y=low, y2="high:Q")
    line = base.mark_line(strokeWidth=1.5, color=color).encode(y=ratio)
    point = base.mark_point(size=45, filled=True, color=color).encode(
        y=ratio,
        tooltip=["connections:Q", alt.Tooltip("text:N", title="ratio"), alt.Tooltip("verdict:N", title="verdict")],
    )
    return alt.layer(one, bar, line, point)


def _connections() -> alt.X:
    """Each count is a tick."""
    return alt.X("connections:Q", scale=alt.Scale(type="log", nice=False, padding=14), axis=log_axis("connections"))


SWEEP = Form("sweep", _medians, 180)
RATIOS = Form("ratios", _intervals, 150)
