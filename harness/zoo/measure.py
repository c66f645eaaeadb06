"""Warms up and measures one cell: generator, samplers and counters around one window of load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from zoo import figures, plan, validity
from zoo.catalog import Entry, Model
from zoo.instruments import Instruments
from zoo.load.base import Generator, LoadError, LoadOutcome, LoadSpec
from zoo.plan import Block, Profile, Tier
from zoo.progress import Reporter
from zoo.records import Connections, ErrorCounts, Failure, Load, Measurement, Sampling, Warmup
from zoo.runtime.base import Hosted
from zoo.sample.jvm import Info
from zoo.sample.samples import Samples
from zoo.scenario import SCENARIOS, Scenario
from zoo.store import Store

BRIEF_CONNECTIONS = 2_500
"""Warm-up at a tier opens at most so many, so that few of its sockets linger when the window begins."""

GENTLE_CONNECTIONS = 2
"""A JVM's warm-up begins with so many: among hundreds of runnable threads its compiler hardly gets a core, and a pool
of platform threads then stays at a fraction of its rate for minutes."""


class CellFailure(Exception):
    """A cell without figures, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Bench:
    """The tools a cell is measured with."""

    generator: Generator
    instruments: Instruments
    store: Store
    profile: Profile
    reporter: Reporter
    nofile: int | None
    threads: int

    def load(self, spec: LoadSpec, halfway: Callable[[], None] | None = None) -> LoadOutcome:
        """Run the generator, telling the reporter how time goes by; `halfway` is called once in mid-run."""
        told = 0.0

        def tick(elapsed: float) -> None:
            nonlocal told, halfway
            self.reporter.tick(elapsed - told)
            told = elapsed
            if halfway is not None and elapsed >= spec.duration_s / 2:
                call, halfway = halfway, None
                call()

        return self.generator.run(spec, tick)

    def spec(self, url: str, connections: int, duration_s: float) -> LoadSpec:
        """A timeout beyond the window: a late answer then still counts with its true latency."""
        return LoadSpec(url, connections, duration_s, duration_s + 5, self.threads, self.nofile)


@dataclass(frozen=True)
class Subject:
    """The running server that is measured, and the cell it is measured in."""

    entry: Entry
    block: Block
    tier: Tier
    hosted: Hosted
    info: Info
    idle_kb: int
    canary_s: float

    @property
    def name(self) -> str:
        """For files below `raw/`."""
        block = self.block
        return f"{block.entry.replace(':', '-')}-{block.scenario}-{self.tier.name}-r{block.round}"


def warm_up(bench: Bench, entry: Entry, scenario: Scenario, hosted: Hosted, first: Tier) -> Warmup:
    """Load at the first tier: until throughput is steady where the scenario measures it, else for a fixed time."""
    profile = bench.profile
    connections = bench.instruments.feasible(first.connections).actual
    url = hosted.url + scenario.warm_path
    if not scenario.settle:
        outcome = bench.load(bench.spec(url, connections, profile.sleep_warmup_s))
        return Warmup(seconds=outcome.runtime_s, connections=connections, window_rps=[_rps(outcome)], reached=None)
    least = profile.warmup_windows(native=entry.native)
    gentle = profile.gentle_windows(native=entry.native)
    rates: list[float] = []
    seconds = 0.0
    while len(rates) < least or (
        not plan.steady(rates[gentle:]) and seconds + profile.warmup_window_s <= profile.warmup_cap_s
    ):
        now = min(GENTLE_CONNECTIONS, connections) if len(rates) < gentle else connections
        outcome = bench.load(bench.spec(url, now, profile.warmup_window_s))
        rates.append(_rps(outcome))
        seconds += outcome.runtime_s
        bench.reporter.phase(entry.id, f"warm-up window {len(rates)}: {rates[-1]:,.0f} req/s")
    reached = plan.steady(rates[gentle:])
    return Warmup(seconds=seconds, connections=connections, gentle=gentle, window_rps=rates, reached=reached)


