"""Analysis of requests that wait at once: who was served, what stopped the server, and what to do about it. Pure."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from zoo.core import capacity
from zoo.core.defaults import CONTAINER_PIDS
from zoo.core.entry_id import server_name
from zoo.core.host_facts import Limits
from zoo.core.measurement import TaskLimit
from zoo.core.record import Record, last_error
from zoo.core.samples import Hits
from zoo.core.trial_results import PoolSizeResult, Quantiles
from zoo.report.formatting import format_number
from zoo.report.wording import capitalize
from zoo.scenarios.pool_size.spec import PoolChoice
from zoo.stats.all_answered import ALL
from zoo.stats.censored import quantiles
from zoo.stats.trials import newest_by_round, peak_mb

FIRST_WAITS = 2
"""Time, in waits since the first request, before which a response came in the first wait.

No thread can serve a second request by then, so a pool never serves more requests in the first wait than it has
threads.
"""

BEGUN = 0.99
"""Share of the requests served in the first wait that must have a thread before the pool counts as grown."""


@dataclass(frozen=True)
class Burst:
    """Outcome of requests that were sent at once, one per connection. Latencies are those of all requests."""

    served_first: int
    served: int
    latency: Quantiles
    grown_s: float | None  # until the requests of the first wait had their threads; None: none was served in it
    took_us: list[int]  # latencies of the good responses, sorted


def first_requests(hits: Sequence[Hits], delay_s: float) -> list[Hits]:
    """Return each user's first request.

    The generator has one more request ready when its time is up, which the first user to get a response sends. That is
    never before one delay.
    """
    made = []
    for one in hits:
        first = [place for place, at in enumerate(one.sent_us) if at < 1e6 * delay_s]
        places = {old: new for new, old in enumerate(first)}
        kept = {kind: [places[place] for place in of if place in places] for kind, of in one.failed.items()}
        failed = {kind: of for kind, of in kept.items() if of}
        made.append(Hits([one.sent_us[p] for p in first], [one.took_us[p] for p in first], failed))
    return made


def burst(hits: Sequence[Hits], delay_s: float) -> Burst:
    """Count the requests that were served. Those that failed count as slower than every response."""
    sent = sum(len(one.sent_us) for one in hits)
    failed = [{place for places in one.failed.values() for place in places} for one in hits]
    good = [
        (at, took)
        for one, bad in zip(hits, failed, strict=True)
        for place, (at, took) in enumerate(zip(one.sent_us, one.took_us, strict=True))
        if place not in bad
    ]
    begun = sorted(at + took - round(1e6 * delay_s) for at, took in good if at + took < 1e6 * FIRST_WAITS * delay_s)
    took = sorted(took for _, took in good)
    return Burst(
        served_first=len(begun),
        served=len(good),
        latency=quantiles(np.array(took, dtype=np.int64), sent),
        grown_s=max(0, begun[math.ceil(BEGUN * len(begun)) - 1]) / 1e6 if begun else None,
        took_us=took,
    )


_NO_THREAD = re.compile(
    r"unable to create (?:new )?native thread|pthread_create failed|Failed to start thread"
    r"|Resource temporarily unavailable|Cannot create worker thread"
)
_NO_HEAP = re.compile(r"OutOfMemoryError: (?:Java heap space|GC overhead limit exceeded)")
OWN_THREADS = 100
"""Threads that a server may have in addition to its pool, rounded up."""

PIDS, MAPS = "cgroup pids.max", "vm.max_map_count"
FIXES = {
    "ulimit -u": "ulimit -u {}",
    "kernel.threads-max": "sysctl -w kernel.threads-max={}",
    "kernel.pid_max": "sysctl -w kernel.pid_max={}",
    MAPS: "sysctl -w vm.max_map_count={}",
}
CONTAINER_FIX, GROUP_FIX = "SERVER_PIDS={}", "TasksMax={} in systemd, or pids.max of its control group"


@dataclass(frozen=True)
class Stop:
    """The reason that kept a server from having more threads or more memory, and the setting that fixes it."""

    by: str = ""
    fix: str = ""


def stop(
    log: str, limits: Limits, groups: tuple[TaskLimit | None, TaskLimit | None], pool: int, *, contained: bool
) -> Stop:
    """Name the limit that a server reached, from its log and its control groups before and after the load.

    `pool` is the number of threads that it should have. Return an empty `Stop` if it reached no limit.
    """
    before, after = groups
    most = after or before
    refused = bool(after and after.refused > (before.refused if before else 0))
    if refused or _NO_THREAD.search(log):
        cgroup = limits.cgroup.model_copy(update={"pids": most.most if most else limits.cgroup.pids})
        lowest = capacity.feasible_threads(limits.model_copy(update={"cgroup": cgroup}))
        name, value = (PIDS, most.most) if refused and most else (lowest.limited_by, lowest.actual)
        needed = _threads_needed(pool)
        if name is None:
            return Stop("the system refused another thread")
        if name == MAPS:
            return Stop(f"{name} {limits.max_map_count:,} (two per thread)", FIXES[name].format(2 * needed))
        fix = (CONTAINER_FIX if contained else GROUP_FIX) if name == PIDS else FIXES[name]
        return Stop(f"{name} {value:,}", fix.format(needed))
    if _NO_HEAP.search(log):
        return Stop("the heap is full", "a larger -Xmx (HEAP= of this run)")
    return Stop()


def _threads_needed(pool: int) -> int:
    """Return how many threads a server with this pool must be allowed, in whole hundreds."""
    return math.ceil((pool + OWN_THREADS) / 100) * 100


def ended(log: str, found: Stop) -> Stop:
    """Return what ended a server: the limit that it reached, otherwise its last error."""
    return found if found.by else Stop(f"the server ended: {last_error(log) or 'its log names no reason'}")


@dataclass(frozen=True)
class PoolOption:
    """One way to serve the requests, over all its rounds: the round that served fewest, and medians of the rest."""

    entry: str
    size: PoolChoice
    pool: int | None  # None: virtual threads, or a pool that sizes itself
    requests: int
    delay_s: float
    served_first: int
    peak_mb: float | None = None
    hello_cpu_us: float | None = None
    threads: int | None = None
    stop: Stop = Stop()

    @property
    def complete(self) -> bool:
        """Return True if all requests were served in the first wait."""
        return self.served_first >= ALL * self.requests

    @property
    def late(self) -> bool:
        """Return True if the pool served fewer requests than it has threads although it reached no limit."""
        return self.pool is not None and not self.stop.by and self.served_first < ALL * min(self.pool, self.requests)

    @property
    def name(self) -> str:
        if self.size is PoolChoice.VIRTUAL:
            return "virtual threads"
        return "the pool that sizes itself" if self.pool is None else f"a pool of {self.pool:,}"


Rounds = list[tuple[Record, PoolSizeResult]]
"""The results of one option, by round."""


def rounds_of(records: Sequence[Record]) -> dict[tuple[str, int], list[Rounds]]:
    """Return the results of each server and number of requests, from the current pool to virtual threads."""
    found: dict[tuple[str, int, int, str], Rounds] = {}
    order = list(PoolChoice)
    for record in newest_by_round(records):
        if record.trial and isinstance(result := record.trial.result, PoolSizeResult):
            key = (server_name(record.entry), result.requests, order.index(PoolChoice(record.case)), record.entry)
            found.setdefault(key, []).append((record, result))
    made: dict[tuple[str, int], list[Rounds]] = {}
    for (server, requests, _, _), rounds in sorted(found.items(), key=lambda item: item[0]):
        made.setdefault((server, requests), []).append(rounds)
    return made


def option(rounds: Rounds) -> PoolOption:
    """Return what several rounds of one option found."""

    def median(read: Callable[[Record, PoolSizeResult], float | None]) -> float | None:
        known = [value for one in rounds if (value := read(*one)) is not None]
        return statistics.median(known) if known else None

    worst = min((result for _, result in rounds), key=lambda result: result.served_first)
    return PoolOption(
        entry=rounds[0][0].entry,
        size=PoolChoice(rounds[0][0].case),
        pool=worst.pool,
        requests=worst.requests,
        delay_s=worst.delay_s,
        served_first=worst.served_first,
        peak_mb=median(lambda record, _: peak_mb(record)),
        hello_cpu_us=median(lambda _, result: result.hello.cpu_us if result.hello else None),
        threads=max((result.threads for _, result in rounds if result.threads), default=None),
        stop=Stop(worst.stopped_by, worst.fix),
    )


class Action(StrEnum):
    """The action to take about requests that wait."""

    LEAVE = "leave it"
    ENLARGE = "enlarge the pool to about {}"
    SWITCH = "switch to virtual threads"


HELLO_CONNECTIONS = 100
"""Connections of the load with fast requests, or as many as there are waiting requests if these are fewer."""

MEMORY_MARGIN = 1.5
"""How many times the peak memory of virtual threads a pool may take and still be the smaller change.

