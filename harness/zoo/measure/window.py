"""One window of load on one server: generator, samplers and counters around it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from zoo.analysis import flags
from zoo.host import run_metadata
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError, LoadSpec
from zoo.measure.live_figures import Pulse
from zoo.measure.readings import Sampled, latency
from zoo.measure.reporter import Reporter
from zoo.measure.responses import ResponseCheck
from zoo.model.host import Limits
from zoo.model.measurement import Turn
from zoo.model.samples import Noise, Samples
from zoo.plan import windows
from zoo.plan.defaults import Profile
from zoo.runtime.base import Hosted
from zoo.store.run_folder import Store

CUT = 0.98
"""A load below this share of its time was cut short. The rest allows for a clock that is corrected meanwhile."""

CLOCKS_APART = 1.25
"""The generator counts by the time of day, which can be set and goes on while the machine is suspended; the harness by
a clock that does neither. A guest's may run that much faster than its host's."""

GENERATORS_APART = 0.05
"""Share of a window by which its generator hosts may begin apart; beyond it they have no window in common."""


class Clock:
    """This machine's clock; replaced in tests."""

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def seconds(self) -> float:
        """Monotonic time in seconds; the starting point is arbitrary."""
        return time.monotonic()

    def now(self) -> str:
        """ISO 8601, in UTC."""
        return run_metadata.now()


@dataclass(frozen=True)
class Bench:
    """The tools a cell is measured with; `answer_bytes` is the response length by server, learnt from each load."""

    limits: Limits
    clock: Clock
    store: Store
    profile: Profile
    reporter: Reporter
    threads: int
    emulated: bool = False
    answer_bytes: dict[str, float] = field(default_factory=dict)

    def load(
        self,
        hosted: Hosted,
        spec: LoadSpec,
        halfway: Callable[[float], None] | None = None,
        waitless: str | None = None,
    ) -> LoadOutcome:
        """Run the generator; raise `LoadError` when that gives no figures or more than 1% of the responses were bad.

        `waitless` is a URL with the same response, where the load's makes the server wait. `halfway` is as in `send`.
        """
        responses = ResponseCheck(hosted, spec, waitless or spec.url)
        outcome = self.send(hosted, spec, halfway)
        responses.check(outcome)
        return outcome

    def send(self, hosted: Hosted, spec: LoadSpec, halfway: Callable[[float], None] | None = None) -> LoadOutcome:
        """Run the generator, telling the reporter how time goes by. The responses are not checked.

        `halfway` is called once in mid-run, with the clock's seconds until when the load lasts at least, or never.
        """
        told = 0.0
        here = hosted.pid if hosted.instruments.sampler == "host" else None
        pulse = Pulse(hosted.generator.pids, here, None if self.emulated else self.answer_bytes.get(hosted.url))

        def tick(elapsed: float) -> None:
            nonlocal told, halfway
            self.reporter.tick(elapsed - told)
            told = elapsed
            beat = pulse.look(elapsed)
            if beat is not None:
                self.reporter.live(beat)
            if halfway is not None and elapsed >= spec.duration_s / 2:
                call, halfway = halfway, None
                call(start_s + spec.duration_s)

        start_s = self.clock.seconds()
        outcome = hosted.generator.run(spec, tick)
        took_s = self.clock.seconds() - start_s
        if outcome.runtime_s > CLOCKS_APART * took_s + spec.duration_s * (1 - CUT):
            message = (
                f"the clock was set or the machine was suspended: {outcome.runtime_s:,.0f} s of load took {took_s:.1f}"
            )
            raise LoadError("clock_set", message)
        if outcome.runtime_s < CUT * spec.duration_s:
            message = f"the load generator stopped after {outcome.runtime_s:.1f} of {spec.duration_s:g} s"
            raise LoadError("generator_cut", message)
        if outcome.requests:
            self.answer_bytes[hosted.url] = outcome.bytes / outcome.requests
        return outcome

    def spec(self, url: str, connections: int, duration_s: float, threads: int | None = None) -> LoadSpec:
        """A timeout beyond the window: a late answer then still counts with its true latency."""
        return LoadSpec(url, connections, duration_s, duration_s + 5, threads or self.threads)


