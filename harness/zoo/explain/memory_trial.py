"""The measurement of waiting requests' memory: fresh processes hold more and more requests and are read meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from zoo.core.errors import RuntimeFailure
from zoo.explain.data import MemoryRound
from zoo.explain.memory import MemoryReading, memory_round, parse_histogram, parse_jemalloc, parse_native
from zoo.host.files import read_text
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadSpec
from zoo.runtime.base import HostedServer
from zoo.sample import jcmd
from zoo.sample.net import parse_sockstat
from zoo.sample.proc import PROC, snapshot

WAIT_S = 10
PATH = f"/sleep?ms={1000 * WAIT_S}"
WARM_PATH = "/sleep?ms=1"
SETTLE_S = 2.0
"""Time from the last connection to the reading, so that the request on it has reached its wait."""

OPEN_S = 4.0
REST_S = 2.0
COUNTS = 3
JVM_FLAGS = ("-XX:NativeMemoryTracking=summary",)
ENVIRONMENT = {"_RJEM_MALLOC_CONF": "stats_interval:262144,stats_interval_opts:gmdablxe"}
"""Makes jemalloc in a Rust program print its totals, and only those, after each 256 kB that were allocated."""

LOG_LINES = 200

Say = Callable[[str], None]


def counts_of(most: int) -> list[int]:
    """Return the counts of connections at which memory is read: a third, two thirds and all of them."""
    return [most * number // COUNTS for number in range(1, COUNTS + 1)]


def seconds(rounds: int, warmup_s: float) -> float:
    """Return about how many seconds the measurement of both entries takes."""
    return 2 * rounds * (warmup_s + COUNTS * (2 * WAIT_S + 3 + REST_S) + 8)


def measure_round(hosted: HostedServer, counts: Sequence[int], warmup_s: float, say: Say) -> MemoryRound:
    """Measure a server that has just started.

    Raise `RuntimeFailure` if it ends or does not hold all requests at once.
    """
    say("warm-up")
    hosted.generator.run(LoadSpec(hosted.url + WARM_PATH, min(100, counts[0]), warmup_s, 2 * WAIT_S))
    time.sleep(REST_S)
    readings = [_read(hosted, 0)]
    for count in counts:
        say(f"{count:,} connections")
        readings.append(_hold(hosted, count))
    return memory_round(readings)


def _hold(hosted: HostedServer, count: int) -> MemoryReading:
    """Read the server while it holds this many requests, and wait until it has answered or dropped all of them."""
    # the window ends before the second request of a connection is answered
    spec = LoadSpec(hosted.url + PATH, count, WAIT_S + 2, 3 * WAIT_S, threads=1)
    with ThreadPoolExecutor(1) as pool:
        begun = time.monotonic()
        load = pool.submit(hosted.generator.run, spec)
        _wait_for_connections(hosted, count, load)
        time.sleep(SETTLE_S)
        reading = _read(hosted, count)
        late = time.monotonic() - begun > WAIT_S
        outcome = load.result()
    if not hosted.is_alive():
        raise hosted.exit_failure(f"with {count:,} waiting requests")
    if late:
        raise RuntimeFailure(
            "late_reading",
            f"reading the memory of {count:,} waiting requests took longer than their wait of {WAIT_S} s; "
            "use fewer connections (CONNECTIONS=) or an idle machine",
        )
    if outcome.requests < count:
        raise RuntimeFailure(
            "not_held",
            f"the server held {outcome.requests:,} of {count:,} requests at once; "
            f"raise its limit (MAX_THREADS={count}) or set CONNECTIONS={outcome.requests}",
            hosted.log_tail(),
        )
    time.sleep(WAIT_S + REST_S)  # until the second requests have ended too
    return reading


def _wait_for_connections(hosted: HostedServer, count: int, load: Future[LoadOutcome]) -> None:
    deadline = time.monotonic() + OPEN_S
    while time.monotonic() < deadline and not load.done():
        established = hosted.instruments.count_established(hosted.url)
        if established is not None and established >= count:
            return
        time.sleep(0.1)


def _read(hosted: HostedServer, connections: int) -> MemoryReading:
    """Read the histogram of classes first: it collects garbage, which would otherwise shrink the next reading's RSS."""
    pid = hosted.pid
    parts = parse_histogram(jcmd.run_jcmd(pid, "GC.class_histogram") or "")
    if parts:
        parts |= parse_native(jcmd.run_jcmd(pid, "VM.native_memory", "summary") or "")
    else:
        parts = parse_jemalloc(hosted.log_tail(LOG_LINES))
    seen = snapshot(pid, deep=True)
    sockets = parse_sockstat(read_text(f"{PROC}/{pid}/net/sockstat"))
    return MemoryReading(
        connections=connections,
        rss_kb=seen.rss_kb,
        anon_kb=seen.anon_kb,
        socket_kb=None if sockets is None else sockets.memory_kb,
        threads=seen.threads,
        parts=parts,
    )
