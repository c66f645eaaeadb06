"""The flags of one cell, computed from its figures: what an expert would object to. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zoo.catalog.manifest import Model
from zoo.model.flag import FOREIGN_LIMIT, STEAL_LIMIT, THROTTLED_LIMIT, Flag
from zoo.model.measurement import Kernel, Load, Measurement
from zoo.model.samples import Noise
from zoo.plan import windows
from zoo.plan.windows import HOLDING_S

GENERATOR_LIMIT = 0.90
IDLE_LIMIT = 0.10
LINGER_LIMIT = 5_000
ESTABLISHED_LIMIT = 0.98
ALL_OPEN = 0.999
WORK_LIMIT = 0.5
LINK_LIMIT = 0.80
REOPENED_LIMIT = 0.005
"""Share of the requests that may open a connection: setting these up costs less than any difference reported."""

CLOSED_SHARE = 0.01
"""Of the reconnects that a server causes, it closes at least this share before wrk does: a half or a quarter here."""

REOPENED_LEAST = 0.01
"""Share of the connections that may be opened again: in a load of few requests each one counts much."""

LEAST_CPU_S = 2e-6
CPU_SLACK_S = 0.02
MISSED_LIMIT = 0.10
"""Rounds cost one server up to 1.6 times what they cost another, and what is besides them only adds to the time."""


def little(goodput: int, mean_s: float, connections: int, seconds: float) -> float:
    """Goodput × mean latency / connections (Little's law): the share of their time that requests were under way.

    About 1 when each answer was followed by the next request at once. Requests cut off at the end are not counted.
    """
    if not goodput or seconds <= 0:
        return 0.0
    return goodput / seconds * mean_s / connections


def served(goodput: int, cycle_s: float, connections: int, seconds: float) -> float:
    """Good answers over those that all connections would have had, in whole cycles of this length.

    For waits, where a window holds few cycles: of a 10 s wait in 25 s the third is cut off, which says nothing about
    the server. A cycle is taken 10 % longer than it is, so that those near the end need not be complete; 1 or more
    means that every connection was served.
    """
    if not goodput or cycle_s <= 0:
        return 0.0
    return goodput / connections / max(1, math.floor(seconds / (1.1 * cycle_s)))


def connecting(times: Sequence[float], established: Sequence[int | None], connections: int) -> float | None:
    """Seconds until all connections of the load were open, from samples of the host's established sockets.

    wrk sends nothing before a thread has opened all its connections, so this time is no part of the load. Both ends
    of a connection count; what was open before the load is the first sample. Between two samples the count is taken to
    grow as it did before. None where the samples never show all of them.
    """
    known = [(t, n) for t, n in zip(times, established, strict=True) if n is not None]
    if not known:
        return None
    full = known[0][1] + 2 * connections * ALL_OPEN
    for i, (t, n) in enumerate(known):
        if n < full:
            continue
        if i < 2:
            return t
        (t1, n1), (t2, n2) = known[i - 2], known[i - 1]
        rate = (n2 - n1) / (t2 - t1)
        return min(t, t2 + (full - n2) / rate) if rate > 0 else t
    return None


def ceiling(model: Model, max_threads: int | None, delay_s: float) -> float | None:
    """Requests a second that a pool of blocked threads can serve at most; null where no pool bounds them."""
    if model is not Model.PLATFORM_THREAD or max_threads is None or delay_s <= 0:
        return None
    return max_threads / delay_s


def switches(voluntary: int | None, involuntary: int | None, missed: int | None) -> int | None:
    """Context switches; None where more than 10 % as many may have been missed, or nobody looked for missed ones."""
    if voluntary is None or involuntary is None or missed is None:
        return None
    seen = voluntary + involuntary
    return seen if missed <= MISSED_LIMIT * seen else None


def of_machine(noise: Noise, kernel: Kernel | None = None) -> dict[Flag, bool]:
    """Return the flags of what else took the machine's CPU time, and of drops; what is not known raises none."""
    return {
        Flag.LISTEN_DROPS: kernel is not None and kernel.listen_drops > 0,
        Flag.FOREIGN_CPU: (noise.foreign_share or 0.0) > FOREIGN_LIMIT,
        Flag.THROTTLED: (noise.throttled_share or 0.0) > THROTTLED_LIMIT,
        Flag.STOLEN: (noise.steal_share or 0.0) > STEAL_LIMIT,
    }


def served_elsewhere(goodput: int, cpu_s: float | None) -> bool:
    """Return True when the process cannot have sent so many responses: each takes several system calls.

    CPU time is counted in hundredths of a second.
    """
    return cpu_s is not None and goodput * LEAST_CPU_S > cpu_s + CPU_SLACK_S


def reopened(accepted: int | None, closed: int | None, connections: int) -> int | None:
    """Return the connections of a window beyond those asked for; None where they were not counted.

    `accepted` counts all that were accepted on the network, other programs' too. wrk opens one more before its load, to
    see whether the address answers. `closed` counts those that the server closed before wrk did, in the last minute: at
    least some if it closes connections, none otherwise.
    """
    if accepted is None or closed is None:
        return None
    extra = max(0, accepted - connections - 1)
    return extra if closed >= CLOSED_SHARE * extra else closed


def flags(seen: Measurement, *, work_s: float, processors: int | None, cut_short: bool) -> list[Flag]:
    """Return everything an expert would object to, in the order of the enum.

    `work_s` is the CPU time that a request is meant to take, `processors` the number of the generator's own (None where
    it shares the server's), and `cut_short` whether opening the connections took over half of a window.
    """
    connections, load, noise, errors = seen.connections, seen.load, seen.noise, seen.load.errors
    actual, established = connections.actual, connections.established
    reconnects = (connections.reopened or 0) > max(REOPENED_LIMIT * load.requests, REOPENED_LEAST * actual)
    busy = load.delay_s < HOLDING_S
    generator_share = (load.cpu_s or 0.0) / (load.runtime_s * processors) if processors else 0.0
    idle_share = 1 - (noise.busy_share or 0.0) - (noise.steal_share or 0.0)
    pool_bound = load.ceiling_rps is not None and round(load.ceiling_rps * load.delay_s) < actual
    per_million = seen.work.cpu_s_per_million if seen.work else None
    raised = {
        Flag.CLAMPED: connections.limited_by is not None,
        Flag.GENERATOR_SATURATED: busy and max(load.busiest_thread or 0.0, generator_share) > GENERATOR_LIMIT,
        Flag.SHARED_CORES: busy and processors is None and idle_share < IDLE_LIMIT,
        Flag.STARVED: (load.little if load.served is None else load.served) < 0.9 and not pool_bound,
        Flag.POOL_CEILING: pool_bound,
        Flag.LITTLE_HIGH: load.little > 1.1,
        Flag.NOT_ESTABLISHED: established is not None and established < ESTABLISHED_LIMIT * actual,
        Flag.SLOW_CONNECT: cut_short,
        Flag.WARMUP_SHORT: busy and seen.warmup.reached is False,
        **of_machine(noise, seen.kernel),
        # a server that closes connections has left those sockets in its own warm-up
        Flag.SOCKETS_LINGER: (connections.lingering or 0) > LINGER_LIMIT and not reconnects,
        Flag.RECONNECTS: reconnects,
        Flag.NOT_AT_ONCE: not windows.at_once(actual, load.delay_s, seen.warmup.pace),
        Flag.LEFT_OPEN: (connections.left_open or 0) > (1 - ESTABLISHED_LIMIT) * actual,
        Flag.LINK_SATURATED: link_share(load) > LINK_LIMIT,
        Flag.LITTLE_WORK: per_million is not None and per_million < 1e6 * WORK_LIMIT * work_s,
        Flag.BAD_ANSWERS: errors.total > errors.connect,
    }
    return [flag for flag in Flag if raised.get(flag)]


def link_share(load: Load) -> float:
    """Share of the bandwidth between the generator hosts and the server that the responses took; 0 without links."""
    links = sum(one.bandwidth_mb_s for one in load.generators)
    return load.bytes / 1e6 / load.runtime_s / links if links else 0.0
