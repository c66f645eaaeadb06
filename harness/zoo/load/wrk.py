"""wrk, used correctly: its histogram read as JSON, its correction undone and checked, sharded over processes.

What is known about wrk here comes from its sources (src/wrk.c, src/stats.c; versions 4.1 and 4.2).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from zoo.load.base import Census, Errors, LoadOutcome
from zoo.load.shards import LocalShards, Shard, Shards
from zoo.load.spec import LoadError, LoadSpec
from zoo.model.histogram import Histogram, HistogramError, merge, uncorrect
from zoo.model.measurement import GeneratorUse

RESERVED_FILES = 16  # descriptors of a wrk process that are no connections: streams, one epoll a thread, libraries


@dataclass(frozen=True)
class Report:
    """What one wrk process wrote."""

    requests: int
    bytes: int
    runtime_us: int
    errors: Errors
    raw: Histogram
    corrected: Histogram
    census: Census | None = None


class Wrk:
    """Plans a load, has its processes run where the server can be reached, and reads what they wrote.

    `addresses`: of the server, where it has several; each place then has a thread at least for each of them.
    """

    name = "wrk"

    def __init__(self, processes: Shards | None = None, addresses: tuple[str, ...] = ()) -> None:
        self._processes = processes or LocalShards()
        self._addresses = addresses

    def version(self) -> str:
        return self._processes.version()

    def pids(self) -> list[int]:
        return self._processes.pids()

    def run(self, spec: LoadSpec, on_tick: Callable[[float], None] | None = None) -> LoadOutcome:
        version = self.version()
        if self._addresses:
            spec = replace(spec, addresses=self._addresses, threads=max(spec.threads, len(self._addresses)))
        nofile = self._processes.nofile()
        nofile = nofile if spec.nofile is None else min(spec.nofile, nofile)
        places = self._processes.places
        shards = split(spec.connections, spec.threads * places, nofile - RESERVED_FILES, places)
        ran = self._processes.run(spec, shards, nofile, on_tick)
        reports = [
            read_report(written, shard, spec.timeout_whole_s, output)
            for written, shard, output in zip(ran.reports, shards, ran.outputs, strict=True)
        ]
        errors = _sum_errors(reports)
        requests = sum(r.requests for r in reports)
        return LoadOutcome(
            requests=requests,
            goodput=max(0, requests - errors.status - errors.timeout),  # a late bad answer is counted in both
            bytes=sum(r.bytes for r in reports),
            runtime_s=max(r.runtime_us for r in reports) / 1e6,
            errors=errors,
            histogram=merge(r.raw for r in reports),
            corrected=merge(r.corrected for r in reports),
            connections=sum(s.connections for s in shards),
            threads=sum(s.threads for s in shards),
            shards=len(shards),
            cpu_s=ran.cpu_s,
            busiest_thread=ran.busiest_thread,
            version=version,
            command=ran.commands,
            generators=tuple(
                GeneratorUse(
                    host=place.host,
                    connections=sum(shards[i].connections for i in place.shards),
                    requests=sum(reports[i].requests for i in place.shards),
                    cpu_s=place.cpu_s,
                    busiest_thread=place.busiest_thread,
                    began_s=place.began_s,
                    round_trip_us=place.round_trip_us,
                    bandwidth_mb_s=place.bandwidth_mb_s,
                )
                for place in ran.places
            ),
            census=_sum_census([r.census for r in reports if r.census is not None]) if spec.census else None,
        )


def split(connections: int, threads: int, capacity: int, places: int = 1) -> list[Shard]:
    """As few processes as can hold the connections, one at least for each of so many places, with `threads` threads
    between them, but one each at least. Pure.

    Threads must divide the connections of their process: what they leave over goes to the last process, which then
    has as many threads as divide its share.
    """
    if connections < 1 or threads < 1 or capacity < 1:
        asked = f"{connections} connections, {threads} threads, {capacity} connections a process"
        raise LoadError("spec_invalid", f"connections, threads and descriptors must be above zero, got {asked}")
    count = max(math.ceil(connections / capacity), min(places, connections))
    each = max(1, threads // count)
    while count > 1 and count * (capacity - capacity % each) < connections:
        count += 1
        each = max(1, threads // count)
    sets, over = divmod(connections, each)
    sizes = [(sets // count + (i < sets % count)) * each for i in range(count)]
    sizes[-1] += over
    sizes = [size for size in sizes if size]  # fewer sets of threads than processes leave some without work
    return [Shard(size, max(t for t in range(1, min(each, size) + 1) if size % t == 0)) for size in sizes]


def read_report(text: str, shard: Shard, timeout_s: int, output: str) -> Report:
    """What wrk wrote, refused when it contradicts itself. Pure."""
    try:
        written = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise LoadError("generator_failed", "wrk ended without a report from its script", output) from None
    try:
        return parse_report(written, shard.connections, timeout_s)
    except (HistogramError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise LoadError("histogram_invalid", f"wrk's report is not usable: {error!r}", output) from error


def parse_report(written: dict[str, Any], connections: int, timeout_s: int) -> Report:
    """Pure. HistogramError when a figure contradicts another: such a run is invalid, not data."""
    errors = Errors(**written["errors"])
    corrected = Histogram(np.array(written["values"], dtype=np.int64), np.array(written["counts"], dtype=np.int64))
    limit = timeout_s * 1_000_000 + 1
    if written["limit"] != limit:
        raise HistogramError(f"limit is {written['limit']} where {limit} follows from the timeout")
    if written["count"] != corrected.total:
        raise HistogramError(f"count is {written['count']} where the bins hold {corrected.total}")
    requests, runtime_us = written["requests"], written["runtime_us"]
    each = requests // connections
    raw = uncorrect(corrected, runtime_us // each) if each else corrected  # wrk corrects only then
    if raw.total != requests - errors.timeout:
        expected = f"{requests} requests and {errors.timeout} timeouts"
        raise HistogramError(f"{raw.total} samples after the correction was undone, but {expected}")
    census = Census(**written["census"]) if "census" in written else None
    return Report(requests, written["bytes"], runtime_us, errors, raw, corrected, census)


def _sum_census(parts: list[Census]) -> Census:
    return Census(sum(part.bad for part in parts), next((part.sample for part in parts if part.bad), ""))


def _sum_errors(reports: list[Report]) -> Errors:
    names = [field.name for field in fields(Errors)]
    return Errors(**{name: sum(getattr(r.errors, name) for r in reports) for name in names})
