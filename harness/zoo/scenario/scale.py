"""scale: twice as many held connections each time, until memory or a limit says stop; which of them was it?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from zoo import quiet
from zoo.instruments import known
from zoo.load.base import LoadError
from zoo.records import Trial
from zoo.results import Case, Program, ScaleResult, ScaleStep
from zoo.scenario.base import HELD_WAITS, Asked, Scenario, sleeping_window, unserved

if TYPE_CHECKING:
    from zoo.life import Life
    from zoo.stage import Stage

TIERS = ("400k",)
FIRST = 10_000
DELAY_S, QUICK_S = 10, 2
CONNECT_S = 10
ADDRESSES = tuple(f"127.0.0.{n}" for n in range(1, 9))
"""Each has ephemeral ports of its own."""

SPARED = 0.8
"""Of the memory that is free so much may be taken."""


def program(asked: Asked) -> Program:
    delay_s = QUICK_S if asked.quick else DELAY_S
    case = Case(path=f"/sleep?ms={1000 * delay_s}", wait_s=delay_s, warm_path="/sleep?ms=1")
    duration_s = sleeping_window(delay_s, HELD_WAITS) + CONNECT_S
    return Program(cases=[case], tiers=list(asked.tiers or TIERS), duration_s=duration_s)


def trial(stage: Stage) -> Trial:
    """On one server, which listens on all loopback addresses where its network is the run's own."""
    addresses = ADDRESSES if stage.private else ADDRESSES[:1]
    feasible = stage.bench.limits.feasible(stage.tier.connections, len(addresses))
    steps: list[ScaleStep] = []
    everywhere = {"HOST": "0.0.0.0"}
    with stage.living(env=everywhere if stage.private else {}) as server:
        count = min(FIRST, feasible.actual)
        while True:
            stopped = _too_large(server, steps, count) or _step(stage, server, steps, count, addresses)
            if not stopped and count == feasible.actual:
                stopped = feasible.limited_by or "as many as were asked for"
            if stopped:
                break
            count = min(2 * count, feasible.actual)
    result = ScaleResult(delay_s=stage.block.case.wait_s, addresses=len(addresses), steps=steps, stopped_by=stopped)
    return Trial(result=result)


def _too_large(server: Life, steps: list[ScaleStep], count: int) -> str:
    """Why so many would take more memory than there is, from what the step before took; empty when they would not."""
    if not steps:
        return ""
    last = steps[-1]
    needed_kb = (last.rss_kb - (server.idle_kb or 0)) / last.connections * (count - last.connections)
    available_kb = server.hosted.instruments.available_kb()
    if needed_kb <= SPARED * available_kb:
        return ""
    return f"memory: {count:,} would take {needed_kb / 1024:,.0f} MB more, {available_kb / 1024:,.0f} MB are free"


def _step(stage: Stage, server: Life, steps: list[ScaleStep], count: int, addresses: tuple[str, ...]) -> str:
    """Hold so many; why that failed, or nothing."""
    stage.tell(f"holding {count:,}")
    hosted = server.hosted
    quiet.released(stage.bench, hosted, stage.block.case.wait_s)
    seen: list[int] = []
    spec = stage.bench.spec(hosted.url + stage.block.case.path, count, stage.program.duration_s, len(addresses))
    spec = replace(spec, addresses=addresses)

    def look() -> None:
        seen.append(known(hosted.instruments.snapshot(hosted.pid)).rss_kb)

    try:
        outcome = stage.bench.load(hosted, spec, look)
    except (LoadError, ProcessLookupError) as error:
        if isinstance(error, LoadError) and hosted.alive() and error.kind == "generator_missing":
            raise
        return f"{count:,} connections: {'the server ended' if not hosted.alive() else error}"
    fault = unserved(outcome, count) or ("" if seen else "its memory was not seen in time, so busy is this host")
    if fault:
        return f"{count:,} connections: {fault}"
    steps.append(ScaleStep(connections=count, rss_kb=max(seen), answers=outcome.goodput))
    return ""


SCALE = Scenario(
    name="scale",
    title="twice as many held connections each time, until something says stop",
    delay_s=float(DELAY_S),
    settle=False,
    program=program,
    trial=trial,
    trial_s=lambda program: 5 * (program.duration_s + 3),
    rounds=1,
)
