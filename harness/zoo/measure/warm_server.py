"""A server made ready to be measured: started, probed, read while idle, warmed up, and waited for between loads."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.measure import window
from zoo.measure.window import Bench
from zoo.model.errors import RuntimeFailure
from zoo.model.measurement import Warmup
from zoo.plan import capacity, windows
from zoo.plan.blocks import Block
from zoo.plan.capacity import Tier
from zoo.plan.scenario import SCENARIOS
from zoo.runtime.base import Hosted
from zoo.sample.instruments import known
from zoo.sample.requests import Info

BRIEF_CONNECTIONS = 2_500
"""Warm-up at a tier opens at most so many, so that few of its sockets linger when the window begins."""

GENTLE_CONNECTIONS = 2
"""A JVM's warm-up begins with so many: among hundreds of runnable threads its compiler hardly gets a core, and a pool
of platform threads then stays at a fraction of its rate for minutes."""

WORK_OFF_S = 120.0
FEW = 10
"""Connections that may still be open when a server counts as idle."""

LOOK_S = 0.1
QUIET_SHARE = 0.2  # of a core
LONGEST_WAIT_S = 10.0
"""A server may have work of its own, which the noise of the next window then shows."""

STEADY_WINDOWS = 4
TREND_MATTERS = 0.02
TREND = {4: 6, 5: 8, 6: 11}
"""Windows: the least |S| of Mann and Kendall whose two-sided probability without a trend is below 10 %."""


@dataclass
class WarmServer:
    """A running server of a block, and how it was warmed up.

    `asleep_until_s`: requests of the load before may wait until this time, though their connections are closed.
    """

    hosted: Hosted
    info: Info | None
    idle_kb: int | None
    canary_s: float | None
    warmup: Warmup
    asleep_until_s: float = 0.0


def start_warm(
    bench: Bench, start: Callable[[], Hosted], where: str, block: Block, first: Tier, *, native: bool
) -> WarmServer:
    """Start a server, probe it, read it while idle and warm it up; `where` is for the reporter.

    Raises `RuntimeFailure` or `LoadError` when one of these fails; the server is then stopped.
    """
    bench.reporter.phase(where, "starting the server")
    hosted = start()
    tools = hosted.instruments
    try:
        info = hosted.probe()
        bench.clock.rest(bench.profile.idle_s)
        canary = None if bench.emulated else tools.canary()
        idle = tools.snapshot(hosted.pid)
        warmup = warm_up(bench, where, block, hosted, first, native=native)
    except (LoadError, ProcessLookupError) as error:
        alive = hosted.alive() and isinstance(error, LoadError)
        hosted.stop(0)
        if alive:
            raise
        raise hosted.ended("during warm-up") from error
    except RuntimeFailure as error:
        hosted.stop(0)
        raise RuntimeFailure(error.kind, error.message, error.log_tail or hosted.log_tail()) from error
    except BaseException:
        hosted.stop(0)
        raise
    return WarmServer(hosted, info, idle.rss_kb if idle else None, canary, warmup)


def warm_up(bench: Bench, where: str, block: Block, hosted: Hosted, first: Tier, *, native: bool) -> Warmup:
    """Load at the first tier: until throughput is steady where the scenario measures it, else for a fixed time.

    Before a trial only with few connections: a pool that grows with its load has to be at rest when it begins.
    """
    bench.reporter.phase(where, "warm-up")
    profile = bench.profile
    scenario = SCENARIOS[block.scenario]
    connections = capacity.connections(bench.limits, first.connections).actual
    if scenario.trial:
        connections = min(GENTLE_CONNECTIONS, connections)
    url = hosted.url + block.warm_path(hosted.home)
    if bench.emulated:
        return _paced(bench, hosted, url, connections, native=native)
    if not scenario.settle:
        outcome = bench.load(hosted, bench.spec(url, connections, profile.sleep_warmup_s))
        return Warmup(seconds=outcome.runtime_s, connections=connections, window_rps=[_rps(outcome)], reached=None)
    least = profile.warmup_windows(native=native)
    gentle = profile.gentle_windows(native=native)
    rates: list[float] = []
    seconds = 0.0
    while len(rates) < least or (
        not steady(rates[gentle:]) and seconds + profile.warmup_window_s <= profile.warmup_cap_s
    ):
        now = min(GENTLE_CONNECTIONS, connections) if len(rates) < gentle else connections
        outcome = bench.load(hosted, bench.spec(url, now, profile.warmup_window_s))
        _read_info(hosted)
        rates.append(_rps(outcome))
        seconds += outcome.runtime_s
        state = "steady" if steady(rates[gentle:]) else "not steady yet"
        bench.reporter.phase(where, f"warm-up window {len(rates)}: {rates[-1]:,.0f} req/s, {state}")
    reached = steady(rates[gentle:])
    return Warmup(seconds=seconds, connections=connections, gentle=gentle, window_rps=rates, reached=reached)


def _read_info(hosted: Hosted) -> None:
    """Read `/info` as it is read before a window.

    A compiler that has seen only the load's requests bets on them. The first other request would then cost a JVM its
    compiled code, and the next window about half of its rate.
    """
    hosted.instruments.info(hosted.url)


def _paced(bench: Bench, hosted: Hosted, url: str, held: int, *, native: bool) -> Warmup:
    """On an emulated host: loads for its caches and a JVM's compiler.

    Up to twice as many while not even the longest wait would do to read the requests of all connections to be held.
    """
    connections = min(held, BRIEF_CONNECTIONS)
    spec = bench.spec(url, connections, bench.profile.sleep_warmup_s)
    least = bench.profile.warmup_windows(native=native)
    longest_s = bench.profile.sleep_delay_s
    seconds, loads, pace = 0.0, 0, None
    while loads < least or (loads < 2 * least and not windows.at_once(held, longest_s, pace)):
        load = window.run(bench, hosted, spec)
        _work_off(bench, hosted)
        _read_info(hosted)
        ran = load.outcome
        seconds, loads = seconds + ran.runtime_s, loads + 1
        pace = windows.pace(connections, load.connect_s, ran.histogram.mean_us / 1e6, ran.runtime_s)
    return Warmup(seconds=seconds, connections=connections, window_rps=[], reached=None, pace=pace)


def _work_off(bench: Bench, hosted: Hosted) -> None:
    """On a slow machine a server may be busy with the warm-up's requests long after their connections were closed."""
    waited = 0.0
    while _open_sockets(hosted) > FEW and waited < WORK_OFF_S:
        bench.clock.rest(1.0)
        waited += 1.0


