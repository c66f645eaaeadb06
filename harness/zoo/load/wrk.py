"""The wrk generator. Its histogram is read as JSON, and its latency correction is undone and checked.

All statements about wrk come from its sources (src/wrk.c, src/stats.c; versions 4.1 and 4.2).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zoo import ROOT
from zoo.core.histogram import Histogram, HistogramError, merge
from zoo.core.measurement import ErrorCounts, GeneratorUse
from zoo.core.wrk_correction import undo_correction
from zoo.load.base import Census, LoadOutcome
from zoo.load.execute import ExecutionResult, Executor, Job, LocalExecutor, Tick
from zoo.load.spec import LoadError, LoadSpec

SCRIPT = ROOT / "wrk-scripts" / "report.lua"
REPORT = "report.json"
OVERRUN_S = 60.0  # wrk stops within 0.1 s, but not before its threads have opened all their connections
RESERVED_FILES = 16  # a wrk process's descriptors other than connections: streams, one epoll per thread, libraries
INSTALL = "is not installed. Install it: `apt-get install wrk` (Debian, Ubuntu), or build https://github.com/wg/wrk"


class Wrk:
    """A generator that loads the server from one wrk process.

    `addresses` are those of a server that has several. wrk then has at least one thread per address, and the addresses
    are assigned to the threads in rotation.
    """

    name = "wrk"

    def __init__(
        self,
        executor: Executor | None = None,
        addresses: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
        overrun_s: float = OVERRUN_S,
        binary: str = "wrk",
    ) -> None:
        self._executor = executor or LocalExecutor()
        self._addresses = addresses
        self._options = options
        self._overrun_s = overrun_s
        self._binary = binary
        self._version: str | None = None

    def version(self) -> str:
        if self._version is None:
            # `wrk -v` prints the usage in addition to the version, and exits with code 1
            self._version = parse_version(self._executor.printed([self._binary, "-v"], INSTALL))
        return self._version

    def pids(self) -> list[int]:
        return self._executor.pids()

    def run(self, spec: LoadSpec, on_tick: Tick | None = None, begin_at: float | None = None) -> LoadOutcome:
        """Run wrk and return the result of its load.

        wrk starts at `begin_at` on the monotonic clock of its host, or immediately if that is None.
        """
        version, spec = self.version(), self.with_addresses(spec)
        done = self.execute(spec, on_tick, begin_at)
        return replace(
            read_report(done.open(REPORT).read(), spec.connections, spec.timeout_whole_s, done.output),
            threads=threads_of(spec),
            cpu_s=done.cpu_s,
            busiest_thread=done.busiest_thread,
            version=version,
            began_s=done.began_s,
        )

    def execute(self, spec: LoadSpec, on_tick: Tick | None = None, begin_at: float | None = None) -> ExecutionResult:
        """Run wrk and return its raw results; raise `LoadError` if it may not open this many connections."""
        words = [self._binary, *command(spec), *self._options, spec.url]
        most = self._executor.nofile() - RESERVED_FILES
        if spec.connections > most:
            message = (
                f"wrk can open {most:,} connections here, not {spec.connections:,}, because of "
                "its limit of file descriptors: raise it (ulimit -n)"
            )
            raise LoadError("spec_invalid", message)
        duration_s = math.ceil(spec.duration_s)
        job = Job(
            commands=[words],
            window_s=duration_s,
            limit_s=duration_s + self._overrun_s,
            install=INSTALL,
            environment=environment(spec),
            files={SCRIPT.name: SCRIPT.read_text(encoding="utf-8")},
            results=[REPORT],
            begin_at=begin_at,
        )
        return self._executor.execute(job, on_tick)

    def with_addresses(self, spec: LoadSpec) -> LoadSpec:
        """Return the load with the server's addresses and at least one thread for each."""
        if not self._addresses:
            return spec
        return replace(spec, addresses=self._addresses, threads=max(spec.threads, len(self._addresses)))


def command(spec: LoadSpec) -> list[str]:
    """Return wrk's options, without the URL."""
    return [
        f"-t{threads_of(spec)}",
        f"-c{spec.connections}",
        f"-d{math.ceil(spec.duration_s)}s",
        f"--timeout={spec.timeout_whole_s}s",
        f"-s{SCRIPT.name}",
    ]


