"""The measurement of an explanation: both servers run, and windows with and without a profiler alternate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from zoo.core.errors import RuntimeFailure
from zoo.explain.counts import parse_strace_summary
from zoo.explain.data import PlainWindow, ProfiledWindow, Side
from zoo.explain.groups import Groups
from zoo.explain.profilers import (
    AsyncProfiler,
    CallCounter,
    Perf,
    Profiler,
    ProfilerError,
    find_async_profiler,
    find_inferno,
)
from zoo.explain.stacks import Stack, mean_stacks
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadSpec
from zoo.runtime.base import HostedServer
from zoo.sample import jcmd
from zoo.sample.proc import usage
from zoo.sample.switches import SwitchReader

WARMUPS = 4
"""Number of loads per server before the first window, alternating between the servers."""

CALLS_S = 3.0
CALLS_CONNECTIONS = 100
"""Connections while system calls are counted; opening and closing them counts too, so there are few."""

ALLOCATION_WINDOWS = 3
TIMEOUT_S = 30.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Load:
    """The load of every window. `windows` is the number of profiled ones per side, `warmup_s` the warm-up per side."""

    path: str
    connections: int
    window_s: float
    windows: int
    warmup_s: float


@dataclass
class Subject:
    """One of the two servers, and what was measured so far. `stacks` are in µs per request, one set per window."""

    entry: str
    hosted: HostedServer
    profiler: Profiler
    plain: list[PlainWindow] = field(default_factory=list)
    profiled: list[ProfiledWindow] = field(default_factory=list)
    stacks: list[dict[Stack, float]] = field(default_factory=list)
    calls: dict[str, float] = field(default_factory=dict)
    allocated: list[float] = field(default_factory=list)

    def side(self) -> Side:
        return Side(
            entry=self.entry,
            profiler=self.profiler.name,
            plain=self.plain,
            profiled=self.profiled,
            calls=self.calls,
            calls_connections=CALLS_CONNECTIONS if self.calls else 0,
            allocated_bytes=self.allocated,
        )

    def mean(self) -> dict[Stack, float]:
        """Return the mean CPU time per request of each stack, in µs."""
        return mean_stacks(self.stacks)


def seconds(load: Load) -> float:
    """Return about how many seconds an explanation takes."""
    each = load.warmup_s + (2 * load.windows + ALLOCATION_WINDOWS) * (load.window_s + 0.7) + CALLS_S + 2
    return 2 * each + 10


def profiler_for(hosted: HostedServer, tools: Path) -> Profiler:
    """Return the profiler that fits the process; raise `ProfilerError` if a tool is missing."""
    if jcmd.jdk_tool(hosted.pid, "jcmd") is not None:
        return AsyncProfiler(hosted.pid, find_async_profiler(tools))
    return Perf(hosted.pid, find_inferno(tools))


def measure(a: Subject, b: Subject, load: Load, groups: Groups, say: Say) -> list[str]:
    """Warm both servers up and measure all windows; return what could not be recorded."""
    pair = (a, b)
    for number in range(WARMUPS):
        for subject in pair:
            say(f"warm-up {number + 1} of {WARMUPS}: {subject.entry}")
            _load(subject, load, load.warmup_s / WARMUPS)
    for number in range(load.windows):
        # a b b a: a drift of the machine that is linear in time reaches both sides alike
        for subject in pair if number % 2 == 0 else reversed(pair):
            say(f"window {number + 1} of {load.windows}: {subject.entry}")
            subject.plain.append(_plain_window(subject, load))
            _profiled_window(subject, load, groups)
    missing: dict[str, None] = {}
    for step in (_count_calls, _sample_allocations):
        for subject in pair:
            say(f"{step.__name__.strip('_').replace('_', ' ')}: {subject.entry}")
            try:
                step(subject, load)
            except ProfilerError as error:
                missing[str(error)] = None
    return list(missing)


def _load(subject: Subject, load: Load, window_s: float, connections: int | None = None) -> LoadOutcome:
    spec = LoadSpec(subject.hosted.url + load.path, connections or load.connections, window_s, TIMEOUT_S)
    outcome = subject.hosted.generator.run(spec)
    if not subject.hosted.is_alive():
        raise subject.hosted.exit_failure("under load")
    if not outcome.goodput:
        raise RuntimeFailure("no_responses", f"{subject.entry} gave no response under load", subject.hosted.log_tail())
    return outcome


def _plain_window(subject: Subject, load: Load) -> PlainWindow:
    pid, switches = subject.hosted.pid, SwitchReader()
    switches.read([pid])
    before = _cpu_s(subject)
    outcome = _load(subject, load, load.window_s)
    cpu_s = _cpu_s(subject) - before
    switches.read([pid])
    seen, requests = switches.total(), outcome.requests
    return PlainWindow(
        requests=requests,
        rps=requests / outcome.runtime_s,
        cpu_us=1e6 * cpu_s / requests,
        voluntary=None if seen is None else seen.voluntary / requests,
        involuntary=None if seen is None else seen.involuntary / requests,
        migrations=None if seen is None or seen.migrations is None else seen.migrations / requests,
    )


def _profiled_window(subject: Subject, load: Load, groups: Groups) -> None:
    before = _cpu_s(subject)
    subject.profiler.start()
    outcome = _load(subject, load, load.window_s)
    cpu_s = _cpu_s(subject) - before
    stacks = {stack: us / outcome.requests for stack, us in subject.profiler.stop().items()}
    if not stacks:
        raise ProfilerError(f"{subject.profiler.name} recorded nothing of {subject.entry}, which was under load")
    subject.stacks.append(stacks)
    subject.profiled.append(
        ProfiledWindow(
            requests=outcome.requests,
            rps=outcome.requests / outcome.runtime_s,
            cpu_us=1e6 * cpu_s / outcome.requests,
            groups_us=groups.sum_by_group(stacks),
        )
    )


def _count_calls(subject: Subject, load: Load) -> None:
    counter = CallCounter(subject.hosted.pid)
    try:
        outcome = _load(subject, load, CALLS_S, min(CALLS_CONNECTIONS, load.connections))
    finally:
        summary = counter.stop()
    subject.calls = {name: calls / outcome.requests for name, calls in parse_strace_summary(summary).items()}


def _sample_allocations(subject: Subject, load: Load) -> None:
    profiler = subject.profiler
    if not isinstance(profiler, AsyncProfiler):
        return
    for _ in range(ALLOCATION_WINDOWS):
        profiler.start_allocations()
        outcome = _load(subject, load, load.window_s)
        subject.allocated.append(profiler.stop_allocations() / outcome.requests)


def _cpu_s(subject: Subject) -> float:
    seen = usage(subject.hosted.pid)
    if seen is None:
        raise subject.hosted.exit_failure("between two windows")
    return seen.cpu_s
