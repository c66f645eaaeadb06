"""What is said of held connections: what one costs, whether it is given back, with how small a heap. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import altair as alt

from zoo.analysis.held import Cost, costs, given_back
from zoo.analysis.metrics import held_throughout
from zoo.analysis.stats.interval import Interval, of_mean
from zoo.analysis.summary import spread
from zoo.model.measurement import Measurement
from zoo.model.record import Record
from zoo.model.run import Run
from zoo.model.trial_results import HeapResult, ScaleResult
from zoo.plan.tier import count
from zoo.report.cells import Cells
from zoo.report.charts import memory
from zoo.report.charts.dots import DOTS
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, short, slug
from zoo.report.charts.looks import KINDS, Chart, coloured, named_points, plain_axis, shaped
from zoo.report.columns import title_of
from zoo.report.formatting import format_interval, format_number, format_spread
from zoo.report.section import NONE, Section, Table
from zoo.report.trial_rows import Kinds, dots, latest, levels, notes, peak_mb, results, said

TEXT = (
    "kB per waiting request: the slope of a line through the server at rest and all connection counts, in each round; "
    "mean of the rounds with its 95 % interval (Student). Only rounds in which every count was held. Heap is what was "
    "in use, garbage included; the kernel's socket memory is no part of RSS. Given back: of what the connections added "
    "to RSS, the share that is free again after the rest."
)
QUANTITIES = {"rss": "RSS", "anon": "anonymous", "heap": "heap in use", "socket": "kernel sockets"}


def section(records: Sequence[Record]) -> Section:
    """An entry a row."""
    found = costs(records)
    by_entry: dict[str, list[Record]] = {}
    for record in latest(records):
        by_entry.setdefault(record.entry, []).append(record)
    body = []
    for entry, mine in sorted(by_entry.items()):
        seen = [r.measurement for r in mine if r.measurement]
        body.append(
            [
                entry,
                _all_held(mine),
                *(_cost(found.get((entry, name))) for name in QUANTITIES),
                format_spread(spread(m.memory.rss_idle_kb / 1024 for m in seen if m.memory)),
                format_spread(spread(peak_mb(r) for r in mine if count(r.tier) == _top(mine))),
                format_spread(spread(100 * share for share in shares(mine))),
                format_spread(spread(_slowest(m) for m in seen if m.connections.requested == _top(mine))),
            ]
        )
    columns = ["entry", "all held", *(f"{name} kB" for name in QUANTITIES.values())]
    columns += ["RSS at rest MB", title_of("rss_peak_mb"), "given back %", "slowest s"]
    title = f"held · closed, c = {', '.join(sorted({r.tier for r in records}, key=count))}"
    return Section("Scenario held", [TEXT], [Table(title, columns, body, text=2)], notes(records))


def _slowest(seen: Measurement) -> float | None:
    return None if seen.load.latency.max_us is None else seen.load.latency.max_us / 1e6


def shares(records: Sequence[Record]) -> list[float]:
    """Of an entry: what was given back, for each round that saw it."""
    made = []
    for record in records:
        seen = record.measurement
        if seen and seen.memory and seen.held and seen.held.released:
            share = given_back(seen.memory.rss_idle_kb, seen.held.rss_kb, seen.held.released.rss_kb)
            made += [] if share is None else [share]
    return made


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """What a connection costs, by entry and then over the connection counts; what is given back."""
    found = costs(records)
    figures = []
    for name, title in QUANTITIES.items():
        intervals = {entry: cost.interval for (entry, quantity), cost in found.items() if quantity == name}
        data = dots(
            kinds,
            {entry: [i.value] for entry, i in intervals.items()},
            lambda values: Interval(values[0], None, None, 1),
        )
        for row in data:
            row |= {"low": intervals[row["entry"]].low, "high": intervals[row["entry"]].high}
        if data:
            caption = f"{title}, kB per waiting request"
            figures.append(
                Figure(
                    f"held-{name}",
                    "Memory of held connections",
                    caption,
                    f"{caption}: {said(data)}",
                    Drawing(DOTS, data),
                )
            )
    back = {entry: shares([r for r in records if r.entry == entry]) for entry in {r.entry for r in records}}
    data = dots(kinds, {entry: [100 * s for s in of] for entry, of in back.items() if of}, of_mean)
    if data:
        caption = "Given back after the rest, % of what was added"
        figures.append(
            Figure("held-back", "Memory of held connections", caption, f"{caption}: {said(data)}", Drawing(DOTS, data))
        )
    made = [Group("Memory per waiting request", figures)] if figures else []
    return made + memory.slopes(Cells.of(run, records, None))


HEAP_TEXT = (
    "The smallest -Xmx with which every connection is held and served, by bisection; it had to do so two more times. "
    "Below it the server ends, hangs or answers with errors."
)


def heap_section(records: Sequence[Record]) -> Section:
    """A table a load."""
    tables = []
    for level in levels(records):
        body = []
        for entry, found in sorted(results(records, level, HeapResult).items()):
            each = [result for _, result in found]
            unsteady = sum(not r.steady for r in each)
            body.append(
                [
                    entry,
                    _smallest(each),
                    f"{sum(len(r.trials) for r in each)}",
                    f"{unsteady} of {len(each)}",
                ]
            )
        columns = ["entry", "smallest -Xmx MB", "trials", "searches that were unsteady"]
        tables.append(Table(f"{level[0]} · closed, c = {level[1]}", columns, body))
    return Section("Scenario heap", [HEAP_TEXT], tables, notes(records))


def _smallest(each: Sequence[HeapResult]) -> str:
    """`616`; a search that found none tells how far it went: `over 1,024`."""
    words = [format_spread(found)] if (found := spread(r.smallest_mb for r in each)) else []
    if without := [r for r in each if r.smallest_mb is None]:
        tried = max(trial.mb for r in without for trial in r.trials)
        words.append(f"over {tried:,}" + (f" in {len(without)} of {len(each)}" if words else ""))
    return ", ".join(words)


def heap_groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """A figure a load."""
    figures = []
    for level in levels(records):
        found = results(records, level, HeapResult)
        values = {entry: [float(r.smallest_mb) for _, r in of if r.smallest_mb] for entry, of in found.items()}
        data = dots(kinds, values, of_mean, {entry: "none does" for entry, of in values.items() if not of})
        if data:
            caption = f"Smallest -Xmx, MB, {level[1]} connections"
            name = slug("heap", *level)
            figures.append(Figure(name, "The smallest heap", caption, f"{caption}: {said(data)}", Drawing(DOTS, data)))
    return [Group("", figures)] if figures else []


SCALE_TEXT = (
    "Twice as many held connections each time on one server, over several loopback addresses where the run's network "
    "is its own, until they are no longer all served, or memory or a limit of this machine says stop. RSS is that of "
    "mid-window; it is of one life only."
)


def scale_section(records: Sequence[Record]) -> Section:
    """An entry and round a row."""
    body = []
    for level in levels(records):
        for entry, found in sorted(results(records, level, ScaleResult).items()):
            for record, result in found:
                last = result.steps[-1].rss_kb / 1024 if result.steps else None
                reached = f"{result.reached:,}"
                body.append(
                    [
                        entry,
                        result.stopped_by,
                        str(record.round),
                        reached,
                        NONE if last is None else format_number(last),
                    ]
                )
    columns = ["entry", "what said stop", "round", "held", "RSS MB"]
    return Section("Scenario scale", [SCALE_TEXT], [Table("scale · closed", columns, body, text=2)], notes(records))


def scale_groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Memory over connections, a figure a load; each line is named where it ends."""
    figures = []
    for level in levels(records):
        found = results(records, level, ScaleResult)
        lives = [(entry, record, result) for entry, of in found.items() for record, result in of if result.steps]
        if lives:
            caption = "RSS over held connections"
            told = f"{caption}: " + "; ".join(f"{entry} {_end(result)}" for entry, _, result in lives)
            name = slug("scale", *level)
            figures.append(Figure(name, "Held connections", caption, told, _reaches(kinds, lives)))
    return [Group("", figures)] if figures else []


