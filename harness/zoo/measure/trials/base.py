"""What a trial is carried out with: a warm server, and readings around whatever loads it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Self

from zoo.analysis.flags import of_machine
from zoo.catalog.manifest import Entry
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.measure.cell import MeasuredCell
from zoo.measure.readings import Readings, Sampled, sampling, server_facts
from zoo.measure.warm_server import WarmServer, start_warm
from zoo.model.flag import Flag
from zoo.model.measurement import Connections
from zoo.model.record import Trial
from zoo.model.run import Program
from zoo.model.trial_results import Result
from zoo.plan.windows import BACKLOG_GRACE_S
from zoo.runtime.base import Launch, Runtime

CLOCK_STEP_S = 0.5
"""Above what a time server corrects bit by bit in some minutes. Generators take their times from the time of day."""


def clock_offset() -> float:
    """Return the time of day less the time that the machine was awake; it is the same until the clock is set."""
    return time.time() - time.monotonic()


@dataclass
class TrialCell(MeasuredCell):
    """One cell of a trial; `new_launch` says how its server is started, with a log of its own each time.

    `private`: the server's network is out of reach from elsewhere.
    """

    runtime: Runtime
    entry: Entry
    program: Program
    private: bool
    new_launch: Callable[[], Launch]

    def launch(self, *flags: str, env: Mapping[str, str] | None = None) -> Launch:
        """A start with further flags for the JVM, and another environment."""
        launch = self.new_launch()
        return replace(launch, jvm_flags=(*launch.jvm_flags, *flags), env={**launch.env, **(env or {})})

    @contextmanager
    def living(self, *flags: str, env: Mapping[str, str] | None = None) -> Iterator[WarmServer]:
        """A warmed-up server, stopped at the end. When it ends early, that is what failed, whatever else did."""
        start = partial(self.runtime.start, self.launch(*flags, env=env))
        where = self.block.described(self.entry_id)
        server = start_warm(self.bench, start, where, self.block, self.tier, native=self.entry.native)
        hosted = server.hosted
        try:
            yield server
        except (LoadError, ProcessLookupError) as error:
            if isinstance(error, LoadError) and hosted.alive():
                raise
            raise hosted.ended("while it was measured") from error
        finally:
            hosted.stop(BACKLOG_GRACE_S)

    def watch(self, server: WarmServer) -> Watch:
        return Watch(self, server)


class Watch(Sampled):
    """Samples and readings around a load: a context in which the load runs and its CPU time is set."""

    def __init__(self, cell: TrialCell, server: WarmServer) -> None:
        super().__init__(server.hosted)
        self._cell = cell
        self._server = server
        self._told = 0.0

    def __enter__(self) -> Self:
        self._offset_s = clock_offset()
        self._readings = Readings(self._server.hosted)
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if error is not None:
            return
        step_s = clock_offset() - self._offset_s
        if abs(step_s) > CLOCK_STEP_S:
            message = f"the clock was set or the machine was suspended: the time of day jumped by {step_s:+,.1f} s"
            raise LoadError("clock_set", message)
        self._readings.end()

    def tick(self, elapsed_s: float) -> None:
        """Tells the reporter how time goes by."""
        self._cell.bench.reporter.tick(elapsed_s - self._told)
        self._told = elapsed_s

    def trial(
        self, result: Result, good: int, connections: Connections | None = None, flags: Sequence[Flag] = ()
    ) -> Trial:
        """The result with all that was read around it; `good` are the good answers."""
        cell, server, samples, kernel = self._cell, self._server, self.samples, self._readings.kernel
        raised = {
            Flag.CLAMPED: connections is not None and connections.limited_by is not None,
            **of_machine(self.noise, kernel),
            **dict.fromkeys(flags, True),
        }
        return Trial(
            result=result,
            connections=connections,
            memory=self._readings.memory(server.idle_kb, samples),
            work=self._readings.work(self.cpu_s, good, samples),
            warmup=server.warmup,
            noise=self.noise,
            kernel=kernel,
            canary_s=server.canary_s,
            sampling=sampling(server.hosted, samples, cell.bench.store, cell.name),
            server=server_facts(server.info, server.hosted.ready_s),
            flags=[flag for flag in Flag if raised.get(flag)],
        )


def unserved(outcome: LoadOutcome, connections: int) -> str:
    """Why not all of them were held and served; empty when they were."""
    if outcome.errors.total:
        return f"{outcome.errors.total:,} errors"
    if outcome.goodput < connections:
        return f"{outcome.goodput:,} answers to {connections:,} connections"
    return ""
