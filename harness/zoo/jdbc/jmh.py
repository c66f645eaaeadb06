"""JMH's command line for a cell, and its JSON as a measurement. Pure."""

from __future__ import annotations

import json
from typing import Any

from zoo.jdbc.records import Cell, Measurement, Profile


class JmhError(Exception):
    """Output that is not what JMH gives for one fork of one benchmark."""


def arguments(cell: Cell, used: Profile, out: str) -> list[str]:
    """One fork of a cell."""
    words = ["-f", "1", "-wi", str(used.warmups), "-w", f"{used.warmup_s}s"]
    words += ["-i", str(used.iterations), "-r", f"{used.iteration_s}s", "-rf", "json", "-rff", out]
    for name, value in _parameters(cell).items():
        words += ["-p", f"{name}={value}"]
    return [*words, f"JdbcBenchmark.{cell.form}$"]


def _parameters(cell: Cell) -> dict[str, str]:
    """As JdbcBenchmark.java names them."""
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


def measurement(text: str, cell: Cell, raw: str) -> Measurement:
    """The one result in JMH's JSON; `JmhError` when it is another cell's or lacks something."""
    try:
        results = json.loads(text)
        if len(results) != 1 or len(results[0]["primaryMetric"]["rawData"]) != 1:
            raise JmhError(f"expected one fork of one benchmark, got {len(results)} result(s)")
        return _measurement(results[0], cell, raw)
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise JmhError(f"JMH's JSON is not as expected: {type(error).__name__}: {error}") from error


def _measurement(result: dict[str, Any], cell: Cell, raw: str) -> Measurement:
    parameters = result["params"]
    asked = _parameters(cell)
    got = {name: parameters[name] for name in asked}
    if asked != got:
        raise JmhError(f"asked for {asked}, got {got}")
    metrics = result["secondaryMetrics"]

    def score(name: str) -> float:
        return float(metrics[name]["score"])

    def known(name: str) -> float | None:
        return score(name) if name in metrics else None

    memory = known("memory.peak")
    return Measurement(
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
        server=passed(result["jvmArgs"], "zoo.server"),
        jvm=f"{result['vmName']} {result['vmVersion']}",
        jvm_args=[word for word in result["jvmArgs"] if not word.startswith("-Dzoo.")],
        jmh=result["jmhVersion"],
        raw=raw,
    )


def passed(arguments: list[str], name: str) -> str:
    """Return a system property that java-jdbc passes to the JVMs that it measures."""
    start = f"-D{name}="
    return next(word.removeprefix(start) for word in arguments if word.startswith(start))