def _end(result: ScaleResult) -> str:
    last = result.steps[-1]
    return f"{last.connections:,} with {format_number(last.rss_kb / 1024)} MB, then {result.stopped_by}"


def _reaches(kinds: Kinds, lives: Sequence[tuple[str, Record, ScaleResult]]) -> Drawing:
    """A line a life; room for the names beside the ends of the lines, no two of them at one height."""
    ends = [result.steps[-1].rss_kb / 1024 for _, _, result in lives]
    data: list[Datum] = []
    for (entry, record, result), at in zip(lives, apart(ends, 0.06 * max(ends)), strict=True):
        for step in result.steps:
            last = step is result.steps[-1]
            data.append(
                {
                    "entry": entry,
                    "kind": kinds[entry],
                    "round": record.round,
                    "connections": step.connections,
                    "mb": short(step.rss_kb / 1024),
                    "name": entry if last else "",
                    "at": short(at) if last else None,
                }
            )
    counts = sorted({d["connections"] for d in data})
    return Drawing(REACH, data, {"most": 1.4 * counts[-1], "ticks": [0, *counts]})


def apart(values: Sequence[float], gap: float) -> list[float]:
    """The same in their order, each raised until it is `gap` above the next lower one."""
    made = [0.0] * len(values)
    floor = -gap
    for place in sorted(range(len(values)), key=values.__getitem__):
        floor = made[place] = max(values[place], floor + gap)
    return made


