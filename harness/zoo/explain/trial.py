"""The measurement of an explanation: both servers run, and windows with and without a profiler alternate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zoo.core.errors import RuntimeFailure
from zoo.explain.analysis import only_frames, unnamed_share
from zoo.explain.counts import UseByKind, parse_strace_summary, use_by_kind
from zoo.explain.data import EventWindow, ExplainedSide, PlainWindow, ProfiledWindow
from zoo.explain.groups import Groups
from zoo.explain.profilers import (
    AsyncProfiler,
    CallCounter,
    FlightRecorder,
    Perf,
    Profiler,
    ProfilerError,
    find_async_profiler,
    find_inferno,
    read_scheduler,
    require_attachable,
)
from zoo.explain.stacks import Stack, divide_cpu, mean_stacks
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadSpec
from zoo.runtime.base import HostedServer
from zoo.sample import jcmd
from zoo.sample.proc import usage
from zoo.sample.switches import SwitchReader

WARMUPS = 4
"""Number of loads per server before the first window, alternating between the servers."""

COUNT_WINDOWS = 4
"""Number of windows for each kind of count that needs tools of its own: system calls and events."""

CALLS_S = 2.0
CALLS_CONNECTIONS = 100
"""Connections while system calls are counted; opening and closing them counts too, so there are few."""

MOST_UNNAMED = 0.2
"""Share of CPU time in functions without a name above which the page points it out."""

TIMEOUT_S = 30.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class WindowLoad:
    """The load of every window. `windows` is the number of profiled ones per side, `warmup_s` the warm-up per side.

    Without a path, each server is sent requests for its plain response.
    """

    path: str | None
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
    calls: list[dict[str, float]] = field(default_factory=list)
    events: list[EventWindow] = field(default_factory=list)
    allocated: list[float] = field(default_factory=list)

    def side(self, other: Mapping[Stack, float], groups: Groups) -> ExplainedSide:
        """Return what was measured; `other` is the mean CPU time of the other side's stacks."""
        return ExplainedSide(
            entry=self.entry,
            profiler=self.profiler.name,
            plain=self.plain,
            profiled=self.profiled,
            calls=self.calls,
            calls_connections=CALLS_CONNECTIONS if self.calls else 0,
            allocated_bytes=self.allocated,
            events=self.events,
            only_us=only_frames(groups.without_starts(self.mean()), groups.without_starts(other)),
        )

    def mean(self) -> dict[Stack, float]:
        """Return the mean CPU time per request of each stack, in µs."""
        return mean_stacks(self.stacks)


def seconds(load: WindowLoad) -> float:
    """Return about how many seconds an explanation takes."""
    windows = 2 * load.windows + COUNT_WINDOWS
    each = load.warmup_s + windows * (load.window_s + 0.7) + COUNT_WINDOWS * (CALLS_S + 5)
    return 2 * each + 10


def profiler_for(hosted: HostedServer, tools: Path) -> Profiler:
    """Return the profiler that fits the process; raise `ProfilerError` if a tool is missing or may not attach."""
    require_attachable(hosted.pid)
    if jcmd.jdk_tool(hosted.pid, "jcmd") is not None:
        return AsyncProfiler(hosted.pid, find_async_profiler(tools))
    return Perf(hosted.pid, find_inferno(tools))


def measure(a: Subject, b: Subject, load: WindowLoad, groups: Groups, say: Say) -> list[str]:
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
    missing = {_unnamed(subject): None for subject in pair}
    for what, count in (
        ("system calls", _count_calls),
        ("locks, scheduler and allocations", _record_events),
    ):
        missing |= dict.fromkeys(_count(pair, load, what, count, say))
    return [sentence for sentence in missing if sentence]


def _count(
    pair: tuple[Subject, Subject], load: WindowLoad, what: str, count: Callable[[Subject, WindowLoad], None], say: Say
) -> list[str]:
    """Count in the windows of both servers, and return what failed; a server whose tool fails is not tried again."""
    failed: dict[str, str] = {}
    for number in range(COUNT_WINDOWS):
        for subject in pair if number % 2 == 0 else reversed(pair):
            if subject.entry not in failed:
                say(f"{what}, {number + 1} of {COUNT_WINDOWS}: {subject.entry}")
                try:
                    count(subject, load)
                except ProfilerError as error:
                    failed[subject.entry] = str(error)
    return list(failed.values())


def _unnamed(subject: Subject) -> str:
    """Return a sentence if much of the CPU time is in functions without a name, otherwise an empty text."""
    share = unnamed_share(subject.mean())
    if share <= MOST_UNNAMED:
        return ""
    return (
        f"{share:.0%} of the CPU time of {subject.entry} is in functions without a name: its binary was built without "
        'symbols; for Rust, set strip = "debuginfo" in the profile of the build'
    )


