"""The metrics of a cell, and the log-ratios from which two cells are compared. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from zoo.core.flag import Flag
from zoo.core.measurement import LoadWindow, Measurement
from zoo.core.record import Record
from zoo.stats import Sample
from zoo.stats.flags import served_share

LEAST_CPU_S = 0.2
LEAST_ANSWERS = 1_000


class Word(StrEnum):
    """The word that describes a comparison."""

    FASTER = "faster"
    SLOWER = "slower"
    LESS = "less"
    MORE = "more"
    SAME = "the same (within 5%)"
    UNCLEAR = "no clear difference"
    NOT_MEASURED = "not measured"


class MetricKind(StrEnum):
    """The kind of quantity of a metric, which decides what can limit or spoil it."""

    LOAD = "load"
    LATENCY = "latency"
    CPU = "CPU"
    MEMORY = "memory"


@dataclass(frozen=True)
class Metric:
    """A figure of a cell; `above` and `below` are the words for a ratio over and under 1.

    `read` takes it from a measurement, and `read_window` from one window; None if it is not there.
    """

    name: str
    title: str
    kind: MetricKind
    above: Word
    below: Word
    read: Callable[[Measurement], float | None] | None = None
    read_window: Callable[[LoadWindow], float | None] | None = None


def cpu_per_million(seen: Measurement) -> float | None:
    """Return the CPU-seconds per million good responses; None if these are too few to be precise.

    Below 0.2 s, the kernel's 10 ms ticks would be more than 5%. Below 1,000 responses, the process's own work would be
    a noticeable part.
    """
    if seen.work is None or (seen.work.cpu_s or 0.0) < LEAST_CPU_S or seen.load.goodput < LEAST_ANSWERS:
        return None
    return seen.work.cpu_s_per_million


REQUESTS = Metric(
    "req/s",
    "Requests per second",
    MetricKind.LOAD,
    Word.FASTER,
    Word.SLOWER,
    read=lambda m: m.load.goodput_rps,
    read_window=lambda turn: turn.goodput / turn.loaded_s if turn.loaded_s > 0 else None,
)
CPU = Metric(
    "CPU per request",
    "CPU per request",
    MetricKind.CPU,
    Word.MORE,
    Word.LESS,
    read=cpu_per_million,
    read_window=lambda turn: turn.cpu_s / turn.goodput if turn.cpu_s is not None and turn.goodput else None,
)
P99 = Metric(
    "p99",
    "Latency, p99",
    MetricKind.LATENCY,
    Word.SLOWER,
    Word.FASTER,
    read=lambda m: m.load.latency.p99_us,
    read_window=lambda turn: turn.p99_us,
)
PEAK_RSS = Metric(
    "peak RSS",
    "Peak memory",
    MetricKind.MEMORY,
    Word.MORE,
    Word.LESS,
    read=lambda m: m.memory.peak_kb if m.memory else None,
)
"""Peak memory. It has no figure per window, because a server keeps the memory that an earlier window made it take."""

PER_CONNECTION = Metric("RSS per connection", "Memory per connection", MetricKind.MEMORY, Word.MORE, Word.LESS)
"""Memory per connection, computed from all connection counts of a round."""

METRICS = [REQUESTS, CPU, P99, PEAK_RSS, PER_CONNECTION]
"""The metrics of servers, in the order in which they are reported; to add one, declare it and list it here."""


def group_of(metric: Metric, scenario: str, tier: str) -> Hashable:
    """Return the group of cells that are expected to vary equally: those of one scenario and connection count."""
    return scenario if metric is PER_CONNECTION else (scenario, tier)


def window_values(metric: Metric, seen: Measurement) -> list[float]:
    """Return a metric for each window of a measurement, in order; empty if some window does not have it."""
    read = metric.read_window
    found = [read(turn) for turn in seen.windows] if read else []
    return [value for value in found if value is not None] if None not in found else []


def held_all_connections(seen: Measurement) -> bool:
    """Return True if the requests of all connections were held at once, and no pool made some of them wait."""
    bad = {
        *(Flag.STARVED, Flag.POOL_CEILING, Flag.NOT_ESTABLISHED),
        *(Flag.BAD_ANSWERS, Flag.NOT_AT_ONCE, Flag.LEFT_OPEN),
    }
    pool = seen.load.ceiling_rps is not None
    short = pool and seen.threads_peak is not None and seen.threads_peak < seen.connections.actual
    return seen.load.delay_s > 0 and not short and not bad & set(seen.flags)


def served_each_wait(seen: Measurement) -> float | None:
    """Return the good responses over connections for each whole wait in the window; None without a wait.

    1 or more means all connections. The time that a request waits in a pool's queue is not part of the wait; otherwise
    a pool of 200 would seem to serve 400 at a time. On a host so slow that its pace set the wait, a response takes
    longer than that. There the record's own value is used, which is based on the mean latency.
    """
    load = seen.load
    if not load.delay_s or seen.warmup.pace:
        return load.served
    return served_share(load.goodput, load.delay_s, seen.connections.actual, load.runtime_s - load.connect_s)


def all_held(records: Iterable[Record]) -> bool:
    """Return True if every one of these cells was measured and held all its connections."""
    return all(r.measurement is not None and held_all_connections(r.measurement) for r in records)


def first_window_share(seen: Measurement) -> float | None:
    """Return the throughput of a cell's first window over the mean of the others; None with one window.

    A value below 1 means that the first window was cold.
    """
    rates = [turn.goodput / turn.loaded_s for turn in seen.windows if turn.loaded_s > 0]
    others = rates[1:]
    return rates[0] / statistics.fmean(others) if any(others) else None


@dataclass(frozen=True)
class Side:
    """One metric of a cell by round, and for each window of a round if it had several.

    Cells of one `group` are expected to vary equally.
    """

    rounds: Mapping[int, float]
    group: Hashable
    windows: Mapping[int, Sequence[float]] = field(default_factory=dict)


def pair_sample(a: Side, b: Side) -> Sample | None:
    """Return `a` over `b` in the rounds that have both figures; None if there are none."""
    rounds = sorted(set(a.rounds) & set(b.rounds))
    if not rounds:
        return None
    turns = [_log_ratios(a.windows.get(n, ()), b.windows.get(n, ())) for n in rounds]
    logs = _log_ratios([a.rounds[n] for n in rounds], [b.rounds[n] for n in rounds])
    return Sample(logs, frozenset({a.group, b.group}), turns)


def _log_ratios(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Return the log-ratios, as many as both sides have; alternating windows belong together by their order."""
    return [math.log(one / other) for one, other in zip(a, b, strict=False) if one > 0 and other > 0]
