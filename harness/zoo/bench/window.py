"""One window of load on one server, from the readings before it to its figures, and the sums over several windows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

from zoo.bench.display import Display, LiveFigures
from zoo.bench.readings import latency
from zoo.bench.reconnects import ConnectionCount
from zoo.bench.responses import ResponseCheck
from zoo.core import windows
from zoo.core.defaults import Profile
from zoo.core.histogram import merge
from zoo.core.host_facts import Limits
from zoo.core.measurement import ErrorCounts, GeneratorUse, LoadWindow
from zoo.core.run_folder import Store
from zoo.core.samples import Noise, Samples, Switches
from zoo.host import run_metadata
from zoo.load.base import LoadOutcome
from zoo.load.execute import Tick
from zoo.load.spec import LoadError, LoadSpec
from zoo.runtime.base import HostedServer
from zoo.stats import flags

CUT = 0.98
"""Share of its planned time that a load must last; a shorter load was cut short.

The tolerance allows for a clock that is corrected during the load.
"""

CLOCKS_APART = 1.25
"""Maximum ratio of a load's duration on the generator's clock to the duration on the harness's clock.

The generator uses the time of day, which can be set and continues while the machine is suspended. The harness uses a
clock that does neither. A guest's clock may run this much faster than its host's.
"""

GENERATORS_APART = 0.05
"""Maximum delay between the starts of several generator hosts, as a share of the window.

