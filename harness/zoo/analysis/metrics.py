"""The metrics of a cell, and the log-ratios that a comparison of two cells is made of. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from zoo.analysis.flags import served
from zoo.analysis.stats import Sample
from zoo.model.flag import Flag
from zoo.model.measurement import Measurement, Turn
from zoo.model.record import Record

LEAST_CPU_S = 0.2
LEAST_ANSWERS = 1_000


class Word(StrEnum):
    """What is said of a comparison."""

    FASTER = "faster"
    SLOWER = "slower"
    LESS = "less"
    MORE = "more"
    SAME = "equal within 5 %"
    OPEN = "open"
    NOT_MEASURED = "not measured"


class Class(StrEnum):
    """What kind of quantity a metric is: it decides what can limit or spoil it."""

    LOAD = "load"
    LATENCY = "latency"
    CPU = "CPU"
    MEMORY = "memory"


@dataclass(frozen=True)
class Metric:
    """A figure of a cell; `above` and `below` are the words for a ratio over and under 1.

    `read` takes it from a measurement, `read_turn` from one turn of it; None where neither tells it.
    """

    name: str
    title: str
    kind: Class
    above: Word
    below: Word
    read: Callable[[Measurement], float | None] | None = None
    read_turn: Callable[[Turn], float | None] | None = None


def cpu_per_million(seen: Measurement) -> float | None:
    """CPU-seconds per million good answers; None below 0.2 s, where the kernel's 10 ms ticks would be over 5 %, and
    below 1,000 answers, of which the process's own work would be a part."""
    if seen.work is None or (seen.work.cpu_s or 0.0) < LEAST_CPU_S or seen.load.goodput < LEAST_ANSWERS:
        return None
    return seen.work.cpu_s_per_million


REQUESTS = Metric(
    "req/s",
    "Requests a second",
    Class.LOAD,
    Word.FASTER,
    Word.SLOWER,
    read=lambda m: m.load.goodput_rps,
    read_turn=lambda turn: turn.goodput / turn.loaded_s if turn.loaded_s > 0 else None,
)
CPU = Metric(
    "CPU per request",
    "CPU per request",
    Class.CPU,
    Word.MORE,
    Word.LESS,
    read=cpu_per_million,
    read_turn=lambda turn: turn.cpu_s / turn.goodput if turn.cpu_s is not None and turn.goodput else None,
)
P99 = Metric(
    "p99",
    "Latency, p99",
    Class.LATENCY,
    Word.SLOWER,
    Word.FASTER,
    read=lambda m: m.load.latency.p99_us,
    read_turn=lambda turn: turn.p99_us,
)
PEAK_RSS = Metric(
    "peak RSS",
    "Peak memory",
    Class.MEMORY,
    Word.MORE,
    Word.LESS,
    read=lambda m: m.memory.peak_kb if m.memory else None,
)
"""Memory has no turns: a server keeps what an earlier turn made it take."""

PER_CONNECTION = Metric("RSS per connection", "Memory per connection", Class.MEMORY, Word.MORE, Word.LESS)
"""Takes a round's tiers together."""

METRICS = [REQUESTS, CPU, P99, PEAK_RSS, PER_CONNECTION]
"""Those of servers, in the order in which they are told; a further one is a declaration and a name here."""


def group_of(metric: Metric, scenario: str, tier: str) -> Hashable:
    """Return the group of cells that are expected to vary equally: those of one scenario and connection count."""
    return scenario if metric is PER_CONNECTION else (scenario, tier)


def of_turns(metric: Metric, seen: Measurement) -> list[float]:
    """A metric in each turn of a measurement, in their order; empty where a turn does not tell it."""
    read = metric.read_turn
    found = [read(turn) for turn in seen.windows] if read else []
    return [value for value in found if value is not None] if None not in found else []


def held_all(seen: Measurement) -> bool:
    """True when each connection's request was being held at once, and no pool made some of them wait."""
    bad = {
        *(Flag.STARVED, Flag.POOL_CEILING, Flag.NOT_ESTABLISHED),
        *(Flag.BAD_ANSWERS, Flag.NOT_AT_ONCE, Flag.LEFT_OPEN),
    }
    pool = seen.load.ceiling_rps is not None
    short = pool and seen.threads_peak is not None and seen.threads_peak < seen.connections.actual
    return seen.load.delay_s > 0 and not short and not bad & set(seen.flags)


def served_each_wait(seen: Measurement) -> float | None:
    """Good answers over connections, for each whole wait in the window; 1 or more is all of them, None without a wait.

    What a request waits in a pool's queue is no part of the wait: with it, a pool of 200 would seem to serve 400 at a
    time. On a host so slow that its pace set the wait, an answer takes longer than that: there it is the record's own,
    by the mean latency.
    """
    load = seen.load
    if not load.delay_s or seen.warmup.pace:
        return load.served
    return served(load.goodput, load.delay_s, seen.connections.actual, load.runtime_s - load.connect_s)


def held_throughout(records: Iterable[Record]) -> bool:
    """True when every one of these cells was measured and held all its connections."""
    return all(r.measurement is not None and held_all(r.measurement) for r in records)


def first_share(seen: Measurement) -> float | None:
    """Throughput of a cell's first turn over the mean of its others, below 1 where it was cold; None of one turn."""
    rates = [turn.goodput / turn.loaded_s for turn in seen.windows if turn.loaded_s > 0]
    others = rates[1:]
    return rates[0] / statistics.fmean(others) if any(others) else None


@dataclass(frozen=True)
class Side:
    """One metric of a cell by round, and in each of a round's turns where it had several.

    Cells of one `group` are expected to vary equally.
    """

    rounds: Mapping[int, float]
    group: Hashable
    turns: Mapping[int, Sequence[float]] = field(default_factory=dict)


def sample(a: Side, b: Side) -> Sample | None:
    """`a` over `b` in the rounds that have both figures; None where no round has."""
    rounds = sorted(set(a.rounds) & set(b.rounds))
    if not rounds:
        return None
    turns = [_logs(a.turns.get(n, ()), b.turns.get(n, ())) for n in rounds]
    logs = _logs([a.rounds[n] for n in rounds], [b.rounds[n] for n in rounds])
    return Sample(logs, frozenset({a.group, b.group}), turns)


def _logs(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """Of as many as both have; those of turns that were taken in turns belong together by their order."""
    return [math.log(one / other) for one, other in zip(a, b, strict=False) if one > 0 and other > 0]
