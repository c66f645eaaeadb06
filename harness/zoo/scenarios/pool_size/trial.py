"""Measurement of one cell of `pool-size`: what an idle pool costs fast requests, then requests that wait at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from zoo.bench.trial import TrialCell
from zoo.bench.warmup import WarmServer, is_steady, wait_closed
from zoo.bench.window import Window
from zoo.core.condition import IN_IMAGES
from zoo.core.errors import RuntimeFailure
from zoo.core.manifest import Model
from zoo.core.measurement import TaskLimit
from zoo.core.record import Trial
from zoo.core.samples import count_failures
from zoo.core.trial_results import IdlePool, PoolSizeResult, Quantiles
from zoo.load.spec import LoadError
from zoo.load.vegeta import Attack, AttackResult
from zoo.sample.instruments import require_process
from zoo.sample.jcmd import NMT_FLAG
from zoo.sample.proc import Snapshot
from zoo.scenarios.pool_size.analysis import HELLO_CONNECTIONS, Stop, burst, ended, first_requests, stop
from zoo.scenarios.pool_size.spec import SETTING, TIMEOUT_WAITS, PoolChoice

FILL_S = 10.0
"""Shortest wait of the requests that fill a pool: the last must arrive before the first has its response."""

LOG_LINES = 2_000
LOOK_WAITS = 0.75
"""Time of the sample of memory, in waits: late, so that the pool has grown, but before the first response."""

ENDED = frozenset({"crashed", "not_started", "contract", "generator_hung", "agent_lost"})
"""Failures that too many threads or too little memory can cause. Other failures are the harness's own."""

LOAD_FAULTS = ENDED | {"generator_failed", "bad_responses"}
"""Failures of a load that such a server can also cause."""

UNKNOWN = Quantiles(p50_us=None, p90_us=None, p99_us=None, p999_us=None)


@dataclass
class _Seen:
    """The facts known of a server that may end during the load."""

    window: Window | None = None
    before: TaskLimit | None = None
    held: Snapshot | None = None


def measure_cell(cell: TrialCell) -> Trial:
    requests = cell.connections.actual
    size = PoolChoice(cell.block.case.name)
    threads = size.threads(requests)
    env = {} if threads is None else {SETTING: str(threads)}
    hello = _hello(cell, env, requests)
    seen = _Seen()
    flags = [] if cell.entry.native else [f"{NMT_FLAG}summary"]
    try:
        with cell.warm_server(*flags, env=env) as server:
            return _burst(cell, server, seen, hello)
    except RuntimeFailure as error:
        if error.kind not in ENDED or _too_slow(cell, error):
            raise
        return _died(cell, seen, threads, hello, error)


def _attack(server: WarmServer, requests: int, delay_s: float) -> Attack:
    """Return a load of one request per connection: it ends before the first response, so no user sends a second one."""
    url = f"{server.hosted.url}/sleep?ms={round(1000 * delay_s)}"
    return Attack(url, delay_s / 2, TIMEOUT_WAITS * delay_s, connections=requests)


