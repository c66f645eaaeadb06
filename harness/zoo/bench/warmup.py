"""Start and warm-up of a server until its throughput is `steady`, and waits between its loads."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.bench.window import Bench, Window
from zoo.core import capacity, windows
from zoo.core.blocks import Block
from zoo.core.capacity import Tier
from zoo.core.errors import RuntimeFailure
from zoo.core.measurement import Warmup
from zoo.core.scenario import SCENARIOS
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.runtime.base import HostedServer
from zoo.sample.instruments import require_process
from zoo.sample.requests import Info

BRIEF_CONNECTIONS = 2_500
"""Maximum number of connections in a brief warm-up, so that few of its sockets linger when the window begins."""

GENTLE_CONNECTIONS = 2
"""Number of connections at the start of a JVM's warm-up.

Among hundreds of runnable threads the JIT compiler hardly gets a core. A pool of platform threads then stays at a
fraction of its rate for minutes.
"""

WORK_OFF_S = 120.0
FEW = 10
"""Maximum number of open connections at which a server counts as idle."""

POLL_S = 0.1
QUIET_SHARE = 0.2  # share of a core
LONGEST_WAIT_S = 10.0
"""Maximum wait for a server to become idle, in seconds.

A server may do background work all the time, which then shows in the noise of the next window.
"""

STEADY_WINDOWS = 4
TREND_MATTERS = 0.02
TREND = {4: 6, 5: 8, 6: 11}
"""Smallest significant |S| of Mann and Kendall by number of windows.

Without a trend, the two-sided probability of such an |S| is below 10%.
"""


@dataclass
class WarmServer:
    """A running server of a block, and how it was warmed up.

    Until `asleep_until_s`, requests of the previous load may still wait although their connections are closed.
    """

    hosted: HostedServer
    info: Info | None
    idle_kb: int | None
    canary_s: float | None
    warmup: Warmup
    asleep_until_s: float = 0.0


def start_warm(
    bench: Bench, start: Callable[[], HostedServer], where: str, block: Block, first: Tier, *, native: bool
) -> WarmServer:
    """Start a server, probe it, measure it while idle and warm it up; `where` names it on the display.

    If a step fails, stop the server and raise `RuntimeFailure` or `LoadError`.
    """
    bench.display.phase(where, "starting the server")
    hosted = start()
    tools = hosted.instruments
    try:
        info = hosted.probe()
        bench.clock.rest(bench.profile.idle_s)
        canary = None if bench.emulated else tools.canary()
        idle = tools.snapshot(hosted.pid)
        warmup = warm_up(bench, where, block, hosted, first, native=native)
    except (LoadError, ProcessLookupError) as error:
        alive = hosted.is_alive() and isinstance(error, LoadError)
        hosted.stop(0)
        if alive:
            raise
        raise hosted.exit_failure("during warm-up") from error
    except RuntimeFailure as error:
        hosted.stop(0)
        raise RuntimeFailure(error.kind, error.message, error.log_tail or hosted.log_tail()) from error
    except BaseException:
        hosted.stop(0)
        raise
    return WarmServer(hosted, info, idle.rss_kb if idle else None, canary, warmup)


def warm_up(bench: Bench, where: str, block: Block, hosted: HostedServer, first: Tier, *, native: bool) -> Warmup:
    """Load the server until its throughput is steady if the scenario measures it, otherwise for a fixed time.

    The load has the connections of the first tier, but only a few before a trial: a pool that grows with its load must
    be at rest when the trial begins.
    """
    bench.display.phase(where, "warm-up")
    profile = bench.profile
    scenario = SCENARIOS[block.scenario]
    connections = capacity.feasible_connections(bench.limits, first.connections).actual
    if scenario.trial:
        connections = min(GENTLE_CONNECTIONS, connections)
    url = hosted.url + block.warm_path(hosted.home)
    if bench.emulated:
        return _warm_up_emulated(bench, hosted, url, connections, native=native)
    if not scenario.measures_throughput:
        outcome = bench.load(hosted, bench.spec(url, connections, profile.sleep_warmup_s))
        return Warmup(seconds=outcome.runtime_s, connections=connections, window_rps=[_rps(outcome)], reached=None)
    return until_steady(bench, where, hosted, url, connections, native=native)


def until_steady(bench: Bench, where: str, hosted: HostedServer, url: str, connections: int, *, native: bool) -> Warmup:
    """Load the server until its throughput is steady. A JVM's first windows have few connections."""
    profile = bench.profile
    least = profile.warmup_windows(native=native)
    gentle = profile.gentle_windows(native=native)
    rates: list[float] = []
    seconds = 0.0
    while len(rates) < least or (
        not is_steady(rates[gentle:]) and seconds + profile.warmup_window_s <= profile.warmup_cap_s
    ):
        now = min(GENTLE_CONNECTIONS, connections) if len(rates) < gentle else connections
        outcome = bench.load(hosted, bench.spec(url, now, profile.warmup_window_s))
        _read_info(hosted)
        rates.append(_rps(outcome))
        seconds += outcome.runtime_s
        state = "steady" if is_steady(rates[gentle:]) else "not steady yet"
        bench.display.phase(where, f"warm-up window {len(rates)}: {rates[-1]:,.0f} req/s, {state}")
    reached = is_steady(rates[gentle:])
    return Warmup(seconds=seconds, connections=connections, gentle=gentle, window_rps=rates, reached=reached)


