"""Launcher of java-jdbc. It runs one process per cell and ends every process it started."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from zoo.core.host_facts import Jdk
from zoo.core.interrupts import defer_signals
from zoo.core.jdbc import Flood, JdbcCell
from zoo.core.manifest import Build, Language
from zoo.core.record import Failure
from zoo.core.trial_results import FloodResult, JdbcResult
from zoo.host import run_lock
from zoo.host.build import PROGRAM_SOURCES, Project
from zoo.host.environment import CALLER_VALUE, FOLDER, base_environment
from zoo.host.run_lock import run_mark
from zoo.runtime.databases import RunningDatabase
from zoo.scenarios.jdbc.spec import JmhProfile

JAR = "target/java-jdbc.jar"
LIGHT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m")
"""JVM flags that keep the launcher small. It starts the measured JVMs, which do not inherit these flags."""

TAIL_LINES = 15
GRACE_S = 20
"""Seconds between SIGTERM and SIGKILL. The launcher drops its table on SIGTERM."""

LOOK_EVERY_S = 0.2
WATCH_EVERY_S = 0.02
PREPARE_S = 120
FLOOD_POOL = 10
FLOOD_HEAP = "512m"
FLOOD_MEMORY_MB = 2_048
FLOOD_S = 300


def project(folder: Path, jdk: Jdk) -> Project:
    """Return the project that builds java-jdbc."""
    build = Build(command=["mvn", "-q", "-B", "package"], makes=[JAR], sources=PROGRAM_SOURCES[folder.name])
    return Project(folder.name, folder, build, Language.JAVA, jdk)


READ = ("TOXIPROXY", "TOXIPROXY_URL")
"""Variables of the caller that select a Toxiproxy. The caller's JDBC_ variables go to java-jdbc."""


def environment(folder: str) -> dict[str, str]:
    """Return the environment of java-jdbc and the JVMs it starts, in addition to the variables that name a database."""
    return base_environment(folder)


