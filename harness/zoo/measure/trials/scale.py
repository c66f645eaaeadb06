"""scale: twice as many held connections each time, until memory or a limit says stop."""

from __future__ import annotations

from dataclasses import replace

from zoo.load.spec import LoadError
from zoo.measure.trials.base import TrialCell, unserved
from zoo.measure.warm_server import WarmServer, wait_closed
from zoo.model.record import Trial
from zoo.model.trial_results import ScaleResult, ScaleStep
from zoo.plan import feasible
from zoo.sample.instruments import known

FIRST = 10_000


ADDRESSES = tuple(f"127.0.0.{n}" for n in range(1, 9))
"""Each has ephemeral ports of its own."""


SPARED = 0.8
"""Of the memory that is free so much may be taken."""


def trial(cell: TrialCell) -> Trial:
    """On one server, which listens on all loopback addresses where its network is the run's own."""
    addresses = ADDRESSES if cell.private else ADDRESSES[:1]
    most = feasible.connections(cell.bench.limits, cell.tier.connections, len(addresses))
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
