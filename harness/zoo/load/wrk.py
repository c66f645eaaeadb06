"""wrk, used correctly: its histogram is read as JSON, and its correction is undone and checked.

What is known about wrk here comes from its sources (src/wrk.c, src/stats.c; versions 4.1 and 4.2).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zoo import ROOT
from zoo.load.base import Census, LoadOutcome
from zoo.load.execute import Executed, Executor, Job, LocalExecutor, Tick
from zoo.load.spec import LoadError, LoadSpec
from zoo.model.histogram import Histogram, HistogramError, merge, uncorrect
from zoo.model.measurement import ErrorCounts, GeneratorUse

SCRIPT = ROOT / "wrk-scripts" / "report.lua"
REPORT = "report.json"
OVERRUN_S = 60.0  # wrk stops within 0.1 s, but not before its threads have opened all their connections
RESERVED_FILES = 16  # descriptors of a wrk process that are no connections: streams, one epoll a thread, libraries
INSTALL = "is not there. Install it: `apt-get install wrk` (Debian, Ubuntu), or build https://github.com/wg/wrk"


@dataclass(frozen=True)
class Report:
    """What one wrk process wrote."""

    requests: int
    bytes: int
    runtime_us: int
    errors: ErrorCounts
    raw: Histogram
    corrected: Histogram
    census: Census | None = None


class Wrk:
    """Loads the server from one wrk process.

    `addresses` are those of a server that has several: wrk then has at least one thread for each, and they take turns.
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
            # -v alone also prints the usage and ends with code 1
            self._version = parse_version(self._executor.printed([self._binary, "-v"], INSTALL))
        return self._version

    def pids(self) -> list[int]:
        return self._executor.pids()

    def run(self, spec: LoadSpec, on_tick: Tick | None = None, begin_at: float | None = None) -> LoadOutcome:
        """`begin_at`: by the clock where wrk runs; None: at once."""
        version, spec = self.version(), self.with_addresses(spec)
        return outcome(self.execute(spec, on_tick, begin_at), spec, version)

    def execute(self, spec: LoadSpec, on_tick: Tick | None = None, begin_at: float | None = None) -> Executed:
        """Run wrk and return what it left; `LoadError` when it may not open so many connections."""
        words = [self._binary, *command(spec), *self._options, spec.url]
        most = self._executor.nofile() - RESERVED_FILES
        if spec.connections > most:
            message = f"wrk may open {most:,} connections here, not {spec.connections:,}: raise its limit (ulimit -n)"
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
        """Return the load with a thread at least for each address."""
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
    census = {"ZOO_WRK_CENSUS": "1"} if spec.census else {}
    return {"ZOO_WRK_JSON": REPORT, "ZOO_WRK_ADDRESSES": ",".join(spec.addresses), **census}


def threads_of(spec: LoadSpec) -> int:
    """Return the most threads that divide the connections: wrk opens only threads * (connections // threads)."""
    if spec.connections < 1 or spec.threads < 1:
        asked = f"{spec.connections} connections and {spec.threads} threads"
        raise LoadError("spec_invalid", f"connections and threads must be above zero, got {asked}")
    return max(n for n in range(1, min(spec.threads, spec.connections) + 1) if spec.connections % n == 0)


def parse_version(printed: str) -> str:
    """Return wrk's release; the commit of a build without one, or `unknown` where wrk prints neither."""
    found = re.search(r"wrk \D*(\d+\.\d+(?:\.\d+)?)", printed) or re.search(r"wrk ([^\s\[]+) \[", printed)
    return found[1] if found else "unknown"


def outcome(done: Executed, spec: LoadSpec, version: str) -> LoadOutcome:
    """Return what one wrk did; `LoadError` where its report is missing or contradicts itself."""
    report = read_report(done.open(REPORT).read(), spec.connections, spec.timeout_whole_s, done.output)
    return LoadOutcome(
        requests=report.requests,
        goodput=_goodput(report.requests, report.errors),
        bytes=report.bytes,
        runtime_s=report.runtime_us / 1e6,
        errors=report.errors,
        histogram=report.raw,
        corrected=report.corrected,
        connections=spec.connections,
        threads=threads_of(spec),
        cpu_s=done.cpu_s,
        busiest_thread=done.busiest_thread,
        version=version,
        began_s=done.began_s,
        census=report.census if spec.census else None,
    )


def merged(found: Sequence[LoadOutcome], generators: Sequence[GeneratorUse]) -> LoadOutcome:
    """Return the load of several hosts as one; histograms are added bin by bin."""
    errors = ErrorCounts.added(one.errors for one in found)
    censuses = [one.census for one in found if one.census is not None]
    requests = sum(one.requests for one in found)
    return LoadOutcome(
        requests=requests,
        goodput=_goodput(requests, errors),
        bytes=sum(one.bytes for one in found),
        runtime_s=max(one.runtime_s for one in found),
        errors=errors,
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
    )


def _goodput(requests: int, errors: ErrorCounts) -> int:
    return max(0, requests - errors.status - errors.timeout)  # a late bad answer is counted in both


def read_report(text: str, connections: int, timeout_s: int, output: str) -> Report:
    """Return what wrk's script wrote; `LoadError` when it is missing or contradicts itself."""
    try:
        written = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise LoadError("generator_failed", "wrk ended without a report from its script", output) from None
    try:
        return parse_report(written, connections, timeout_s)
    except (HistogramError, KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise LoadError("histogram_invalid", f"wrk's report is not usable: {error!r}", output) from error


def parse_report(written: dict[str, Any], connections: int, timeout_s: int) -> Report:
    """Pure. HistogramError when a figure contradicts another: such a run is invalid, not data."""
    errors = ErrorCounts(**written["errors"])
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