def recorded_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment as the run stores it, without the values from the caller, which may be secrets."""
    return {**environment(FOLDER), **{n: CALLER_VALUE for n in environ if n in READ or n.startswith("JDBC_")}}


class LaunchFailure(Exception):
    """A cell that produced no result. `failure` gives the reason."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Launcher:
    """Launcher of java-jdbc with one JDK."""

    def __init__(self, folder: Path, jdk: Jdk) -> None:
        self._folder = folder
        self._jdk = jdk
        self._given = {**environment(tempfile.gettempdir()), **run_mark()}

    def run(self, arguments: Sequence[str], log: Path, timeout_s: float, serving: RunningDatabase) -> None:
        """Run java-jdbc to its end. Raise `LaunchFailure` if it fails, takes too long, or the database ends."""
        with self._run_jvm([*LIGHT, "-jar", JAR, *arguments], log, serving) as process:
            until = time.monotonic() + timeout_s
            while not _has_ended(process, LOOK_EVERY_S):
                _check_alive(serving)
                if time.monotonic() > until:
                    raise LaunchFailure(_failure("timeout", f"not finished after {timeout_s:.0f} s", log))
        if process.returncode:
            raise LaunchFailure(_failure("failed", _reason(log) or f"ended with exit code {process.returncode}", log))

    def flood(self, flood: Flood, latency: str, log: Path, serving: RunningDatabase) -> FloodResult:
        """Run a flood in a JVM that is watched from outside and killed at its limits, as a container would kill it.

        A JVM that is out of memory cannot be trusted to report.
        """
        words = [flood.executor, str(flood.tasks), str(FLOOD_POOL), str(FLOOD_S)]
        with run_lock.scratch_folder("flood") as folder:
            output = Path(folder) / "output"
            self.run(["prepare", flood.database, latency], output, PREPARE_S, serving)
            properties = [line for line in _lines(output) if line.startswith("-Dzoo.")]
            command = [f"-Xmx{FLOOD_HEAP}", *properties, "-cp", JAR, "zoo.Flood", *words]
            try:
                with self._run_jvm(command, log, serving) as process:
                    outcome, seconds, memory_kb, threads = _watch(process)
            finally:
                _check_alive(serving)
                self.run(["drop"], output, PREPARE_S, serving)
        return FloodResult(
            pool=FLOOD_POOL,
            server=read_property(properties, "zoo.server"),
            added_ms=float(read_property(properties, "zoo.roundtrip.added")),
            heap=FLOOD_HEAP,
            memory_limit_mb=FLOOD_MEMORY_MB,
            outcome=outcome,
            seconds=seconds,
            peak_rss_kb=memory_kb,
            peak_threads=threads,
            log_tail="\n".join(_lines(log)[-TAIL_LINES:]),
        )

    @contextmanager
    def _run_jvm(self, words: Sequence[str], log: Path, serving: RunningDatabase) -> Iterator[psutil.Popen]:
        """Run a JVM in java-jdbc's folder, and end it with the context."""
        with log.open("wb") as out, defer_signals():
            process = psutil.Popen(
                [str(self._jdk.java), *words],
                cwd=self._folder,
                env={**self._given, **serving.env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                _end(process)


def _check_alive(serving: RunningDatabase) -> None:
    if reason := serving.exit_reason():
        message, _, tail = reason.partition("\n")
        raise LaunchFailure(Failure(kind="failed", message=message, log_tail=tail))


def _watch(process: psutil.Popen) -> tuple[str, float, int, int]:
    """Return how a flood ended, after how many seconds, and its highest resident memory in kB and thread count."""
    start = time.monotonic()
    memory_kb = threads = 0
    outcome = None
    while not _has_ended(process, WATCH_EVERY_S):
        with suppress(psutil.Error), process.oneshot():
            memory_kb = max(memory_kb, process.memory_info().rss // 1024)
            threads = max(threads, process.num_threads())
        if outcome is None and memory_kb > FLOOD_MEMORY_MB * 1024:
            outcome = "ended at the memory limit"
            process.kill()
        elif outcome is None and time.monotonic() - start > FLOOD_S:
            outcome = "ended at the time limit"
            process.kill()
    seconds, code = time.monotonic() - start, process.returncode
    ended = "finished" if code == 0 else f"crashed with exit code {code if code > 0 else 128 - code}"
    return outcome or ended, seconds, memory_kb, threads


def _has_ended(process: psutil.Popen, within_s: float) -> bool:
    try:
        process.wait(within_s)
    except psutil.TimeoutExpired:
        return False
    return True


def _end(process: psutil.Popen) -> None:
    children = process.children(recursive=True) if process.is_running() else []
    process.terminate()
    try:
        process.wait(GRACE_S)
    except psutil.TimeoutExpired:
        process.kill()
        process.wait()
    for child in children:
        if child.is_running():
            child.kill()


def _lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8", errors="replace").splitlines()


def _reason(log: Path) -> str | None:
    """Return the launcher's own last message, without its prefix, or None."""
    messages = [line for line in _lines(log) if line.startswith("java-jdbc: ")]
    return re.sub(r"^java-jdbc: (failed: [a-z0-9-]+: )?", "", messages[-1]) if messages else None


def _failure(kind: str, message: str, log: Path) -> Failure:
    return Failure(kind=kind, message=message, log_tail="\n".join(_lines(log)[-TAIL_LINES:]))


def arguments(cell: JdbcCell, profile: JmhProfile, out: str) -> list[str]:
    """Return java-jdbc's command-line arguments for one fork of a cell."""
    words = ["-f", "1", "-wi", str(profile.warmups), "-w", f"{profile.warmup_s}s"]
    words += ["-i", str(profile.iterations), "-r", f"{profile.iteration_s}s", "-rf", "json", "-rff", out]
    for name, value in _parameters(cell).items():
        words += ["-p", f"{name}={value}"]
    return [*words, f"JdbcBenchmark.{cell.form}$"]


def _parameters(cell: JdbcCell) -> dict[str, str]:
    """Return the benchmark's parameters, with the names that JdbcBenchmark.java uses."""
    parameters = {
        "database": cell.database,
        "executor": cell.executor,
        "query": cell.query,
        "pool": str(cell.pool),
        "latency": cell.latency,
    }
    if cell.max_connections is not None:
        parameters["maxConnections"] = str(cell.max_connections)
    return parameters


def measurement(text: str, cell: JdbcCell, raw: str) -> JdbcResult:
    """Return the only result in JMH's JSON. Raise `LaunchFailure` if it belongs to another cell or is incomplete."""
    try:
        results = json.loads(text)
        if len(results) != 1 or len(results[0]["primaryMetric"]["rawData"]) != 1:
            raise _no_result(f"expected one fork of one benchmark, got {len(results)} result(s)")
        return _measurement(results[0], cell, raw)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise _no_result(f"cannot read JMH's JSON: {type(error).__name__}: {error}") from error


def _no_result(message: str) -> LaunchFailure:
    return LaunchFailure(Failure(kind="no result", message=message))


def _measurement(result: dict[str, Any], cell: JdbcCell, raw: str) -> JdbcResult:
    parameters = result["params"]
    requested = _parameters(cell)
    got = {name: parameters[name] for name in requested}
    if requested != got:
        raise _no_result(f"requested {requested}, got {got}")
    metrics = result["secondaryMetrics"]

    def score(name: str) -> float:
        return float(metrics[name]["score"])

    def known(name: str) -> float | None:
        return score(name) if name in metrics else None

    memory = known("memory.peak")
    return JdbcResult(
        ops_per_s=float(result["primaryMetric"]["score"]),
        iterations=result["primaryMetric"]["rawData"][0],
        max_connections=int(parameters["maxConnections"]),
        connections=round(score("pool.connections")),
        pinned_events=round(score("pinned.events")),
        pinned_ms=score("pinned.time"),
        threads_peak=round(score("threads.peak")),
        memory_peak_kb=None if memory is None else round(memory),
        gc_count=round(score("gc.count")),
        gc_time_ms=round(score("gc.time")),
        client_cpu_us=score("cpu.client"),
        database_cpu_us=known("cpu.database"),
        round_trip_ms=score("roundtrip.direct"),
        added_ms=score("roundtrip.added"),
        bound_ops_per_s=known("bound"),
        server=read_property(result["jvmArgs"], "zoo.server"),
        jvm=f"{result['vmName']} {result['vmVersion']}",
        jvm_args=[word for word in result["jvmArgs"] if not word.startswith("-Dzoo.")],
        jmh=result["jmhVersion"],
        raw=raw,
    )


def read_property(arguments: list[str], name: str) -> str:
    """Return a system property that java-jdbc passes to the JVMs it measures."""
    start = f"-D{name}="
    return next(word.removeprefix(start) for word in arguments if word.startswith(start))