def _cost(cost: Cost | None) -> str:
    """`18.2 [17.9, 18.5]`, with the fit where the points are far from a line."""
    if cost is None:
        return NONE
    text = format_interval(cost.interval)
    return text if cost.fit >= 0.9 else f"{text}, R² {cost.fit:.2f}"


def _all_held(records: Sequence[Record]) -> str:
    """In how many rounds every count was held; where in none, up to which it was in each."""
    rounds = {r.round for r in records}
    held = sum(held_throughout(r for r in records if r.round == number) for number in rounds)
    if held == len(rounds):
        return "yes"
    if held:
        return f"in {held} of {len(rounds)} rounds"
    most = _most_held(records)
    return f"to {most}" if most else "no"


def _most_held(records: Sequence[Record]) -> str | None:
    """The highest count up to which every one was held in every round."""
    most = None
    for tier in sorted({r.tier for r in records}, key=count):
        if not held_throughout(r for r in records if r.tier == tier):
            return most
        most = tier
    return most


def _top(records: Sequence[Record]) -> int:
    return max(count(r.tier) for r in records)


def _lives() -> Chart:
    """Memory over held connections, a line a life, named where it ends."""
    scale = alt.Scale(domain=cast("Any", [0, alt.ExprRef("most")]), nice=False)
    axis = alt.Axis(values=alt.ExprRef("ticks"), format=",d", title="held connections")
    base = named_points().encode(x=alt.X("connections:Q", scale=scale, axis=axis), color=coloured("kind", KINDS))
    lives = base.encode(detail=["entry:N", "round:N"], y=alt.Y("mb:Q", axis=plain_axis("MB")))
    point = lives.mark_point(size=40, filled=True).encode(
        shape=shaped(), tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="RSS MB")]
    )
    name = base.transform_filter("datum.name != ''").mark_text(align="left", dx=9, fontSize=11)
    return alt.layer(lives.mark_line(strokeWidth=1.5, opacity=0.6), point, name.encode(y=alt.Y("at:Q"), text="name:N"))


REACH = Form("reach", _lives, 260)