def _load(subject: Subject, load: WindowLoad, window_s: float, connections: int | None = None) -> LoadOutcome:
    spec = LoadSpec(
        subject.hosted.url + (load.path or subject.hosted.home), connections or load.connections, window_s, TIMEOUT_S
    )
    outcome = subject.hosted.generator.run(spec)
    if not subject.hosted.is_alive():
        raise subject.hosted.exit_failure("under load")
    if not outcome.goodput:
        raise RuntimeFailure("no_responses", f"{subject.entry} gave no response under load", subject.hosted.log_tail())
    return outcome


def _plain_window(subject: Subject, load: WindowLoad) -> PlainWindow:
    pid, switches = subject.hosted.pid, SwitchReader()
    threads = subject.hosted.instruments.thread_times(pid)
    switches.read([pid])
    before = _cpu_s(subject)
    outcome = _load(subject, load, load.window_s)
    cpu_s = _cpu_s(subject) - before
    switches.read([pid])
    used = use_by_kind(threads, subject.hosted.instruments.thread_times(pid))
    seen, requests = switches.total(), outcome.requests
    return PlainWindow(
        requests=requests,
        rps=requests / outcome.runtime_s,
        cpu_us=1e6 * cpu_s / requests,
        voluntary=None if seen is None else seen.voluntary / requests,
        involuntary=None if seen is None else seen.involuntary / requests,
        migrations=None if seen is None or seen.migrations is None else seen.migrations / requests,
        queued_us=None if used is None else 1e6 * used.requests_wait_s / requests,
        **_jvm_threads(subject, used, requests),
    )


def _jvm_threads(subject: Subject, used: UseByKind | None, requests: int) -> dict[str, float]:
    """Return the fields about threads that only a JVM has."""
    if used is None or not used.cpu_s or not isinstance(subject.profiler, AsyncProfiler):
        return {}
    return {
        "jit_queued_us": 1e6 * used.jit_wait_s / requests,
        "gc_percent": 100 * used.gc_s / used.cpu_s,
        "jit_percent": 100 * used.jit_s / used.cpu_s,
    }


def _profiled_window(subject: Subject, load: WindowLoad, groups: Groups) -> None:
    before = _cpu_s(subject)
    subject.profiler.start()
    outcome = _load(subject, load, load.window_s)
    cpu_s = _cpu_s(subject) - before
    weights = subject.profiler.stop()
    if not weights:
        raise ProfilerError(f"{subject.profiler.name} recorded nothing of {subject.entry}, which was under load")
    # Not the samples' own time: the profiler's work is part of it, and the kernel may merge timers that expire.
    stacks = divide_cpu(subject.plain[-1].cpu_us, weights)
    subject.stacks.append(stacks)
    subject.profiled.append(
        ProfiledWindow(
            requests=outcome.requests,
            rps=outcome.requests / outcome.runtime_s,
            cpu_us=1e6 * cpu_s / outcome.requests,
            groups_us=groups.sum_by_group(stacks),
        )
    )


def _count_calls(subject: Subject, load: WindowLoad) -> None:
    counter = CallCounter(subject.hosted.pid)
    try:
        outcome = _load(subject, load, CALLS_S, min(CALLS_CONNECTIONS, load.connections))
    finally:
        summary = counter.stop()
    counted = parse_strace_summary(summary)
    subject.calls.append({name: calls / outcome.requests for name, calls in counted.items()})


def _record_events(subject: Subject, load: WindowLoad) -> None:
    """Record contended locks, pinned virtual threads, the work of their scheduler and allocations during one window."""
    profiler, pid = subject.profiler, subject.hosted.pid
    if not isinstance(profiler, AsyncProfiler):
        return
    recorder, before = FlightRecorder(pid), read_scheduler(pid)
    profiler.start_locks()
    outcome = _load(subject, load, load.window_s)
    contended, after, recorded = profiler.stop_locks(), read_scheduler(pid), recorder.stop()
    subject.events.append(
        EventWindow(
            contended={name: waits / outcome.requests for name, waits in contended.items()},
            pinned=None if recorded.pinned is None else recorded.pinned / outcome.requests,
            carriers=None if after is None else after.carriers,
            steals=None if before is None or after is None else (after.steals - before.steals) / outcome.requests,
        )
    )
    if recorded.allocated_bytes is not None:
        subject.allocated.append(recorded.allocated_bytes / outcome.requests)


def _cpu_s(subject: Subject) -> float:
    seen = usage(subject.hosted.pid)
    if seen is None:
        raise subject.hosted.exit_failure("between two windows")
    return seen.cpu_s
