"""The quantities that a claim may be about, by name, and their places in a record. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.stats import flags
from zoo.stats.databases import OPS
from zoo.stats.metrics import CPU, LEAST_ANSWERS, LEAST_CPU_S, PEAK_RSS, PER_CONNECTION, REQUESTS, Metric, MetricKind

JsonRecord = Mapping[str, Any]
"""A record as JSON. The place of a figure is its name, as in `zoo export`."""

SERVERS_OWN = frozenset({"connect_errors", "not_connected", "hung", "crashed"})
"""Kinds of failure in which the server did not do what was requested."""

WAITING = frozenset({"starved", "pool_ceiling"})
SPOILT = frozenset({"not_established", "bad_answers"})


@dataclass(frozen=True)
class Quantity:
    """A quantity. `read` returns the figure of a round, or several if each start of a program has its own.

    `kind` decides what spoils a figure; None means that anything does. `metric` is the metric in the reports, if there
    is one: its ratios vary in the same way. `censored` returns the least possible figure if the figure was not reached.
    If `per_connection` is set, the quantity is fair even at a reduced connection count. If `over_tiers` is set, it
    combines all connection counts of a cell. If `counts_faults` is set, a failed cell counts as a figure.
    """

    unit: str
    read: Callable[[JsonRecord], float | list[float] | None]
    kind: MetricKind | None = None
    metric: Metric | None = None
    censored: Callable[[JsonRecord], float | list[float] | None] | None = None
    per_connection: bool = False
    over_tiers: bool = False
    counts_faults: bool = False


def value_at(data: JsonRecord, place: str) -> Any:  # noqa: ANN401 (JSON)
    """Return the value at a place such as `measurement.load.goodput_rps`; None if there is nothing."""
    value: Any = data
    for name in place.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def read_place(*places: str, scale: float = 1.0) -> Callable[[JsonRecord], float | list[float] | None]:
    """Return a function that reads the first of these places that exists; the place depends on the kind of record."""

    def read(data: JsonRecord) -> float | list[float] | None:
        for name in places:
            found = value_at(data, name)
            if isinstance(found, list):
                return [value * scale for value in found]
            if found is not None:
                return float(found) * scale
        return None

    return read


def _cpu_per_million(data: JsonRecord) -> float | None:
    """Return the figure that `metrics.cpu_per_million` computes from a measurement."""
    spent, answered = value_at(data, "measurement.work.cpu_s") or 0.0, value_at(data, "measurement.load.goodput") or 0
    known = spent >= LEAST_CPU_S and answered >= LEAST_ANSWERS
    found: float | None = value_at(data, "measurement.work.cpu_s_per_million") if known else None
    return found


def _switches_per_request(data: JsonRecord) -> float | None:
    names = ("voluntary_switches", "involuntary_switches", "switches_missed")
    return _per_request(data, flags.context_switches(*(value_at(data, f"measurement.work.{name}") for name in names)))


def _lock_waits_per_request(data: JsonRecord) -> float | None:
    return _per_request(data, value_at(data, "measurement.work.lock_waits"))


def _per_request(data: JsonRecord, counted: int | None) -> float | None:
    answered = value_at(data, "measurement.load.goodput")
    return None if counted is None or not answered else counted / answered


def _growth_per_connection(data: JsonRecord) -> float | None:
    """Return how far memory rose above the idle server, divided by the connections.

    This is not the cost of a connection. It includes memory that the load made the server take once, such as its
    threads and a larger heap. Two claims are about that. R10 extrapolates the total at 1,000 connections to 25,000. L6
    compares threads of a pool that starts them all under the first load, which a slope over connection counts leaves
    out.
    """
    peak, idle = (value_at(data, f"measurement.memory.{name}_kb") for name in ("peak", "rss_idle"))
    connections = value_at(data, "measurement.connections.actual")
    return (peak - idle) / connections if peak and idle and connections else None


def _read_failing(data: JsonRecord) -> float | None:
    """Return 1 if some requests were not served as they should be, 0 if all were, None if neither is known."""
    kind = value_at(data, "failure.kind")
    if kind is not None:
        return 1.0 if kind in SERVERS_OWN else None
    outcome = value_at(data, "trial.result.outcome")
    if outcome is not None:
        return float(outcome != "finished")
    flags = value_at(data, "measurement.flags")
    if flags is None or "not_at_once" in flags:
        return None
    spoiling = SPOILT | WAITING if value_at(data, "measurement.load.delay_s") else SPOILT
    return float(bool(spoiling.intersection(flags)))


KB = 1 / 1024


def read_memory(*names: str, other_places: tuple[str, ...] = ()) -> Callable[[JsonRecord], float | list[float] | None]:
    """Return a function that reads the first of these figures in a window or trial, in MB.

    `other_places` are places in other records.
    """
    return read_place(
        *(f"{part}.memory.{name}_kb" for name in names for part in ("measurement", "trial")), *other_places, scale=KB
    )


QUANTITIES: dict[str, Quantity] = {
    "requests": Quantity("req/s", read_place("measurement.load.goodput_rps"), MetricKind.LOAD, REQUESTS),
    "operations": Quantity("ops/s", read_place("trial.result.ops_per_s"), metric=OPS),
    "requests by ab": Quantity("req/s", read_place("trial.result.requests_per_s"), MetricKind.LOAD),
    "good responses": Quantity("/s", read_place("trial.result.ok_per_s")),
    "share of good responses": Quantity("", read_place("trial.result.ok_share")),
    "failed requests": Quantity("", read_place("trial.result.failed")),
    "failing": Quantity("", _read_failing, counts_faults=True),
    "CPU per request": Quantity("µs", _cpu_per_million, MetricKind.CPU, CPU),
    "switches per request": Quantity("", _switches_per_request, MetricKind.CPU),
    "lock waits per request": Quantity("", _lock_waits_per_request, MetricKind.CPU),
    "p50": Quantity(
        "s",
        read_place("measurement.load.latency.p50_us", "trial.result.latency.p50_us", scale=1e-6),
        MetricKind.LATENCY,
    ),
    "slowest response": Quantity("s", read_place("measurement.load.latency.max_us", scale=1e-6), MetricKind.LATENCY),
    "peak RSS": Quantity(
        "MB",
        read_memory("peak", other_places=("trial.result.memory_peak_kb", "trial.result.peak_rss_kb")),
        MetricKind.MEMORY,
        PEAK_RSS,
    ),
    "heap": Quantity("MB", read_memory("heap_by_jcmd", "heap_used"), MetricKind.MEMORY),
    "direct buffers": Quantity("MB", read_memory("direct_used"), MetricKind.MEMORY),
    "thread memory": Quantity("MB", read_memory("thread_reserved"), MetricKind.MEMORY),
    "thread memory in use": Quantity("MB", read_memory("thread_committed"), MetricKind.MEMORY),
    "RSS at rest": Quantity("MB", read_place("rss_kb", "trial.result.rss_kb", scale=KB), MetricKind.MEMORY),
    "heap per parked thread": Quantity("kB", read_place("parked_kb"), MetricKind.MEMORY),
    "start and exit": Quantity("ms", read_place("start_and_end_s", scale=1000)),
    "first response": Quantity("s", read_place("trial.result.first_answer_s")),
    "RSS per connection": Quantity(
        "kB", read_place("per_connection.rss"), MetricKind.MEMORY, PER_CONNECTION, per_connection=True, over_tiers=True
    ),
    "growth from idle per connection": Quantity("kB", _growth_per_connection, MetricKind.MEMORY, per_connection=True),
    "t95": Quantity("s", read_place("trial.result.t95_s"), censored=read_place("trial.result.duration_s")),
    "late responses": Quantity("of C/D", read_place("trial.result.late")),
    "virtual handler": Quantity("", read_place("measurement.server.virtual")),
    "pinned waits": Quantity("", read_place("trial.result.pinned_events")),
    "connections of the pool": Quantity("", read_place("trial.result.connections")),
}