def _hello(cell: TrialCell, env: dict[str, str], requests: int) -> IdlePool | None:
    """Measure fast requests on a server whose pool was filled first; None if the server did not survive that."""
    bench = cell.bench
    try:
        with cell.warm_server(env=env) as server:
            hosted = server.hosted
            if pool := _pool(server):
                cell.show_phase(f"filling the pool of {pool:,}")
                fill_s = max(FILL_S, cell.block.case.wait_s)
                hosted.attacker.run(_attack(server, min(pool, requests), fill_s))
                wait_closed(bench, hosted, fill_s)
            connections = min(HELLO_CONNECTIONS, requests)
            url, profile = hosted.url + hosted.home, bench.profile
            rates: list[float] = []
            least = profile.warmup_windows(native=cell.entry.native)
            most = max(least, int(profile.warmup_cap_s // profile.warmup_window_s))
            cell.show_phase("warming up hello")
            while len(rates) < least or (len(rates) < most and not is_steady(rates)):
                brief = bench.load(hosted, bench.spec(url, connections, profile.warmup_window_s))
                rates.append(brief.goodput / brief.runtime_s)
            cell.show_phase("measuring hello")
            with Window(hosted) as seen:
                outcome = bench.load(hosted, bench.spec(url, connections, profile.window_s))
                seen.generator_cpu_s = outcome.cpu_s
    except (LoadError, RuntimeFailure) as error:
        if error.kind not in LOAD_FAULTS or (isinstance(error, RuntimeFailure) and _too_slow(cell, error)):
            raise
        return None
    cpu_us = None if seen.cpu_s is None or not outcome.goodput else 1e6 * seen.cpu_s / outcome.goodput
    return IdlePool(connections=connections, threads=max(seen.samples.threads), answers=outcome.goodput, cpu_us=cpu_us)


def _pool(server: WarmServer) -> int | None:
    """Return the size of the pool; None if the server has none, or one that sizes itself."""
    info = server.info
    return info.limits.max_threads if info and Model(info.model) is Model.PLATFORM_THREAD else None


def _burst(cell: TrialCell, server: WarmServer, seen: _Seen, hello: IdlePool | None) -> Trial:
    connections, hosted = cell.connections, server.hosted
    tools, pool = hosted.instruments, _pool(server)
    seen.before = tools.task_limit(hosted.pid)
    cell.bench.clock.rest(cell.bench.profile.idle_s)
    attack = _attack(server, connections.actual, cell.block.case.wait_s)

    def look(elapsed: float) -> None:
        if seen.held is None and elapsed >= LOOK_WAITS * cell.block.case.wait_s:
            parts = require_process(tools.snapshot(hosted.pid, deep=True))
            # the parts take a while to read, and while the pool still grows, memory read before them would be too low
            seen.held = parts.model_copy(update={"rss_kb": require_process(tools.snapshot(hosted.pid)).rss_kb})

    cell.show_phase(f"sending {connections.actual:,} requests at once")
    with cell.window(server) as window:
        seen.window = window
        attacked = hosted.attacker.run(attack, look)
        window.generator_cpu_s = attacked.total_cpu_s
    attacked = replace(attacked, hits=first_requests(attacked.hits, cell.block.case.wait_s))
    sent = sum(len(one.sent_us) for one in attacked.hits)
    if sent != connections.actual:
        message = f"the generator sent {sent:,} requests in {attack.duration_s:g} s, not {connections.actual:,}"
        raise LoadError("generator_late", f"{message}: DURATION= makes the wait longer")
    groups = (seen.before, tools.task_limit(hosted.pid))
    found = _stop(cell, hosted.log_tail(LOG_LINES), groups, pool)
    result = _result(cell, seen, pool, hello, found, attacked)
    return cell.trial(server, window, result, result.served, connections)


def _too_slow(cell: TrialCell, error: RuntimeFailure) -> bool:
    """Return True if the server did not listen in time although it reached no limit, as on a busy machine."""
    return error.kind == "not_started" and not _stop(cell, error.log_tail, (None, None), None).by


def _died(cell: TrialCell, seen: _Seen, pool: int | None, hello: IdlePool | None, error: RuntimeFailure) -> Trial:
    """Return the result of a server that did not start, or that ended under the load."""
    found = _stop(cell, error.log_tail, (seen.before, None), pool)
    result = _result(cell, seen, pool, hello, ended(error.log_tail, found), None)
    return Trial(result=result, connections=cell.connections)


def _stop(cell: TrialCell, log: str, groups: tuple[TaskLimit | None, TaskLimit | None], pool: int | None) -> Stop:
    contained = cell.runtime.name in IN_IMAGES
    return stop(log, cell.bench.limits, groups, pool or cell.connections.actual, contained=contained)


def _result(
    cell: TrialCell, seen: _Seen, pool: int | None, hello: IdlePool | None, found: Stop, attacked: AttackResult | None
) -> PoolSizeResult:
    """Return the result; `attacked` is None if the server ended, so that no request counts as served."""
    delay_s = cell.block.case.wait_s
    outcome = burst(attacked.hits, delay_s) if attacked else None
    held = seen.held
    return PoolSizeResult(
        delay_s=delay_s,
        timeout_s=TIMEOUT_WAITS * delay_s,
        requests=cell.connections.actual,
        pool=pool,
        served_first=outcome.served_first if outcome else 0,
        served=outcome.served if outcome else 0,
        failed=count_failures(attacked.hits) if attacked else {},
        latency=outcome.latency if outcome else UNKNOWN,
        grown_s=outcome.grown_s if outcome else None,
        threads=max(seen.window.samples.threads, default=None) if seen.window else None,
        rss_kb=held.rss_kb if held else None,
        heap_kb=held.heap_used_kb if held else None,
        stacks_kb=held.thread_committed_kb if held else None,
        stopped_by=found.by,
        fix=found.fix,
        hello=hello,
        cpu_s=attacked.cpu_s if attacked else None,
        version=attacked.version if attacked else "",
        answers=cell.bench.store.write_raw(f"{cell.name}-answers", outcome.took_us) if outcome else None,
    )