def _open_sockets(hosted: Hosted) -> int:
    """Those among them that the server has not closed yet; a count of established ones alone would leave them out."""
    samples = hosted.instruments.sample(hosted.pid).stop()
    return next((count for count in reversed(samples.established) if count is not None), 0)


def _rps(outcome: LoadOutcome) -> float:
    return outcome.goodput / outcome.runtime_s if outcome.runtime_s > 0 else 0.0


def steady(rates: Sequence[float]) -> bool:
    """True when the last windows show no trend that matters: more of them would not bring another throughput.

    A trend that matters: the least-squares line over the last four windows rises or falls by 2 % of their mean, and the
    windows (up to six) follow their order so closely that noise does so in less than one case of ten (Mann 1945,
    Kendall 1970: S = Σ sign(later - earlier)). A bound on the variation is no part of it: where windows of
    a warm server vary by 8 % it would never be met (docs/method.md).
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


def wait_idle(bench: Bench, hosted: Hosted) -> None:
    """Wait until a server is done with what a generator left unanswered; ProcessLookupError when it has ended.

    It goes on with requests whose connections were closed, and would take that time from the server that is loaded
    next. Returns at once where the server's process is not known.
    """
    before = hosted.instruments.snapshot(hosted.pid)
    until = bench.clock.seconds() + LONGEST_WAIT_S
    while before is not None and bench.clock.seconds() < until:
        bench.clock.rest(LOOK_S)
        after = known(hosted.instruments.snapshot(hosted.pid))
        if after.cpu_s - before.cpu_s < QUIET_SHARE * LOOK_S:
            return
        before = after


def wait_closed(bench: Bench, hosted: Hosted, wait_s: float) -> int | None:
    """Wait until the server has closed the connections of the load before; return how many it has not, None if unknown.

    A thread that waits in a request learns only at its end, `wait_s` after it began, that the client is gone. Until
    then the connection keeps its memory and its descriptor, and the next load would find too few of these.
    """
    until = bench.clock.seconds() + wait_s + LONGEST_WAIT_S
    left = hosted.instruments.unclosed(hosted.url)
    while left is not None and left > FEW and bench.clock.seconds() < until:
        bench.clock.rest(LOOK_S)
        left = hosted.instruments.unclosed(hosted.url)
    return left