Less than that is within what one round can tell. CPU per `hello` does not decide: there is one short load of each
option, and the cost of a switch has rounds of its own.
"""


@dataclass(frozen=True)
class Recommendation:
    """An action with its reason, and what limits the server after that."""

    action: Action
    why: str
    pool: int | None = None
    next: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.action.format(format_number(self.pool) if self.pool else "")


def recommend(found: Sequence[PoolOption]) -> Recommendation | None:
    """Return what to do about one number of waiting requests at one server; None without its current pool.

    If the current pool serves all requests, leave it. Otherwise the smallest pool that serves all of them competes with
    virtual threads. The pool wins unless it takes clearly more memory, because it is the smaller change.
    """
    now = next((option for option in found if option.size is PoolChoice.CURRENT), None)
    if now is None:
        return None
    served = f"{now.name} serves {_share(now)} in the first wait"
    return Recommendation(Action.LEAVE, served) if now.complete else _change(now, found, served)


def _change(now: PoolOption, found: Sequence[PoolOption], served: str) -> Recommendation:
    pools = [option for option in found if option.pool is not None and option.pool > (now.pool or 0)]
    pool = min((option for option in pools if option.complete), key=lambda option: option.pool or 0, default=None)
    virtual = next((option for option in found if option.size is PoolChoice.VIRTUAL and option.complete), None)
    if pool and virtual and _is_larger(pool, virtual):
        both = f"{capitalize(_memory(pool))} and {_memory(virtual)}"
        return _switch(virtual, f"{served}. {both} serve all, but the pool takes over {MEMORY_MARGIN} times the memory")
    if pool:
        also = f" and {_memory(virtual)}" if virtual else ""
        return _enlarge(pool, now, f"{served}. All are served by {_memory(pool)}{also}")
    stopped = next((o for o in reversed(pools) if o.stop.by), None)
    if virtual:
        failed = f"; {stopped.name} reaches a limit ({stopped.stop.by})" if stopped else ""
        return _switch(virtual, f"{served}{failed}; virtual threads serve all")
    if stopped and stopped.stop.fix:
        why = f"{served}, and {stopped.name} reaches a limit ({stopped.stop.by}), so first set {stopped.stop.fix}"
        return _enlarge(stopped, now, why)
    best = max(found, key=lambda o: o.served_first)
    why = f"{served}, and nothing that was tried serves all: {best.name} {_share(best)}"
    if any(option.late for option in found):
        why += "; a pool served fewer requests than it has threads, so the wait was too short for this machine: repeat "
        why += "with a longer one (DURATION=)"
    return Recommendation(Action.LEAVE, why)


def _share(option: PoolOption) -> str:
    if option.complete:
        return f"all {option.requests:,}"
    return f"{option.served_first:,} of {option.requests:,}"


def _memory(option: PoolOption) -> str:
    told = "" if option.peak_mb is None else f" (peak {format_number(round(option.peak_mb))} MB)"
    return f"{option.name}{told}"


def _is_larger(pool: PoolOption, virtual: PoolOption) -> bool:
    """Return True if the pool takes clearly more memory at its peak; False if that is not known."""
    if pool.peak_mb is None or virtual.peak_mb is None:
        return False
    return pool.peak_mb > MEMORY_MARGIN * virtual.peak_mb


def _enlarge(pool: PoolOption, now: PoolOption, why: str) -> Recommendation:
    assert pool.pool is not None
    pids = _threads_needed(max(pool.pool, pool.threads or 0))
    room = "which is enough" if pids <= CONTAINER_PIDS else f"so set SERVER_PIDS={pids}"
    return Recommendation(
        Action.ENLARGE,
        why,
        pool.pool,
        (
            f"database connections: {pool.pool:,} requests may each need one; a small pool of them is the next queue",
            f"limits of a container: threads count as processes; the compose file allows {CONTAINER_PIDS:,}, {room}",
            f"memory: {_grown(pool, now)}thread stacks are outside the heap, so -Xmx does not limit them",
        ),
    )


def _grown(pool: PoolOption, now: PoolOption) -> str:
    if pool.peak_mb is None or now.peak_mb is None:
        return ""
    return f"{format_number(round(pool.peak_mb - now.peak_mb))} MB more than now at the peak; "


def _switch(virtual: PoolOption, why: str) -> Recommendation:
    peak = "" if virtual.peak_mb is None else f"{format_number(round(virtual.peak_mb))} MB at the peak; "
    return Recommendation(
        Action.SWITCH,
        why,
        next=(
            "database connections: no pool of threads limits requests any more, so each may wait for a connection; "
            "bound them with a semaphore or a timeout",
            f"memory: {peak}the stacks of waiting requests are in the heap, so -Xmx must have room for them",
            "limits of a container: threads stay few, so its limit of processes does not matter",
        ),
    )