def _read_info(hosted: HostedServer) -> None:
    """Read `/info` the way it is read before a window.

    A JIT compiler that has seen only the load's requests specializes for them. The first request of another kind would
    then cost a JVM its compiled code, and the next window about half of its rate.
    """
    hosted.instruments.info(hosted.url)


def _warm_up_emulated(
    bench: Bench, hosted: HostedServer, url: str, connections_in_window: int, *, native: bool
) -> Warmup:
    """Warm up the caches and a JVM's compiler on an emulated host.

    Run up to twice the usual number of loads while even the longest wait is too short for the server to read the
    requests of all of the window's connections.
    """
    connections = min(connections_in_window, BRIEF_CONNECTIONS)
    spec = bench.spec(url, connections, bench.profile.sleep_warmup_s)
    least = bench.profile.warmup_windows(native=native)
    longest_s = bench.profile.sleep_delay_s
    seconds, loads, pace = 0.0, 0, None
    while loads < least or (loads < 2 * least and not windows.all_held_at_once(connections_in_window, longest_s, pace)):
        load = Window(hosted).run(bench, spec)
        _wait_backlog(bench, hosted)
        _read_info(hosted)
        ran = load.outcome
        seconds, loads = seconds + ran.runtime_s, loads + 1
        pace = windows.measure_pace(connections, load.connect_s, ran.histogram.mean_us / 1e6, ran.runtime_s)
    return Warmup(seconds=seconds, connections=connections, window_rps=[], reached=None, pace=pace)


def _wait_backlog(bench: Bench, hosted: HostedServer) -> None:
    """Wait until the server has worked off the warm-up's requests.

    On a slow machine this may take long after their connections were closed.
    """
    waited = 0.0
    while _open_sockets(hosted) > FEW and waited < WORK_OFF_S:
        bench.clock.rest(1.0)
        waited += 1.0


def _open_sockets(hosted: HostedServer) -> int:
    """Return the number of open sockets, including those that only the client has closed.

    A count of established sockets alone would leave out the latter.
    """
    samples = hosted.instruments.sample(hosted.pid).stop()
    return next((count for count in reversed(samples.established) if count is not None), 0)


def _rps(outcome: LoadOutcome) -> float:
    return outcome.goodput / outcome.runtime_s if outcome.runtime_s > 0 else 0.0


def is_steady(rates: Sequence[float]) -> bool:
    """Return True if the last windows show no relevant trend, so that more windows would not change the throughput.

    A trend is relevant if two conditions hold. The least-squares line over the last four windows rises or falls by at
    least 2% of their mean. The last windows (up to six) follow their order so closely that noise does so in less than
    one case in ten (Mann 1945, Kendall 1970: S = Σ sign(later - earlier)). There is no bound on the variation: a warm
    server whose windows vary by 8% would never meet it (docs/explanation/method.md).
    """
    last = rates[-STEADY_WINDOWS:]
    if len(last) < STEADY_WINDOWS or min(last) <= 0:
        return False
    rise = statistics.linear_regression(range(STEADY_WINDOWS), last).slope * (STEADY_WINDOWS - 1)
    if abs(rise) < TREND_MATTERS * statistics.fmean(last):
        return True
    recent = rates[-max(TREND) :]
    s = sum((late > early) - (late < early) for early, late in itertools.combinations(recent, 2))
    return abs(s) < TREND[len(recent)]


def wait_idle(bench: Bench, hosted: HostedServer) -> None:
    """Wait until a server has finished the requests that a generator left without a response.

    The server continues with requests whose connections were closed, and would take that time from the server that is
    loaded next. Return immediately if the server's process is not known; raise ProcessLookupError if it has ended.
    """
    before = hosted.instruments.snapshot(hosted.pid)
    until = bench.clock.seconds() + LONGEST_WAIT_S
    while before is not None and bench.clock.seconds() < until:
        bench.clock.rest(POLL_S)
        after = require_process(hosted.instruments.snapshot(hosted.pid))
        if after.cpu_s - before.cpu_s < QUIET_SHARE * POLL_S:
            return
        before = after


def wait_closed(bench: Bench, hosted: HostedServer, wait_s: float) -> int | None:
    """Wait until the server has closed the connections of the previous load.

    Return how many are still open, or None if unknown. A thread that waits in a request notices only at the request's
    end, `wait_s` after its start, that the client is gone. Until then the connection occupies memory and a descriptor,
    and the next load could run out of descriptors.
    """
    until = bench.clock.seconds() + wait_s + LONGEST_WAIT_S
    left = hosted.instruments.count_unclosed(hosted.url)
    while left is not None and left > FEW and bench.clock.seconds() < until:
        bench.clock.rest(POLL_S)
        left = hosted.instruments.count_unclosed(hosted.url)
    return left
