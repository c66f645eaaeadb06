"""The tools of a trial: a warm server, and readings around whatever loads it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from zoo.bench.cell import BenchCell
from zoo.bench.readings import Readings, sampling, server_facts
from zoo.bench.warmup import WarmServer, start_warm
from zoo.bench.window import Window
from zoo.core.flag import Flag
from zoo.core.manifest import Entry
from zoo.core.measurement import Connections
from zoo.core.record import Trial
from zoo.core.run import Program
from zoo.core.trial_results import Result
from zoo.core.windows import BACKLOG_GRACE_S
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.runtime.base import HostedServer, Launch, Runtime
from zoo.stats.flags import machine_flags

CLOCK_STEP_S = 0.5
"""Jump of the time of day above which a trial fails, in seconds, because generators measure with the time of day.

It is above what a time server corrects gradually within some minutes.
"""


def clock_offset() -> float:
    """Return the time of day minus the time that the machine was awake; it is constant until the clock is set."""
    return time.time() - time.monotonic()


@dataclass
class TrialCell(BenchCell):
    """One cell of a trial; `new_launch` returns how to start its server, with a new log each time.

    `private` means that the server's network cannot be reached from elsewhere.
    """

    runtime: Runtime
    entry: Entry
    program: Program
    private: bool
    new_launch: Callable[[], Launch]
    _readings: Readings = field(init=False)

    def launch(self, *flags: str, env: Mapping[str, str] | None = None) -> Launch:
        """Return a launch with additional JVM flags and environment variables."""
        launch = self.new_launch()
        return replace(launch, jvm_flags=(*launch.jvm_flags, *flags), env={**launch.env, **(env or {})})

    @contextmanager
    def warm_server(self, *flags: str, env: Mapping[str, str] | None = None) -> Iterator[WarmServer]:
        """Yield a warmed-up server, and stop it at the end.

        If the server ends early, raise that as the failure, even if the load failed first.
        """
        start = partial(self.runtime.start, self.launch(*flags, env=env))
        where = self.block.describe(self.entry_id)
        server = start_warm(self.bench, start, where, self.block, self.tier, native=self.entry.native)
        with _until_end(server.hosted):
            yield server

    @contextmanager
    def cold(self, *flags: str) -> Iterator[HostedServer]:
        """Yield a server that listens and has received no request, and stop it at the end."""
        self.bench.display.phase(self.block.describe(self.entry_id), "starting the server")
        hosted = self.runtime.start(self.launch(*flags))
        with _until_end(hosted):
            yield hosted

    @contextmanager
    def window(self, server: WarmServer) -> Iterator[Window]:
        """Read the server around one load, during which the context lasts; the caller sets its `generator_cpu_s`."""
        offset_s = clock_offset()
        readings = Readings.begin(server.hosted)
        with Window(server.hosted) as window:
            yield window
        step_s = clock_offset() - offset_s
        if abs(step_s) > CLOCK_STEP_S:
            message = (
                "the clock was set or the machine was suspended, because the time of day jumped "
                f"by {step_s:+,.1f} s: measure the cell again with --resume"
            )
            raise LoadError("clock_set", message)
        readings.end(server.hosted)
        self._readings = readings

    def trial(
        self,
        server: WarmServer,
        window: Window,
        result: Result,
        good: int,
        connections: Connections | None = None,
        flags: Sequence[Flag] = (),
    ) -> Trial:
        """Return the result with all readings around its window; `good` is the number of good responses."""
        readings, samples = self._readings, window.samples
        raised = {
            Flag.CLAMPED: connections is not None and connections.limited_by is not None,
            **machine_flags(window.noise, readings.kernel),
            **dict.fromkeys(flags, True),
        }
        return Trial(
            result=result,
            connections=connections,
            memory=readings.memory(server.idle_kb, samples),
            work=readings.work(window.cpu_s, good, samples),
            warmup=server.warmup,
            noise=window.noise,
            kernel=readings.kernel,
            canary_s=server.canary_s,
            sampling=sampling(server.hosted, samples, self.bench.store, self.name),
            server=server_facts(server.info, server.hosted.ready_s),
            flags=[flag for flag in Flag if raised.get(flag)],
        )


@contextmanager
def _until_end(hosted: HostedServer) -> Iterator[None]:
    """Stop the server at the end. If it ended early, raise that as the failure."""
    try:
        yield
    except (LoadError, ProcessLookupError) as error:
        if isinstance(error, LoadError) and hosted.is_alive():
            raise
        raise hosted.exit_failure("during the measurement") from error
    finally:
        hosted.stop(BACKLOG_GRACE_S)


def unserved(outcome: LoadOutcome, connections: int) -> str:
    """Return why not all connections were held and served; empty if they were."""
    if outcome.errors.total:
        return f"{outcome.errors.total:,} errors"
    if outcome.goodput < connections:
        return f"{outcome.goodput:,} responses on {connections:,} connections"
    return ""