def measure(bench: Bench, subject: Subject, warmup: Warmup, *, rest: bool) -> Measurement:
    """One window of load on a warm server; `CellFailure` when it gives no figures that may be used."""
    tools, hosted = bench.instruments, subject.hosted
    try:
        return _Window(bench, subject).measure(warmup, rest=rest)
    except LoadError as error:
        if hosted.alive():
            raise CellFailure(
                Failure(kind=error.kind, message=error.message, log_tail=error.output or hosted.log_tail())
            ) from error
        raise CellFailure(_crash(hosted)) from error
    except ProcessLookupError as error:
        tools.rest(0.2)
        raise CellFailure(_crash(hosted)) from error


class _Window:
    """The readings around one window of load."""

    def __init__(self, bench: Bench, subject: Subject) -> None:
        self._bench = bench
        self._subject = subject
        self._scenario = SCENARIOS[subject.block.scenario]
        self._delay_s = plan.delay(subject.block.scenario, bench.profile)
        self._duration_s = plan.window(subject.block, subject.tier, bench.profile)
        self._feasible = bench.instruments.feasible(subject.tier.connections)
        self._path = self._scenario.path(self._delay_s)
        self._established: int | None = None

    def measure(self, warmup: Warmup, *, rest: bool) -> Measurement:
        bench, subject, tools = self._bench, self._subject, self._bench.instruments
        where = f"round {subject.block.round}  {subject.entry.id}  {self._scenario.name} {subject.tier.name}"
        bench.reporter.phase(where, "preparing")
        self._brief_warmup()
        lingering = tools.settle_sockets(wait=self._feasible.actual > plan.MANY)
        pid = subject.hosted.pid
        tools.reset_peak(pid)
        info_before = tools.info(subject.hosted.url)
        before = tools.snapshot(pid)
        counters = tools.counters(pid)
        noise = tools.noise()
        sampler = tools.sample(pid)
        bench.reporter.phase(where, "measuring")
        try:
            spec = bench.spec(subject.hosted.url + self._path, self._feasible.actual, self._duration_s)
            outcome = bench.load(spec, self._count_established)
        finally:
            samples = sampler.stop()
        after = tools.snapshot(pid)
        known = after.cpu_s - before.cpu_s
        heard = noise.stop(known, outcome.cpu_s, runnable=samples.mean_runnable)
        deep = tools.snapshot(pid, deep=True)
        counted = tools.counters(pid)
        self._refuse(outcome)
        info_after = tools.info(subject.hosted.url)
        if rest:
            tools.rest(bench.profile.rest_s)
            bench.reporter.tick(bench.profile.rest_s)
        rested = tools.snapshot(pid).rss_kb if rest else None
        connections = Connections(
            requested=subject.tier.connections,
            actual=self._feasible.actual,
            limited_by=self._feasible.limited_by,
            established=self._established,
            lingering=lingering,
        )
        kernel = figures.kernel(counters, counted)
        load = self._load(outcome, self._connecting(samples, outcome.runtime_s))
        evidence = validity.Evidence(
            connections=connections,
            errors=load.errors,
            little=load.little,
            served=load.served,
            busiest_thread=load.busiest_thread,
            idle_share=1 - (heard.busy_share or 0.0) - (heard.steal_share or 0.0),
            foreign_share=heard.foreign_share,
            delay_s=self._delay_s,
            cut_short=load.connect_s > outcome.runtime_s / 2,
            pool_bound=_pool_bound(load.ceiling_rps, subject, connections),
            warmup=warmup,
            kernel=kernel,
        )
        return Measurement(
            connections=connections,
            load=load,
            memory=figures.memory(subject.idle_kb, before, samples, deep, rested, info_after),
            work=figures.work(known, outcome.goodput, samples, before, deep, info_before, info_after),
            warmup=warmup,
            noise=heard,
            kernel=kernel,
            canary_s=subject.canary_s,
            sampling=Sampling(
                hz=samples.hz,
                cpu_share=samples.cost,
                samples=bench.store.write_raw(f"{subject.name}-samples", samples.model_dump()),
            ),
            server=figures.server(subject.info, subject.hosted.ready_s),
            flags=validity.flags(evidence),
        )

    def _count_established(self) -> None:
        self._established = self._bench.instruments.established(self._subject.hosted.url)

    def _brief_warmup(self) -> None:
        """A short load at the tier's own count; the first tier was warmed up in full, sleeping cells need none."""
        first = self._subject.tier == self._subject.block.tiers[0]
        if first or not self._scenario.settle:
            return
        connections = min(self._feasible.actual, BRIEF_CONNECTIONS)
        url = self._subject.hosted.url + self._scenario.warm_path
        self._bench.load(self._bench.spec(url, connections, self._bench.profile.brief_warmup_s))

    def _refuse(self, outcome: LoadOutcome) -> None:
        """Failures that the generator itself takes for results."""
        hosted = self._subject.hosted
        if not hosted.alive():
            raise CellFailure(_crash(hosted))
        if outcome.errors.connect:
            raise CellFailure(
                Failure(
                    kind="connect_errors",
                    message=f"{outcome.errors.connect:,} of {self._feasible.actual:,} connections could not be opened",
                    log_tail=hosted.log_tail(),
                )
            )
        if not outcome.requests:
            self._bench.instruments.thread_dump(
                hosted.pid, self._bench.store.raw / f"{self._subject.name}-threads.json"
            )
            raise CellFailure(
                Failure(
                    kind="hung",
                    message=f"no request was answered in {self._duration_s:.0f} s, and none failed: a hung server",
                    log_tail=hosted.log_tail(),
                )
            )

    def _connecting(self, samples: Samples, runtime_s: float) -> float:
        """Where connecting takes long enough for the samples to see it."""
        if self._feasible.actual <= plan.MANY:
            return 0.0
        seconds = validity.connecting(samples.t, samples.established, self._feasible.actual)
        return 0.0 if seconds is None else min(seconds, runtime_s)

    def _load(self, outcome: LoadOutcome, connect_s: float) -> Load:
        histogram = outcome.histogram
        errors = outcome.errors
        mean_s = (histogram.mean_us or 0.0) / 1e6
        subject = self._subject
        loaded_s = outcome.runtime_s - connect_s
        return Load(
            generator=self._bench.generator.name,
            version=outcome.version,
            path=self._path,
            delay_s=self._delay_s,
            duration_s=self._duration_s,
            timeout_s=self._duration_s + 5,
            runtime_s=outcome.runtime_s,
            connect_s=connect_s,
            threads=outcome.threads,
            shards=outcome.shards,
            requests=outcome.requests,
            goodput=outcome.goodput,
            goodput_rps=outcome.goodput / loaded_s if loaded_s > 0 else 0.0,
            bytes=outcome.bytes,
            errors=ErrorCounts(
                connect=errors.connect,
                read=errors.read,
                write=errors.write,
                status=errors.status,
                timeout=errors.timeout,
            ),
            latency=figures.latency(histogram),
            little=validity.little(outcome.goodput, mean_s, self._feasible.actual, loaded_s),
            served=validity.served(outcome.goodput, mean_s, self._feasible.actual, loaded_s) if self._delay_s else None,
            ceiling_rps=validity.ceiling(Model(subject.info.model), subject.info.limits.max_threads, self._delay_s),
            cpu_s=outcome.cpu_s,
            busiest_thread=outcome.busiest_thread,
            histogram=self._bench.store.write_raw(f"{subject.name}-histogram", histogram.quantized().to_pairs()),
        )


def _rps(outcome: LoadOutcome) -> float:
    return outcome.goodput / outcome.runtime_s if outcome.runtime_s > 0 else 0.0


def _pool_bound(ceiling_rps: float | None, subject: Subject, connections: Connections) -> bool:
    threads = subject.info.limits.max_threads
    return ceiling_rps is not None and threads is not None and connections.actual > threads


def _crash(hosted: Hosted) -> Failure:
    return Failure(kind="crashed", message="the server ended while it was measured", log_tail=hosted.log_tail())
