"""Measurement of one cell of `cold`: load from the moment the server listens, then its steady rate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from zoo.bench.readings import sampling, server_facts
from zoo.bench.responses import bad_responses, find_bad_response, has_too_many_bad
from zoo.bench.trial import TrialCell
from zoo.bench.warmup import until_steady, wait_closed
from zoo.bench.window import Window
from zoo.core.flag import Flag
from zoo.core.record import Trial
from zoo.core.samples import is_jit_compiler
from zoo.core.trial_results import ColdResult
from zoo.host import run_lock
from zoo.load.spec import LoadError
from zoo.runtime.base import HostedServer
from zoo.scenarios.cold.analysis import Reading, is_like, t95, thread_use
from zoo.scenarios.startup.spec import Start
from zoo.scenarios.startup.trial import TRAINING, record_archive
from zoo.stats.flags import machine_flags

READ_EVERY_S = 1.0
PROFILED = 4_000
"""Requests of the training run, so that its cache has profiles of the methods that a request uses.

Each leaves a socket in TIME_WAIT, and with 5,000 of them a session waits before the next cell.
"""


def measure_cell(cell: TrialCell) -> Trial:
    way = Start(cell.block.case.name)
    with run_lock.scratch_folder("archives") as archives:
        if way is not Start.DEFAULT:
            cell.show_phase("recording the cache")
        requests = [*TRAINING, *["/"] * PROFILED]
        archive = record_archive(cell.launch(), cell.runtime.jdk, way, Path(archives), requests)
        with cell.cold(*(way.using(archive) if archive else ())) as hosted:
            return _measure(cell, hosted, way)


def _measure(cell: TrialCell, hosted: HostedServer, way: Start) -> Trial:
    bench, tools, connections = cell.bench, hosted.instruments, cell.connections
    listening_s = bench.clock.seconds()
    load = bench.spec(hosted.url + hosted.home, connections.actual, cell.program.duration_s)
    load = replace(load, by_second=True)
    cell.show_phase("measuring from the start")
    with Window(hosted) as window:
        readings = [Reading(0.0, tools.thread_times(hosted.pid))]

        def look(elapsed: float) -> None:
            if elapsed >= readings[-1].at_s + READ_EVERY_S:
                readings.append(Reading(elapsed, tools.thread_times(hosted.pid)))

        delay_s = bench.clock.seconds() - listening_s
        cold = bench.send(hosted, load, on_tick=look)
        window.generator_cpu_s = cold.cpu_s
    if not cold.goodput or cold.errors.connect or has_too_many_bad(cold):
        message = f"{cold.goodput:,} good responses, {cold.errors.total:,} errors right after the start"
        raise bad_responses(message, find_bad_response(hosted, load.url))
    info = hosted.probe()
    if info is None:
        raise LoadError("bad_responses", "the server has no /info, which names the threads that run requests")
    wait_closed(bench, hosted, 0.0)
    where = cell.block.describe(cell.entry_id)
    warmup = until_steady(bench, where, hosted, load.url, connections.actual, native=cell.entry.native)
    cell.show_phase("measuring the steady rate")
    steady = bench.load(hosted, replace(load, duration_s=bench.profile.window_s))
    steady_rps = steady.goodput / steady.runtime_s
    result = ColdResult(
        way=way,
        connections=connections.actual,
        duration_s=cell.program.duration_s,
        delay_s=round(delay_s, 3),
        seconds=list(cold.seconds),
        steady_rps=steady_rps,
        t95_s=t95(cold.seconds, steady_rps),
        compiler=None if cell.entry.native else thread_use(readings, is_jit_compiler),
        request=thread_use(readings, is_like(info.thread, virtual=info.virtual)),
        cpu_s=cold.cpu_s,
        version=cold.version,
    )
    raised = {
        Flag.CLAMPED: connections.limited_by is not None,
        Flag.WARMUP_SHORT: warmup.reached is False,
        **machine_flags(window.noise),
    }
    return Trial(
        result=result,
        connections=connections,
        warmup=warmup,
        noise=window.noise,
        sampling=sampling(hosted, window.samples, bench.store, cell.name),
        server=server_facts(info, hosted.ready_s),
        flags=[flag for flag in Flag if raised.get(flag)],
    )
