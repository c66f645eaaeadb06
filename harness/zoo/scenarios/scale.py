"""scale: twice as many held connections in each step, until memory or another limit ends the test. Which is it?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import altair as alt

from zoo.bench.trial import TrialCell, unserved
from zoo.bench.warmup import WarmServer, wait_closed
from zoo.core import capacity
from zoo.core.record import Record, Trial
from zoo.core.run import Case, Program, Run
from zoo.core.scenario import HELD_WAITS, ProgramOptions, Scenario, sleeping_window
from zoo.core.trial_results import ScaleResult, ScaleStep
from zoo.load.spec import LoadError
from zoo.report.charts.figure import Datum, Drawing, Figure, Form, Group, round_figure, slug
from zoo.report.charts.looks import MODEL_STYLES, Chart, base_chart, colour_encoding, plain_axis, shape_encoding
from zoo.report.formatting import format_number
from zoo.report.section import NONE, Section, Table
from zoo.report.view import Kinds, View, notes
from zoo.sample.instruments import require_process
from zoo.stats.trials import each_result, list_loads, results

TIERS = ("400k",)
DELAY_S, QUICK_S = 10, 2
CONNECT_S = 10


def program(asked: ProgramOptions) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    case = Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1")
    duration_s = sleeping_window(delay_s, HELD_WAITS) + CONNECT_S
    return Program(cases=[case], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


FIRST = 10_000
ADDRESSES = tuple(f"127.0.0.{n}" for n in range(1, 9))
"""Loopback addresses. Each has its own ephemeral ports."""
SPARED = 0.8
"""Fraction of the free memory that the next step may take."""


def measure_cell(cell: TrialCell) -> Trial:
    """Measure on one server. If the run has a private network, the server listens on all loopback addresses."""
    addresses = ADDRESSES if cell.private else ADDRESSES[:1]
    most = capacity.feasible_connections(cell.bench.limits, cell.tier.connections, len(addresses))
    steps: list[ScaleStep] = []
    everywhere = {"HOST": "0.0.0.0"}
    with cell.warm_server(env=everywhere if cell.private else {}) as server:
        count = min(FIRST, most.actual)
        while True:
            stopped = _too_large(server, steps, count) or _step(cell, server, steps, count, addresses)
            if not stopped and count == most.actual:
                stopped = most.limited_by or "as many as requested"
            if stopped:
                break
            count = min(2 * count, most.actual)
    result = ScaleResult(delay_s=cell.block.case.wait_s, addresses=len(addresses), steps=steps, stopped_by=stopped)
    return Trial(result=result)


def _too_large(server: WarmServer, steps: list[ScaleStep], count: int) -> str:
    """Return why `count` connections would exceed the free memory, or an empty string if they fit.

    The estimate assumes that a connection takes as much memory as in the previous step.
    """
    if not steps:
        return ""
    last = steps[-1]
    needed_kb = (last.rss_kb - (server.idle_kb or 0)) / last.connections * (count - last.connections)
    available_kb = server.hosted.instruments.available_kb()
    if needed_kb <= SPARED * available_kb:
        return ""
    return f"memory: {count:,} would need {needed_kb / 1024:,.0f} MB more, but {available_kb / 1024:,.0f} MB are free"


def _step(cell: TrialCell, server: WarmServer, steps: list[ScaleStep], count: int, addresses: tuple[str, ...]) -> str:
    """Hold `count` connections. Return why that failed, or an empty string."""
    cell.show_phase(f"holding {count:,}")
    hosted = server.hosted
    wait_closed(cell.bench, hosted, cell.block.case.wait_s)
    seen: list[int] = []
    spec = cell.bench.spec(hosted.url + cell.block.case.path, count, cell.program.duration_s, len(addresses))
    spec = replace(spec, addresses=addresses)

    def look(_elapsed: float) -> None:
        seen.append(require_process(hosted.instruments.snapshot(hosted.pid)).rss_kb)

    try:
        outcome = cell.bench.load(hosted, spec, look, hosted.url + cell.block.case.warm_path)
    except (LoadError, ProcessLookupError) as error:
        if isinstance(error, LoadError) and hosted.is_alive() and error.kind == "generator_missing":
            raise
        return f"{count:,} connections: {'the server ended' if not hosted.is_alive() else error}"
    fault = unserved(outcome, count) or ("" if seen else "this busy host could not read its memory in time")
    if fault:
        return f"{count:,} connections: {fault}"
    steps.append(ScaleStep(connections=count, rss_kb=max(seen), answers=outcome.goodput))
    return ""


TEXT = (
    "The number of waiting requests on one server doubles, over several loopback addresses if the "
    "network belongs to the run, until not all are answered, or memory or another limit of this "
    "machine is reached. RSS is measured in the middle of the window, in one process only."
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
        for level in list_loads(records)
        for entry, found in sorted(results(records, level, ScaleResult).items())
        for record, result in found
    ]
    columns = ["entry", "stopped by", "round", "held", "RSS MB"]
    return Section("Scenario scale", [TEXT], [Table("scale · closed", columns, body, text=2)], notes(records))


def groups(run: Run, kinds: Kinds, records: Sequence[Record]) -> list[Group]:
    """Return one figure per load: memory over connections, with the name of each line at its end."""
    figures = []
    for level in list_loads(records):
        found = results(records, level, ScaleResult)
        lives = [(entry, record, result) for entry, of in found.items() for record, result in of if result.steps]
        if lives:
            caption = "RSS by waiting requests"
            alt_text = f"{caption}: " + "; ".join(f"{entry} {_format_end(result)}" for entry, _, result in lives)
            name = slug("scale", *level)
            figures.append(Figure(name, "Waiting requests", caption, alt_text, _draw_lines(kinds, lives)))
    return [Group("", figures)] if figures else []


def _format_end(result: ScaleResult) -> str:
    last = result.steps[-1]
    return f"{last.connections:,} with {format_number(last.rss_kb / 1024)} MB, then {result.stopped_by}"


def _draw_lines(kinds: Kinds, lives: Sequence[tuple[str, Record, ScaleResult]]) -> Drawing:
    """Draw one line per server process. Leave room for the names at the line ends, each at its own height."""
    ends = [result.steps[-1].rss_kb / 1024 for _, _, result in lives]
    data: list[Datum] = []
    for (entry, record, result), at in zip(lives, separate_labels(ends, 0.06 * max(ends)), strict=True):
        for step in result.steps:
            last = step is result.steps[-1]
            data.append(
                {
                    "entry": entry,
                    "kind": kinds[entry],
                    "round": record.round,
                    "connections": step.connections,
                    "mb": round_figure(step.rss_kb / 1024),
                    "name": entry if last else "",
                    "at": round_figure(at) if last else None,
                }
            )
    counts = sorted({d["connections"] for d in data})
    return Drawing(REACH, data, {"most": 1.4 * counts[-1], "ticks": [0, *counts]})


def separate_labels(values: Sequence[float], gap: float) -> list[float]:
    """Return the values in their original order, each raised until it is at least `gap` above the next lower one."""
    made = [0.0] * len(values)
    floor = -gap
    for place in sorted(range(len(values)), key=values.__getitem__):
        floor = made[place] = max(values[place], floor + gap)
    return made


def answers(records: Sequence[Record]) -> list[str]:
    return [
        f"{entry}: {each[-1].summary}."
        for level in list_loads(records)
        for entry, each in sorted(each_result(records, level, ScaleResult).items())
    ]


def _lines_chart() -> Chart:
    scale = alt.Scale(domain=cast("Any", [0, alt.ExprRef("most")]), nice=False)
    axis = alt.Axis(values=alt.ExprRef("ticks"), format=",d", title="waiting requests")
    base = base_chart().encode(
        x=alt.X("connections:Q", scale=scale, axis=axis), color=colour_encoding("kind", MODEL_STYLES)
    )
    lives = base.encode(detail=["entry:N", "round:N"], y=alt.Y("mb:Q", axis=plain_axis("MB")))
    point = lives.mark_point(size=40, filled=True).encode(
        shape=shape_encoding(), tooltip=["entry:N", "round:N", "connections:Q", alt.Tooltip("mb:Q", title="RSS MB")]
    )
    name = base.transform_filter("datum.name != ''").mark_text(align="left", dx=9, fontSize=11)
    return alt.layer(lives.mark_line(strokeWidth=1.5, opacity=0.6), point, name.encode(y=alt.Y("at:Q"), text="name:N"))


REACH = Form("reach", _lines_chart, 260)

SCALE = Scenario(
    name="scale",
    title="the number of waiting requests doubles until a limit is reached",
    delay_s=float(DELAY_S),
    program=program,
    trial=measure_cell,
    trial_s=lambda program: 5 * (program.duration_s + 3),
    view=View("Largest number of waiting requests", section, groups, answers),
    rounds=1,
)