Beyond it the generators have no window in common.
"""


class Clock:
    """The clock of the machine; replaced in tests."""

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def seconds(self) -> float:
        """Return the monotonic time in seconds; the starting point is arbitrary."""
        return time.monotonic()

    def now(self) -> str:
        """Return the time in UTC, in ISO 8601."""
        return run_metadata.now()


@dataclass(frozen=True)
class Bench:
    """The tools that measure a cell; `answer_bytes` is the response length by server, learnt from each load."""

    limits: Limits
    clock: Clock
    store: Store
    profile: Profile
    display: Display
    threads: int
    emulated: bool = False
    answer_bytes: dict[str, float] = field(default_factory=dict)

    def load(
        self,
        hosted: HostedServer,
        spec: LoadSpec,
        halfway: Callable[[float], None] | None = None,
        waitless: str | None = None,
    ) -> LoadOutcome:
        """Run the generator; raise `LoadError` if it gives no figures or more than 1% of the responses were bad.

        `waitless` is a URL with the same response if the load's URL makes the server wait. `halfway` is as in `send`.
        """
        responses = ResponseCheck(hosted, spec, waitless or spec.url)
        outcome = self.send(hosted, spec, halfway)
        responses.check(outcome)
        return outcome

    def send(
        self,
        hosted: HostedServer,
        spec: LoadSpec,
        halfway: Callable[[float], None] | None = None,
        on_tick: Tick | None = None,
    ) -> LoadOutcome:
        """Run the generator and display its live figures. The responses are not checked.

        `halfway` is called at most once, in the middle of the run. Its argument is the earliest time at which the load
        ends, in seconds on `clock`.
        """
        here = hosted.pid if hosted.instruments.sampler == "host" else None
        figures = LiveFigures(hosted.generator.pids, here, None if self.emulated else self.answer_bytes.get(hosted.url))

        def tick(elapsed: float) -> None:
            nonlocal halfway
            if on_tick is not None:
                on_tick(elapsed)
            if figures.read(elapsed):
                self.display.live(str(figures))
            if halfway is not None and elapsed >= spec.duration_s / 2:
                call, halfway = halfway, None
                call(start_s + spec.duration_s)

        start_s = self.clock.seconds()
        outcome = hosted.generator.run(spec, tick)
        took_s = self.clock.seconds() - start_s
        if outcome.runtime_s > CLOCKS_APART * took_s + spec.duration_s * (1 - CUT):
            message = (
                f"the clock was set or the machine was suspended, because {outcome.runtime_s:,.0f} s "
                f"of load took {took_s:.1f} s: measure the cell again with --resume"
            )
            raise LoadError("clock_set", message)
        if outcome.runtime_s < CUT * spec.duration_s:
            message = f"the load generator stopped after {outcome.runtime_s:.1f} of {spec.duration_s:g} s"
            raise LoadError("generator_cut", message)
        if outcome.requests:
            self.answer_bytes[hosted.url] = outcome.bytes / outcome.requests
        return outcome

    def spec(self, url: str, connections: int, duration_s: float, threads: int | None = None) -> LoadSpec:
        """Return a load whose timeout exceeds the window, so that a late response counts with its true latency."""
        return LoadSpec(url, connections, duration_s, duration_s + 5, threads or self.threads)


class Window:
    """One load on one server, and what is read meanwhile of the server and its machine.

    `run` sends a load of wrk and reports on it. Any other load runs inside `with window:`, and the caller sets
    `generator_cpu_s`. After a failed load only `samples` is set. The end of the context raises ProcessLookupError if
    the server has ended.
    """

    samples: Samples
    noise: Noise
    cpu_s: float | None
    """The server's CPU time; None if its process is not known."""

    spec: LoadSpec
    outcome: LoadOutcome
    established: int | None = None
    """Number of connections in the middle of the window; None if they were not counted."""
    connect_s = 0.0
    reopened: int | None = None
    """Number of connections opened beyond those requested, because the server closed some."""

    def __init__(self, hosted: HostedServer) -> None:
        self._hosted, self._tools = hosted, hosted.instruments
        self.generator_cpu_s = 0.0

    def __enter__(self) -> Self:
        self._before = self._tools.snapshot(self._hosted.pid)
        self._noise = self._tools.noise(self._hosted.pid)
        self._sampler = self._tools.sample(self._hosted.pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.samples = self._sampler.stop()
        if error is not None:
            return
        before, after = self._before, self._tools.snapshot(self._hosted.pid)
        self.cpu_s = None if before is None or after is None else after.cpu_s - before.cpu_s
        elsewhere = self._hosted.generator_processors is not None and self._hosted.generator_processors.elsewhere
        known_s = None if self.cpu_s is None else self.cpu_s + (0.0 if elsewhere else self.generator_cpu_s)
        self.noise = self._noise.stop(known_s, self.samples.mean_runnable)

    def run(
        self,
        bench: Bench,
        spec: LoadSpec,
        halfway: Callable[[int | None], None] | None = None,
        waitless: str | None = None,
    ) -> Self:
        """Load the server once. Raise `LoadError` or ProcessLookupError if that gives no figures.

        `halfway` is called once in the middle of the run, with the number of established connections. It is not called
        if it would come too late.
        """

        def count(until: float) -> None:
            if bench.clock.seconds() >= until:
                return
            counted = self._tools.count_established(self._hosted.url)
            # A starved harness may count so late that the load is over.
            self.established = counted if bench.clock.seconds() < until else None
            if halfway is not None:
                halfway(self.established)

        self.spec = spec
        responses = ResponseCheck(self._hosted, spec, waitless or spec.url)
        with self:
            connections = ConnectionCount(self._hosted)
            self.outcome = bench.send(self._hosted, spec, count)
            connections.stop()
            self.generator_cpu_s = self.outcome.cpu_s
        self.reopened = connections.reopened(self.outcome)
        responses.check(self.outcome)
        # not checked in warm-ups: 5% of such a short load is little, and generators on a busy host may start further
        # apart
        apart = max((one.began_s for one in self.outcome.generators), default=0.0)
        if apart > GENERATORS_APART * spec.duration_s:
            message = f"the generators started {apart:.2f} s apart in a load of {spec.duration_s:g} s"
            raise LoadError("generators_apart", message)
        if bench.emulated or spec.connections > windows.MANY:
            self.connect_s = self._opening_s()
        return self

    def _opening_s(self) -> float:
        """Return the seconds that were spent opening connections and not on the load.

        A wrk thread that has opened its share of the connections starts its load while others still open theirs. That
        time counts as load. Otherwise the rest of the window would have more responses than it can hold.
        """
        outcome, connections = self.outcome, self.spec.connections
        seconds = flags.connect_seconds(self.samples.t, self.samples.established, connections)
        busy_s = (outcome.histogram.mean_us or 0.0) / 1e6 * outcome.histogram.total / connections
        return 0.0 if seconds is None else max(0.0, min(seconds, outcome.runtime_s - busy_s))

    @property
    def loaded_s(self) -> float:
        """Return the run time in seconds, without the time until all connections were open."""
        return self.outcome.runtime_s - self.connect_s

    @property
    def sampled_connections(self) -> int | None:
        """Return the highest number of open connections, by the host's sockets; None if they cannot be counted."""
        known = [n for n in self.samples.established if n is not None]
        return (max(known) - known[0]) // 2 if known else None

    @property
    def most_open(self) -> int | None:
        """Return the highest known number of open connections; None if none is known."""
        return max((n for n in (self.sampled_connections, self.established) if n is not None), default=None)

    @property
    def is_opening_unfinished(self) -> bool:
        """Return True if the window ended before all connections were open."""
        return self.most_open is not None and self.most_open < flags.ESTABLISHED_LIMIT * self.spec.connections

    @property
    def is_cut_short(self) -> bool:
        """Return True if opening the connections took more than half of the window."""
        return self.connect_s > self.outcome.runtime_s / 2

    def turn(self, place: int) -> LoadWindow:
        times = latency(self.outcome.histogram, self.outcome.errors.status)
        return LoadWindow(
            place=place,
            loaded_s=self.loaded_s,
            goodput=self.outcome.goodput,
            cpu_s=self.cpu_s,
            generator_cpu_s=self.outcome.cpu_s,
            p50_us=times.p50_us,
            p99_us=times.p99_us,
            foreign_share=self.noise.foreign_share,
        )


def sum_outcomes(outcomes: Sequence[LoadOutcome]) -> LoadOutcome:
    """Combine windows with the same load: counts and times are added, histograms are merged."""
    added = ("requests", "bytes", "runtime_s", "cpu_s")
    sums: dict[str, Any] = {name: sum(getattr(o, name) for o in outcomes) for name in added}
    return replace(
        outcomes[0],
        errors=ErrorCounts.sum(o.errors for o in outcomes),
        histogram=merge(o.histogram for o in outcomes),
        corrected=merge(o.corrected for o in outcomes),
        busiest_thread=max(o.busiest_thread for o in outcomes),
        generators=tuple(map(_sum_generators, zip(*(o.generators for o in outcomes), strict=True))),
        **sums,
    )


def _sum_generators(parts: Sequence[GeneratorUse]) -> GeneratorUse:
    """Combine the windows of one generator host."""
    added = {name: sum(getattr(part, name) for part in parts) for name in ("requests", "cpu_s")}
    highest = {name: max(getattr(part, name) for part in parts) for name in ("busiest_thread", "began_s")}
    return parts[0].model_copy(update={**added, **highest})


def join_samples(parts: Sequence[Samples]) -> Samples:
    """Return the samples of consecutive windows on one time line, without the pauses between them."""
    columns = [name for name, value in parts[0].model_dump().items() if isinstance(value, list) and name != "t"]
    starts = [sum(p.elapsed_s for p in parts[:i]) for i in range(len(parts))]
    return Samples(
        hz=parts[0].hz,
        elapsed_s=sum(p.elapsed_s for p in parts),
        own_cpu_s=sum(p.own_cpu_s for p in parts),
        vanished=any(p.vanished for p in parts),
        t=[round(start + t, 4) for start, part in zip(starts, parts, strict=True) for t in part.t],
        switches=_sum_switches([p.switches for p in parts]),
        **{name: [value for part in parts for value in getattr(part, name)] for name in columns},
    )


def _sum_switches(parts: Sequence[Switches | None]) -> Switches | None:
    """Return the sums over all windows; None if one of them was not counted."""
    known_parts = [p for p in parts if p is not None]
    if len(known_parts) < len(parts):
        return None
    columns = {name: [getattr(part, name) for part in known_parts] for name in Switches.model_fields}
    return Switches.model_validate({name: None if None in values else sum(values) for name, values in columns.items()})


def mean_noise(parts: Sequence[Noise]) -> Noise:
    """Return the means over windows, weighted by their lengths; a mean is None if one window has no value for it."""
    elapsed = sum(p.elapsed_s for p in parts)
    means: dict[str, float | None] = {}
    for name in Noise.model_fields:
        values = [getattr(p, name) for p in parts]
        complete = elapsed > 0 and None not in values
        means[name] = sum(v * p.elapsed_s for v, p in zip(values, parts, strict=True)) / elapsed if complete else None
    return Noise.model_validate({**means, "elapsed_s": elapsed})
