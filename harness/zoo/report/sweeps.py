"""What is said of scenarios with several cases over connection counts: cpu, bytes, service. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import altair as alt

from zoo.analysis import flags
from zoo.analysis.metrics import REQUESTS
from zoo.analysis.pairs import Kind, compare
from zoo.analysis.summary import Spread, spread
from zoo.model.entry_id import server_of
from zoo.model.measurement import Measurement
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.plan.tier import count
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, short, short_if_known, slug
from zoo.report.charts.looks import KINDS, RULE, Chart, coloured, log_axis, named_points, plain_axis, shaped
from zoo.report.columns import title_of
from zoo.report.formatting import format_number, format_ratio, format_spread
from zoo.report.section import NONE, Section, Table
from zoo.report.trial_rows import Kinds, latest, notes

Read = Callable[[Measurement], float | None]

TEXT = {
    "cpu": "Work of about so many milliseconds by rounds of SHA-256, the same for all entries, some after a wait "
    "(`5ms+2ms`: 5 ms of work after 2 ms). Requests a second by the number of connections; context switches of the "
    "server's threads and their moves from one CPU to another, where threads that ended took no more than 10 % along "
    "unseen.",
    "bytes": "Bodies of so many bytes, a wrk thread for each connection. Requests a second by connections.",
    "service": "Every request waits for a service with one thread, which answers each call after a delay. The blocking "
    "variants keep their thread meanwhile, the asynchronous servlet does not. Requests a second by connections.",
}


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
READINGS: dict[str, Read] = {
    RATE: lambda m: m.load.goodput_rps,
    "context switches per request": switches,
    "migrations per request": migrations,
}


def section(scenario: str, records: Sequence[Record]) -> Section:
    """Tables for each case, by connections: throughput, and but for `bytes` what the scheduler did."""
    readings = {RATE: READINGS[RATE]} if scenario == "bytes" else READINGS
    tables = [_table(records, asked, what, read) for asked in _asked(records) for what, read in readings.items()]
    return Section(f"Scenario {scenario}", [TEXT[scenario]], [t for t in tables if t.rows], notes(records))


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """A figure a case and server; then what virtual threads have over platform threads."""
    lines = []
    for asked in _asked(records):
        for name in sorted({server_of(r.entry) for r in records}):
            mine = [r for r in records if r.asked == asked and server_of(r.entry) == name]
            data = _points(kinds, mine, READINGS[RATE])
            if data:
                caption = f"{name} · {asked}"
                told = f"Requests a second by connections, {caption}. The figures are in the table."
                lines.append(Figure(slug("sweep", asked, name), asked, caption, told, _over(data, SWEEP)))
    ratios = []
    for asked in _asked(records):
        for entry, data in _ratios(run, [r for r in records if r.asked == asked]).items():
            caption = f"{entry} ÷ platform · {asked}"
            told = f"Ratio of requests a second by connections, {caption}: " + "; ".join(
                f"{d['connections']} {d['text']}" for d in data
            )
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
    body = []
    for entry in sorted({r.entry for r in records if r.asked == asked}):
        found = [_spread(records, asked, entry, tier, read) for tier in tiers]
        if any(found):
            body.append([entry, *(format_spread(of) if of else NONE for of in found)])
    return Table(f"{asked}: {what} · closed, c =", ["entry", *tiers], body)


def _spread(records: Sequence[Record], asked: str, entry: str, tier: str, read: Read) -> Spread | None:
    seen = [r.measurement for r in latest(records) if (r.asked, r.entry, r.tier) == (asked, entry, tier)]
    return spread(read(m) for m in seen if m)


def _points(kinds: Kinds, records: Sequence[Record], read: Read) -> list[Datum]:
    """Median and range over rounds, by entry and connections."""
    values: dict[tuple[str, int], list[float]] = {}
    for record in latest(records):
        value = read(record.measurement) if record.measurement else None
        if record.measurement and value is not None:
            values.setdefault((record.entry, record.measurement.connections.actual), []).append(value)
    made = []
    for (entry, connections), seen in sorted(values.items()):
        found = spread(seen)
        assert found is not None
        made.append(
            {
                "entry": entry,
                "kind": kinds[entry],
                "connections": connections,
                "value": short(found.median),
                "low": short(found.low),
                "high": short(found.high),
                "text": " · ".join(format_number(v) for v in seen),
            }
        )
    return made


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
    """A figure of each entry over the number of connections: medians joined by a line, bars from round to round."""
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


def _connections() -> alt.X:
    """Each count is a tick."""
    return alt.X("connections:Q", scale=alt.Scale(type="log", nice=False, padding=14), axis=log_axis("connections"))


SWEEP = Form("sweep", _medians, 180)
RATIOS = Form("ratios", _intervals, 150)
