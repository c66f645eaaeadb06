"""wrk, used correctly: its histogram read as JSON, its correction undone and checked, sharded over processes.

What is known about wrk here comes from its sources (src/wrk.c, src/stats.c; versions 4.1 and 4.2).
"""

from __future__ import annotations

import json
import math
import re
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from zoo.histogram import Histogram, HistogramError, merge, uncorrect
from zoo.load.base import Errors, LoadError, LoadOutcome, LoadSpec
from zoo.load.children import BusyThreads, Children, tail

SCRIPT = Path(__file__).resolve().parents[3] / "wrk-scripts" / "report.lua"
RESERVED_FILES = 16  # descriptors of a wrk process that are no connections: streams, one epoll a thread, libraries
MOST_FILES = 1_048_576  # the kernel's own ceiling (fs.nr_open), where the hard limit names none
OVERRUN_S = 60.0  # wrk stops within 0.1 s, but not before its threads have opened all their connections
MISSING = "is not there. Install it: `apt-get install wrk` (Debian, Ubuntu), or build https://github.com/wg/wrk"


@dataclass(frozen=True)
class Shard:
    connections: int
    threads: int  # divides the connections: wrk opens only threads * (connections // threads)


@dataclass(frozen=True)
class Report:
    """What one wrk process wrote."""

    requests: int
    bytes: int
    runtime_us: int
    errors: Errors
    raw: Histogram
    corrected: Histogram


class Wrk:
    name = "wrk"

    def __init__(self, binary: str = "wrk", script: Path = SCRIPT, overrun_s: float = OVERRUN_S) -> None:
        self._binary = binary
        self._script = script
        self._overrun_s = overrun_s
        self._version: str | None = None
        self._children: Children | None = None

    def version(self) -> str:
        if self._version is None:
            # -v alone also prints the usage and ends with code 1
            printed = subprocess.run([self._path(), "-v"], capture_output=True, text=True, check=False, timeout=10)
            found = re.search(r"wrk \D*(\d+\.\d+(?:\.\d+)?)", printed.stdout)
            if not found:
                raise LoadError("generator_failed", f"`{self._binary} -v` names no version", printed.stdout[:500])
            self._version = found[1]
        return self._version

    def pids(self) -> list[int]:
        return self._children.pids() if self._children else []

    def run(self, spec: LoadSpec, on_tick: Callable[[float], None] | None = None) -> LoadOutcome:
        version = self.version()
        nofile = _nofile(spec)
        shards = split(spec.connections, spec.threads, nofile - RESERVED_FILES)
        commands = [self._command(spec, shard) for shard in shards]
        busy = BusyThreads()
        duration_s = math.ceil(spec.duration_s)
        try:
            with tempfile.TemporaryDirectory(prefix="zoo-wrk-") as name, Children(nofile, busy) as children:
                self._children = children
                folder = Path(name)
                for i, command in enumerate(commands):
                    environment = {
                        "ZOO_WRK_JSON": str(folder / f"{i}.json"),
                        "ZOO_WRK_ADDRESSES": ",".join(_turned(spec.addresses, sum(s.threads for s in shards[:i]))),
                    }
                    children.start(command, environment, folder / f"{i}.out")
                children.follow(duration_s, duration_s + self._overrun_s, on_tick)
                reports = [
                    read_report(folder / f"{i}.json", shard, _timeout_s(spec), folder / f"{i}.out")
                    for i, shard in enumerate(shards)
                ]
        finally:
            self._children = None
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
            cpu_s=children.cpu_s,
            busiest_thread=busy.busiest(),
            version=version,
            command=commands,
        )

    def _path(self) -> str:
        path = shutil.which(self._binary)
        if path is None:
            raise LoadError("generator_missing", f"{self._binary} {MISSING}")
        return path

    def _command(self, spec: LoadSpec, shard: Shard) -> list[str]:
        return [
            self._path(),
            f"-t{shard.threads}",
            f"-c{shard.connections}",
            f"-d{math.ceil(spec.duration_s)}s",
            f"--timeout={_timeout_s(spec)}s",
            f"-s{self._script}",
            spec.url,
        ]


def split(connections: int, threads: int, capacity: int) -> list[Shard]:
    """As few processes as can hold the connections, with `threads` threads between them, but one each at least. Pure.

    Threads must divide the connections of their process: what they leave over goes to the last process, which then
    has as many threads as divide its share.
    """
    if connections < 1 or threads < 1 or capacity < 1:
        asked = f"{connections} connections, {threads} threads, {capacity} connections a process"
        raise LoadError("spec_invalid", f"connections, threads and descriptors must be above zero, got {asked}")
    count = math.ceil(connections / capacity)
    each = max(1, threads // count)
    while count > 1 and count * (capacity - capacity % each) < connections:
        count += 1
        each = max(1, threads // count)
    sets, over = divmod(connections, each)
    sizes = [(sets // count + (i < sets % count)) * each for i in range(count)]
    sizes[-1] += over
    return [Shard(size, max(t for t in range(1, min(each, size) + 1) if size % t == 0)) for size in sizes]


def read_report(path: Path, shard: Shard, timeout_s: int, output: Path) -> Report:
    """What wrk wrote, refused when it contradicts itself."""
    try:
        written = json.loads(path.read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        raise LoadError("generator_failed", "wrk ended without a report from its script", tail(output)) from None
    try:
        return parse_report(written, shard.connections, timeout_s)
    except (HistogramError, KeyError, TypeError, ValueError) as error:
        raise LoadError("histogram_invalid", f"wrk's report is not usable: {error!r}", tail(output)) from error


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
    return Report(requests, written["bytes"], runtime_us, errors, raw, corrected)


def _sum_errors(reports: list[Report]) -> Errors:
    names = [field.name for field in fields(Errors)]
    return Errors(**{name: sum(getattr(r.errors, name) for r in reports) for name in names})


def _turned(addresses: tuple[str, ...], by: int) -> tuple[str, ...]:
    """So that the threads of all shards take turns, not those of each for itself."""
    start = by % max(1, len(addresses))
    return addresses[start:] + addresses[:start]


def _nofile(spec: LoadSpec) -> int:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard == resource.RLIM_INFINITY:
        hard = MOST_FILES
    return hard if spec.nofile is None else min(spec.nofile, hard)


def _timeout_s(spec: LoadSpec) -> int:
    return math.ceil(spec.timeout_s)  # wrk knows whole seconds only
