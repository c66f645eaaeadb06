"""What a trial is carried out with: a warm server, and readings around whatever loads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Self

from zoo.analysis.flags import disturbed
from zoo.catalog.manifest import Entry
from zoo.host import feasible
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.measure import record_parts
from zoo.measure.warm_server import WarmServer, begin
from zoo.measure.window import Bench
from zoo.model.flag import Flag
from zoo.model.measurement import Connections, Sampling
from zoo.model.program import Program
from zoo.model.record import Trial, stem
from zoo.model.trial_results import Result
from zoo.plan.blocks import Block
from zoo.plan.tier import Tier
from zoo.plan.windows import BACKLOG_GRACE_S
from zoo.runtime.base import Launch, Runtime
from zoo.sample.instruments import known


@dataclass(frozen=True)
class TrialCell:
    """One cell of a trial; `new_launch` says how its server is started, with a log of its own each time.

    `private`: the server's network is out of reach from elsewhere.
    """

    bench: Bench
    runtime: Runtime
    entry: Entry
    entry_id: str
    block: Block
    program: Program
    tier: Tier
    private: bool
    new_launch: Callable[[], Launch]

    @property
    def name(self) -> str:
        """For files below `raw/`."""
        return f"{stem(self.entry_id, self.block.asked)}-{self.tier.name}-r{self.block.round}"

    @property
    def connections(self) -> Connections:
        """Those that this host allows."""
        allowed = feasible.connections(self.bench.limits, self.tier.connections)
        return Connections(requested=self.tier.connections, actual=allowed.actual, limited_by=allowed.limited_by)

    def tell(self, what: str) -> None:
        """To the reporter."""
        where = f"round {self.block.round}  {self.entry_id}  {self.block.asked} {self.tier.name}"
        self.bench.reporter.phase(where, what)

    def launch(self, *flags: str, env: Mapping[str, str] | None = None) -> Launch:
        """A start with further flags for the JVM, and another environment."""
        launch = self.new_launch()
        return replace(launch, jvm_flags=(*launch.jvm_flags, *flags), env={**launch.env, **(env or {})})

    @contextmanager
    def living(self, *flags: str, env: Mapping[str, str] | None = None) -> Iterator[WarmServer]:
        """A warmed-up server, stopped at the end. When it ends early, that is what failed, whatever else did."""
        start = partial(self.runtime.start, self.launch(*flags, env=env))
        where = f"round {self.block.round}  {self.entry_id}  {self.block.asked}"
        server = begin(self.bench, start, where, self.block, self.tier, native=self.entry.native)
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
        """Readings around a load on this server."""
        return Watch(self, server)


class Watch:
    """Samples and counters around a load: a context in which the load runs and its CPU time is set.

    ProcessLookupError at its end when the server has ended.
    """

    def __init__(self, cell: TrialCell, server: WarmServer) -> None:
        self._cell = cell
        self._server = server
        self._tools = server.hosted.instruments
        self._told = 0.0
        self.generator_cpu_s = 0.0

    def __enter__(self) -> Self:
        pid, tools = self._server.hosted.pid, self._tools
        tools.reset_peak(pid)
        self._info_before = tools.info(self._server.hosted.url)
        self._counters = tools.counters(pid)
        self._before = known(tools.snapshot(pid))
        self._noise = tools.noise()
        self._sampler = tools.sample(pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.samples = self._sampler.stop()
        if error is not None:
            return
        pid = self._server.hosted.pid
        self._after = known(self._tools.snapshot(pid, deep=True))
        self._cpu_s = self._after.cpu_s - self._before.cpu_s
        self._heard = self._noise.stop(self._cpu_s, self.generator_cpu_s, runnable=self.samples.mean_runnable)
        self._kernel = record_parts.kernel(self._counters, self._tools.counters(pid))
        self._info = self._tools.info(self._server.hosted.url)

    def tick(self, elapsed_s: float) -> None:
        """Tells the reporter how time goes by."""
        self._cell.bench.reporter.tick(elapsed_s - self._told)
        self._told = elapsed_s

    def trial(
        self, result: Result, good: int, connections: Connections | None = None, flags: Sequence[Flag] = ()
    ) -> Trial:
        """The result with all that was read around it; `good` are the good answers."""
        cell, server, samples = self._cell, self._server, self.samples
        raised = {
            Flag.CLAMPED: connections is not None and connections.limited_by is not None,
            Flag.LISTEN_DROPS: self._kernel is not None and self._kernel.listen_drops > 0,
            Flag.FOREIGN_CPU: disturbed(self._heard.foreign_share),
            **dict.fromkeys(flags, True),
        }
        return Trial(
            result=result,
            connections=connections,
            memory=record_parts.memory(server.idle_kb, self._before, samples, self._after, None, self._info),
            work=record_parts.work(
                self._cpu_s, good, samples, self._before, self._after, self._info_before, self._info
            ),
            warmup=server.warmup,
            noise=self._heard,
            kernel=self._kernel,
            canary_s=server.canary_s,
            sampling=Sampling(
                sampler=self._tools.sampler,
                hz=samples.hz,
                cpu_share=samples.cost,
                samples=cell.bench.store.write_raw(f"{cell.name}-samples", samples.model_dump()),
            ),
            server=record_parts.server(server.info, server.hosted.ready_s),
            flags=[flag for flag in Flag if raised.get(flag)],
        )


def unserved(outcome: LoadOutcome, connections: int) -> str:
    """Why not all of them were held and served; empty when they were."""
    if outcome.errors.total:
        return f"{outcome.errors.total:,} errors"
    if outcome.goodput < connections:
        return f"{outcome.goodput:,} answers to {connections:,} connections"
    return ""