def environment(spec: LoadSpec) -> dict[str, str]:
    """Return the variables that wrk's script reads."""
    options = {"ZOO_WRK_CENSUS": spec.census, "ZOO_WRK_SECONDS": spec.by_second}
    chosen = {name: "1" for name, on in options.items() if on}
    return {"ZOO_WRK_JSON": REPORT, "ZOO_WRK_ADDRESSES": ",".join(spec.addresses), **chosen}


def threads_of(spec: LoadSpec) -> int:
    """Return the highest number of threads that divides the number of connections.

    Otherwise wrk would open only threads * (connections // threads) of them.
    """
    if spec.connections < 1 or spec.threads < 1:
        requested = f"{spec.connections} connections and {spec.threads} threads"
        raise LoadError("spec_invalid", f"connections and threads must be above zero, got {requested}")
    return max(n for n in range(1, min(spec.threads, spec.connections) + 1) if spec.connections % n == 0)


def parse_version(printed: str) -> str:
    """Return wrk's release, the commit of a build without a release, or `unknown` if wrk prints neither."""
    found = re.search(r"wrk \D*(\d+\.\d+(?:\.\d+)?)", printed) or re.search(r"wrk ([^\s\[]+) \[", printed)
    return found[1] if found else "unknown"


def merge_outcomes(found: Sequence[LoadOutcome], generators: Sequence[GeneratorUse]) -> LoadOutcome:
    """Combine the loads of several hosts into one; histograms are added bin by bin."""
    censuses = [one.census for one in found if one.census is not None]
    return LoadOutcome(
        requests=sum(one.requests for one in found),
        bytes=sum(one.bytes for one in found),
        runtime_s=max(one.runtime_s for one in found),
        errors=ErrorCounts.sum(one.errors for one in found),
        histogram=merge(one.histogram for one in found),
        corrected=merge(one.corrected for one in found),
        connections=sum(one.connections for one in found),
        threads=sum(one.threads for one in found),
        cpu_s=sum(one.cpu_s for one in found),
        busiest_thread=max(one.busiest_thread for one in found),
        version=found[0].version,
        generators=tuple(generators),
        census=Census(sum(one.bad for one in censuses), next((one.sample for one in censuses if one.bad), ""))
        if censuses
        else None,
        seconds=tuple(map(sum, zip(*(one.seconds for one in found), strict=False))),
    )


def read_report(text: str, connections: int, timeout_s: int, output: str) -> LoadOutcome:
    """Read the report of wrk's script; raise `LoadError` if it is missing or contradicts itself."""
    try:
        report = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise LoadError("generator_failed", "wrk exited without a report from its script", output) from None
    try:
        return parse_report(report, connections, timeout_s)
    except (HistogramError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise LoadError("histogram_invalid", f"cannot use wrk's report: {error!r}", output) from error


def parse_report(report: dict[str, Any], connections: int, timeout_s: int) -> LoadOutcome:
    """Return the load that a report describes. Pure.

    Raise HistogramError if one figure contradicts another, because such a run is invalid.
    """
    errors = ErrorCounts(**report["errors"])
    corrected = Histogram(np.array(report["values"], dtype=np.int64), np.array(report["counts"], dtype=np.int64))
    limit = timeout_s * 1_000_000 + 1
    if report["limit"] != limit:
        raise HistogramError(f"limit is {report['limit']}, but the timeout implies {limit}")
    if report["count"] != corrected.total:
        raise HistogramError(f"count is {report['count']}, but the bins hold {corrected.total}")
    requests, runtime_us = report["requests"], report["runtime_us"]
    each = requests // connections
    raw = undo_correction(corrected, runtime_us // each) if each else corrected  # wrk corrects only then
    if raw.total != requests - errors.timeout:
        expected = f"{requests} requests and {errors.timeout} timeouts"
        raise HistogramError(f"{raw.total} samples without wrk's correction, but {expected}")
    census = Census(**report["census"]) if "census" in report else None
    bytes_, runtime_s = report["bytes"], runtime_us / 1e6
    seconds = tuple(map(int, report.get("seconds", ())))
    return LoadOutcome(requests, bytes_, runtime_s, errors, raw, corrected, connections, census=census, seconds=seconds)
