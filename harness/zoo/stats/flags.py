"""The flags of one cell, computed from its figures: the objections that an expert would raise. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from zoo.core import windows
from zoo.core.flag import FOREIGN_LIMIT, STEAL_LIMIT, THROTTLED_LIMIT, Flag
from zoo.core.manifest import Model
from zoo.core.measurement import Kernel, Load, Measurement
from zoo.core.samples import Noise
from zoo.core.windows import HOLDING_S

GENERATOR_LIMIT = 0.90
IDLE_LIMIT = 0.10
LINGER_LIMIT = 5_000
ESTABLISHED_LIMIT = 0.98
ALL_OPEN = 0.999
WORK_LIMIT = 0.5
"""Lowest share of its intended CPU time that a request may take.

One server needs up to 1.6 times as much as another for the same hashing, and a request's other work only adds to that.
"""

LINK_LIMIT = 0.80
REOPENED_LIMIT = 0.005
"""Share of the requests that may open a connection; opening these costs less than any difference reported."""

CLOSED_SHARE = 0.01
"""Lowest share of a server's own reconnects whose end is found among the host's closed connections.

The kernel keeps a limited number of those and uses their ports again: a fifth to a half was seen here.
"""

FEW_CLOSED_SHARE = 0.5
"""The same share if few are found: the kernel keeps so few, but some may still be closing."""

REOPENED_LEAST = 0.01
"""Share of the connections that may be opened again; in a load of few requests, each reconnect counts a lot."""

OWN_OPENS = 10
"""Connections that the harness and a container's health check may open in each window."""

LEAST_CPU_S = 2e-6
CPU_SLACK_S = 0.02
MISSED_LIMIT = 0.10


def littles_law(goodput: int, mean_s: float, connections: int, seconds: float) -> float:
    """Return goodput × mean latency / connections (Little's law): the share of time in which requests were in progress.

    It is about 1 if each response was followed immediately by the next request. Requests cut off at the end are not
    counted.
    """
    if not goodput or seconds <= 0:
        return 0.0
    return goodput / seconds * mean_s / connections


def served_share(goodput: int, cycle_s: float, connections: int, seconds: float) -> float:
    """Return the good responses divided by those that all connections would have had, in whole cycles of this length.

    It is meant for waits, where a window contains few cycles: of the 10 s waits in 25 s the third is cut off, which
    says nothing about the server. A cycle counts as 10% longer than it is, so that those near the end need not be
    complete. 1 or more means that every connection was served.
    """
    if not goodput or cycle_s <= 0:
        return 0.0
    return goodput / connections / max(1, math.floor(seconds / (1.1 * cycle_s)))


def connect_seconds(times: Sequence[float], established: Sequence[int | None], connections: int) -> float | None:
    """Return the seconds until all connections of the load were open, from samples of the host's established sockets.

    wrk sends nothing before a thread has opened all its connections, so this time is not part of the load. Both ends of
    a connection count, and the first sample has the sockets that were open before the load. Between two samples the
    count is assumed to grow as it did before. None if the samples never show all connections.
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


def pool_ceiling(model: Model, max_threads: int | None, delay_s: float) -> float | None:
    """Return the most requests per second that a pool of blocked threads can serve; None if no pool limits them."""
    if model is not Model.PLATFORM_THREAD or max_threads is None or delay_s <= 0:
        return None
    return max_threads / delay_s


def context_switches(voluntary: int | None, involuntary: int | None, missed: int | None) -> int | None:
    """Return the context switches; None if missed ones were not counted or may be more than 10% of those seen."""
    if voluntary is None or involuntary is None or missed is None:
        return None
    seen = voluntary + involuntary
    return seen if missed <= MISSED_LIMIT * seen else None


def machine_flags(noise: Noise, kernel: Kernel | None = None) -> dict[Flag, bool]:
    """Return the flags for other uses of the machine's CPU time and for drops; an unknown value raises no flag."""
    return {
        Flag.LISTEN_DROPS: kernel is not None and kernel.listen_drops > 0,
        Flag.FOREIGN_CPU: (noise.foreign_share or 0.0) > FOREIGN_LIMIT,
        Flag.THROTTLED: (noise.throttled_share or 0.0) > THROTTLED_LIMIT,
        Flag.STOLEN: (noise.steal_share or 0.0) > STEAL_LIMIT,
    }


def served_elsewhere(goodput: int, cpu_s: float | None) -> bool:
    """Return True if the process cannot have sent this many responses: each takes several system calls.

    CPU time is counted in hundredths of a second.
    """
    return cpu_s is not None and goodput * LEAST_CPU_S > cpu_s + CPU_SLACK_S


def count_reopened(accepted: int, connections: int, generators: int) -> int:
    """Return the connections of a window beyond those requested.

    `accepted` counts all connections accepted on the network. Each wrk opens one more before its load, to check that
    the address responds.
    """
    return max(0, accepted - connections - generators)


def without_other_programs(reopened: int, closed: int | None, generators: int) -> int | None:
    """Return the reopened connections of a server whose network other programs use; None if unknown.

    Connections of other programs are among those accepted. `closed` counts the server's own that ended in the load, at
    least some if the server closes connections. Each generator has closed one to check the address. A few more may be
    those of a health check.
    """
    if closed is None:
        return None
    own = max(0, closed - generators)
    if own <= OWN_OPENS:
        return min(reopened, round(own / FEW_CLOSED_SHARE))
    return reopened if own >= CLOSED_SHARE * reopened else own


def find_flags(seen: Measurement, *, work_s: float, processors: int | None, cut_short: bool) -> list[Flag]:
    """Return every objection that an expert would raise, in the order of the enum.

    `work_s` is the CPU time that a request should take. `processors` is the number of the generator's own processors,
    None if it shares the server's. `cut_short` is True if opening the connections took more than half of a window.
    """
    connections, load, noise, errors = seen.connections, seen.load, seen.noise, seen.load.errors
    actual, established = connections.actual, connections.established
    own_opens = OWN_OPENS * max(1, len(seen.windows))
    least = max(REOPENED_LIMIT * load.requests, REOPENED_LEAST * actual, own_opens)
    reconnects = (connections.reopened or 0) > least
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
        **machine_flags(noise, seen.kernel),
        # A server that closes connections left those sockets in its own warm-up.
        Flag.SOCKETS_LINGER: (connections.lingering or 0) > LINGER_LIMIT and not reconnects,
        Flag.RECONNECTS: reconnects,
        Flag.NOT_AT_ONCE: not windows.all_held_at_once(actual, load.delay_s, seen.warmup.pace),
        Flag.LEFT_OPEN: (connections.left_open or 0) > (1 - ESTABLISHED_LIMIT) * actual,
        Flag.LINK_SATURATED: link_share(load) > LINK_LIMIT,
        Flag.LITTLE_WORK: per_million is not None and per_million < 1e6 * WORK_LIMIT * work_s,
        Flag.BAD_ANSWERS: errors.total > errors.connect,
    }
    return [flag for flag in Flag if raised.get(flag)]


def link_share(load: Load) -> float:
    """Return the share of the bandwidth between generator hosts and server that the responses took; 0 without links."""
    links = sum(one.bandwidth_mb_s for one in load.generators)
    return load.bytes / 1e6 / load.runtime_s / links if links else 0.0
