"""The quantities that a claim may be about, by name, and where a record has them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.analysis import flags
from zoo.analysis.metrics import CPU, LEAST_ANSWERS, LEAST_CPU_S, PEAK_RSS, PER_CONNECTION, REQUESTS, Class, Metric
from zoo.jdbc.analysis import OPS

JsonRecord = Mapping[str, Any]
"""A record as JSON: a figure is named by its place, as in `zoo export`."""

SERVERS_OWN = frozenset({"connect_errors", "not_connected", "hung", "crashed"})
"""Failures of a cell in which the server did not do what it was asked."""

WAITING = frozenset({"starved", "pool_ceiling"})
SPOILT = frozenset({"not_established", "bad_answers"})


@dataclass(frozen=True)
class Quantity:
    """A quantity: `read` returns the figure of a round, or several where each start of a program is one.

    `kind` decides what spoils a figure; None for what anything spoils. `metric` is the one of the reports, if any: its
    ratios vary as theirs. `censored` returns the least that the figure can be, where it was not reached.
    `per_connection` is fair also at a tier that was cut; `over_tiers` takes all tiers of a cell together.
    `counts_faults`: a failed cell is a figure.
    """

    unit: str
    read: Callable[[JsonRecord], float | list[float] | None]
    kind: Class | None = None
    metric: Metric | None = None
    censored: Callable[[JsonRecord], float | list[float] | None] | None = None
    per_connection: bool = False
    over_tiers: bool = False
    counts_faults: bool = False


def at(data: JsonRecord, place: str) -> Any:  # noqa: ANN401 (JSON)
    """Return the value at a place such as `measurement.load.goodput_rps`; None where there is nothing."""
    found: Any = data
    for name in place.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def place(*places: str, scale: float = 1.0) -> Callable[[JsonRecord], float | list[float] | None]:
    """Read the first of these places that is there; records of different kinds have a quantity in different ones."""

    def read(data: JsonRecord) -> float | list[float] | None:
        for name in places:
            found = at(data, name)
            if isinstance(found, list):
                return [value * scale for value in found]
            if found is not None:
                return float(found) * scale
        return None

    return read


def _cpu_per_million(data: JsonRecord) -> float | None:
    """Read what `metrics.cpu_per_million` reads from a measurement."""
    spent, answered = at(data, "measurement.work.cpu_s") or 0.0, at(data, "measurement.load.goodput") or 0
    known = spent >= LEAST_CPU_S and answered >= LEAST_ANSWERS
    found: float | None = at(data, "measurement.work.cpu_s_per_million") if known else None
    return found


def _switches_per_request(data: JsonRecord) -> float | None:
    names = ("voluntary_switches", "involuntary_switches", "switches_missed")
    return _per_request(data, flags.switches(*(at(data, f"measurement.work.{name}") for name in names)))


def _lock_waits_per_request(data: JsonRecord) -> float | None:
    return _per_request(data, at(data, "measurement.work.lock_waits"))


def _per_request(data: JsonRecord, counted: int | None) -> float | None:
    answered = at(data, "measurement.load.goodput")
    return None if counted is None or not answered else counted / answered


def _growth_per_connection(data: JsonRecord) -> float | None:
    """Return how far memory rose above the idle server, divided by the connections.

    This is not what a connection costs: it contains what the load made the server take once, such as its threads and a
    larger heap. Two claims are about that. R10 extrapolates the total at 1,000 connections to 25,000. L6 compares
    threads of a pool that starts them all under the first load, which a slope over connection counts leaves out.
    """
    peak, idle = (at(data, f"measurement.memory.{name}_kb") for name in ("peak", "rss_idle"))
    connections = at(data, "measurement.connections.actual")
    return (peak - idle) / connections if peak and idle and connections else None


def _failing(data: JsonRecord) -> float | None:
    """Return 1 where some requests were not served as they should be, 0 where all were, None where neither is known."""
    kind = at(data, "failure.kind")
    if kind is not None:
        return 1.0 if kind in SERVERS_OWN else None
    outcome = at(data, "result.outcome")
    if outcome is not None:
        return float(outcome != "finished")
    seen = at(data, "measurement.flags")
    if seen is None or "not_at_once" in seen:
        return None
    bad = SPOILT | WAITING if at(data, "measurement.load.delay_s") else SPOILT
    return float(bool(bad.intersection(seen)))


KB = 1 / 1024


def memory(*names: str, more: tuple[str, ...] = ()) -> Callable[[JsonRecord], float | list[float] | None]:
    """Read the first of these figures that a window or a trial has, in MB; `more` are places of other records."""
    return place(*(f"{part}.memory.{name}_kb" for name in names for part in ("measurement", "trial")), *more, scale=KB)


QUANTITIES: dict[str, Quantity] = {
    "requests": Quantity("req/s", place("measurement.load.goodput_rps"), Class.LOAD, REQUESTS),
    "operations": Quantity("ops/s", place("measurement.ops_per_s"), metric=OPS),
    "requests by ab": Quantity("req/s", place("trial.result.requests_per_s"), Class.LOAD),
    "good answers": Quantity("/s", place("trial.result.ok_per_s")),
    "share of good answers": Quantity("", place("trial.result.ok_share")),
    "failed requests": Quantity("", place("trial.result.failed")),
    "failing": Quantity("", _failing, counts_faults=True),
    "CPU per request": Quantity("µs", _cpu_per_million, Class.CPU, CPU),
    "switches per request": Quantity("", _switches_per_request, Class.CPU),
    "lock waits per request": Quantity("", _lock_waits_per_request, Class.CPU),
    "p50": Quantity(
        "s", place("measurement.load.latency.p50_us", "trial.result.latency.p50_us", scale=1e-6), Class.LATENCY
    ),
    "slowest answer": Quantity("s", place("measurement.load.latency.max_us", scale=1e-6), Class.LATENCY),
    "peak RSS": Quantity(
        "MB",
        memory("peak", more=("measurement.memory_peak_kb", "result.peak_rss_kb")),
        Class.MEMORY,
        PEAK_RSS,
    ),
    "heap": Quantity("MB", memory("heap_by_jcmd", "heap_used"), Class.MEMORY),
    "direct buffers": Quantity("MB", memory("direct_used"), Class.MEMORY),
    "thread memory": Quantity("MB", memory("thread_reserved"), Class.MEMORY),
    "thread memory in use": Quantity("MB", memory("thread_committed"), Class.MEMORY),
    "RSS at rest": Quantity("MB", place("rss_kb", "trial.result.rss_kb", scale=KB), Class.MEMORY),
    "heap a parked thread": Quantity("kB", place("parked_kb"), Class.MEMORY),
    "start and end": Quantity("ms", place("start_and_end_s", scale=1000)),
    "first answer": Quantity("s", place("trial.result.first_answer_s")),
    "RSS per connection": Quantity(
        "kB", place("per_connection.rss"), Class.MEMORY, PER_CONNECTION, per_connection=True, over_tiers=True
    ),
    "growth from idle per connection": Quantity("kB", _growth_per_connection, Class.MEMORY, per_connection=True),
    "t95": Quantity("s", place("trial.result.t95_s"), censored=place("trial.result.duration_s")),
    "late answers": Quantity("of C/D", place("trial.result.late")),
    "virtual handler": Quantity("", place("measurement.server.virtual")),
    "pinned waits": Quantity("", place("measurement.pinned_events")),
    "connections of the pool": Quantity("", place("measurement.connections")),
}
