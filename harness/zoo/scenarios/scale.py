"""scale: twice as many held connections each time, until memory or a limit stops it; which of them is it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import altair as alt

from zoo.analysis.trials import each_result, levels, results
from zoo.load.spec import LoadError
from zoo.measure.trials.base import TrialCell, unserved
from zoo.measure.warm_server import WarmServer, wait_closed
from zoo.model.record import Record, Trial
from zoo.model.run import Case, Program, Run
from zoo.model.trial_results import ScaleResult, ScaleStep
from zoo.plan import capacity
from zoo.plan.scenario import HELD_WAITS, Asked, Scenario, sleeping_window
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, short, slug
from zoo.report.charts.looks import KINDS, Chart, coloured, named_points, plain_axis, shaped
from zoo.report.formatting import format_number
from zoo.report.section import NONE, Section, Table
from zoo.report.view import Kinds, View, notes
from zoo.sample.instruments import known

TIERS = ("400k",)
DELAY_S, QUICK_S = 10, 2
CONNECT_S = 10


def program(asked: Asked) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    case = Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1")
    duration_s = sleeping_window(delay_s, HELD_WAITS) + CONNECT_S
    return Program(cases=[case], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


FIRST = 10_000
ADDRESSES = tuple(f"127.0.0.{n}" for n in range(1, 9))
"""Each has ephemeral ports of its own."""
SPARED = 0.8
"""Of the memory that is free so much may be taken."""


def measure_cell(cell: TrialCell) -> Trial:
    """On one server, which listens on all loopback addresses where its network is the run's own."""
    addresses = ADDRESSES if cell.private else ADDRESSES[:1]
    most = capacity.connections(cell.bench.limits, cell.tier.connections, len(addresses))
    steps: list[ScaleStep] = []
    everywhere = {"HOST": "0.0.0.0"}
    with cell.living(env=everywhere if cell.private else {}) as server:
        count = min(FIRST, most.actual)
        while True:
            stopped = _too_large(server, steps, count) or _step(cell, server, steps, count, addresses)
            if not stopped and count == most.actual:
                stopped = most.limited_by or "as many as were asked for"
            if stopped:
                break
            count = min(2 * count, most.actual)
    result = ScaleResult(delay_s=cell.block.case.wait_s, addresses=len(addresses), steps=steps, stopped_by=stopped)
    return Trial(result=result)


def _too_large(server: WarmServer, steps: list[ScaleStep], count: int) -> str:
    """Why so many would take more memory than there is, from what the step before took; empty when they would not."""
    if not steps:
        return ""
    last = steps[-1]
    needed_kb = (last.rss_kb - (server.idle_kb or 0)) / last.connections * (count - last.connections)
    available_kb = server.hosted.instruments.available_kb()
    if needed_kb <= SPARED * available_kb:
        return ""
    return f"memory: {count:,} would take {needed_kb / 1024:,.0f} MB more, {available_kb / 1024:,.0f} MB are free"


def _step(cell: TrialCell, server: WarmServer, steps: list[ScaleStep], count: int, addresses: tuple[str, ...]) -> str:
    """Hold so many; why that failed, or nothing."""
    cell.tell(f"holding {count:,}")
    hosted = server.hosted
    wait_closed(cell.bench, hosted, cell.block.case.wait_s)
    seen: list[int] = []
    spec = cell.bench.spec(hosted.url + cell.block.case.path, count, cell.program.duration_s, len(addresses))
    spec = replace(spec, addresses=addresses)

    def look(_elapsed: float) -> None:
        seen.append(known(hosted.instruments.snapshot(hosted.pid)).rss_kb)

    try:
        outcome = cell.bench.load(hosted, spec, look, hosted.url + cell.block.case.warm_path)
    except (LoadError, ProcessLookupError) as error:
        if isinstance(error, LoadError) and hosted.alive() and error.kind == "generator_missing":
            raise
        return f"{count:,} connections: {'the server ended' if not hosted.alive() else error}"
    fault = unserved(outcome, count) or ("" if seen else "its memory was not seen in time, so busy is this host")
    if fault:
        return f"{count:,} connections: {fault}"
    steps.append(ScaleStep(connections=count, rss_kb=max(seen), answers=outcome.goodput))
    return ""


TEXT = (
    "Twice as many held connections each time on one server, over several loopback addresses where the run's network "
    "is its own, until they are no longer all served, or memory or a limit of this machine says stop. RSS is that of "
    "mid-window; it is of one life only."
)


def section(records: Sequence[Record]) -> Section:
    body = [
        [
            entry,
            result.stopped_by,
            str(record.round),
            f"{result.reached:,}",
            format_number(result.steps[-1].rss_kb / 1024) if result.steps else NONE,
        ]
        for level in levels(records)
        for entry, found in sorted(results(records, level, ScaleResult).items())
        for record, result in found
    ]
    columns = ["entry", "what said stop", "round", "held", "RSS MB"]
    return Section("Scenario scale", [TEXT], [Table("scale · closed", columns, body, text=2)], notes(records))


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
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


def answers(records: Sequence[Record]) -> list[str]:
    return [
        f"{entry}: {each[-1].told}."
        for level in levels(records)
        for entry, each in sorted(each_result(records, level, ScaleResult).items())
    ]


def _lives() -> Chart:
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

SCALE = Scenario(
    name="scale",
    title="twice as many held connections each time, until something says stop",
    delay_s=float(DELAY_S),
    program=program,
    trial=measure_cell,
    trial_s=lambda program: 5 * (program.duration_s + 3),
    view=View("As many held connections as there can be", section, groups, answers),
    rounds=1,
)