@dataclass(frozen=True)
class Window:
    """What one window gave. `cpu_s` is the server's, None where its process is not known."""

    outcome: LoadOutcome
    samples: Samples
    noise: Noise
    established: int | None
    connect_s: float
    cpu_s: float | None
    reopened: int | None = None
    """Connections beyond those asked for, because the server closed some."""

    @property
    def loaded_s(self) -> float:
        """Without the time until all connections were open."""
        return self.outcome.runtime_s - self.connect_s

    @property
    def opened(self) -> int | None:
        """Connections that were open at most, by the host's sockets; None where they cannot be counted."""
        known = [n for n in self.samples.established if n is not None]
        return (max(known) - known[0]) // 2 if known else None

    def turn(self, place: int) -> Turn:
        times = latency(self.outcome.histogram, self.outcome.errors.status)
        return Turn(
            place=place,
            loaded_s=self.loaded_s,
            goodput=self.outcome.goodput,
            cpu_s=self.cpu_s,
            generator_cpu_s=self.outcome.cpu_s,
            p50_us=times.p50_us,
            p99_us=times.p99_us,
            foreign_share=self.noise.foreign_share,
        )


def run(
    bench: Bench,
    hosted: Hosted,
    spec: LoadSpec,
    look: Callable[[int | None], None] | None = None,
    waitless: str | None = None,
) -> Window:
    """Load the server once. `LoadError` or ProcessLookupError when that gives no figures.

    `look` is called once in mid-run, with the number of established connections; not when it would come too late.
    """
    established: int | None = None

    def count(until: float) -> None:
        nonlocal established
        if bench.clock.seconds() >= until:
            return
        counted = hosted.instruments.established(hosted.url)
        # Counted later, by a starved harness, it would be of a load that is over.
        established = counted if bench.clock.seconds() < until else None
        if look is not None:
            look(established)

    responses = ResponseCheck(hosted, spec, waitless or spec.url)
    with Sampled(hosted) as seen:
        before = hosted.instruments.counters(hosted.pid)
        outcome = bench.send(hosted, spec, count)
        after = hosted.instruments.counters(hosted.pid)
        seen.generator_cpu_s = outcome.cpu_s
    responses.check(outcome)
    # only here: the generators of a warm-up begin apart on a busy host, and a twentieth of its second is little
    apart = max((one.began_s for one in outcome.generators), default=0.0)
    if apart > GENERATORS_APART * spec.duration_s:
        message = f"the generators began {apart:.2f} s apart in a load of {spec.duration_s:g} s"
        raise LoadError("generators_apart", message)
    visible = bench.emulated or spec.connections > windows.MANY
    connect_s = _connecting(seen.samples, spec.connections, outcome) if visible else 0.0
    accepted = after.since(before).passive_opens if before and after else None
    reopened = flags.reopened(accepted, hosted.instruments.closed(hosted.url), spec.connections)
    return Window(outcome, seen.samples, seen.noise, established, connect_s, seen.cpu_s, reopened)


def _connecting(samples: Samples, connections: int, outcome: LoadOutcome) -> float:
    """Return the seconds that were spent on opening the connections, and not on the load.

    A thread of wrk that has opened its share starts its load while others still open theirs. What its connections did
    then counts as load: otherwise the rest of the window would have more responses than it can hold.
    """
    seconds = flags.connecting(samples.t, samples.established, connections)
    busy_s = (outcome.histogram.mean_us or 0.0) / 1e6 * outcome.histogram.total / connections
    return 0.0 if seconds is None else max(0.0, min(seconds, outcome.runtime_s - busy_s))
