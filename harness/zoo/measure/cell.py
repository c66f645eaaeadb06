"""A cell on a warm server: the readings around its windows of load, and the measurement made of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

from zoo.analysis import flags
from zoo.catalog.manifest import Model
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.measure import record_parts, wait_idle, window
from zoo.measure.emulation import SPEED_COLUMNS, timeless
from zoo.measure.interval import Readings
from zoo.measure.subject import Subject
from zoo.measure.warmup import BRIEF_CONNECTIONS
from zoo.measure.window import Bench, Window
from zoo.model.failure import Failure
from zoo.model.histogram import Histogram
from zoo.model.measurement import Connections, ErrorCounts, Load, Measurement, Sampling
from zoo.model.trial_results import Held
from zoo.plan import feasible, pacing
from zoo.plan import windows as timing
from zoo.plan.scenario import SCENARIOS
from zoo.runtime.base import Hosted
from zoo.sample.instruments import known
from zoo.sample.proc import Snapshot


class CellFailure(Exception):
    """A cell without figures, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class CellReadings:
    """The readings around the windows of load on one server in one tier. Each step may raise `CellFailure`."""

    def __init__(self, bench: Bench, subject: Subject) -> None:
        self._bench = bench
        self._subject = subject
        self._hosted = subject.server.hosted
        self._tools = subject.server.hosted.instruments
        self._scenario = SCENARIOS[subject.block.scenario]
        self._feasible = feasible.connections(bench.limits, subject.tier.connections)
        self._delay_s, self.duration_s = pacing.times(
            subject.block, subject.tier, self._feasible.actual, bench.profile, subject.server.warmup.pace
        )
        self._path = subject.block.path(self._delay_s, self._hosted.home)
        self._program = subject.block.program
        self._holding = self._program is not None and self._scenario.holds
        self._held: Held | None = None
        self._windows: list[tuple[int, Window]] = []

    def prepare(self) -> None:
        with self._guarded():
            self._tell("preparing")
            self._fit(self._brief_warmup())
            wait_idle.wait(self._bench, self._hosted)
            self._bench.clock.rest(max(0.0, self._subject.server.asleep_until_s - self._bench.clock.seconds()))
            self._left_open = wait_idle.released(self._bench, self._hosted, self._delay_s)
            self._lingering = self._tools.settle_sockets(wait=self._feasible.actual > timing.MANY)
            self._readings = Readings(self._hosted, deep=self._holding)

    def load(self, place: int, of: int) -> None:
        """The window at this place among those of all cells."""
        with self._guarded():
            self._tell(f"measuring, window {place + 1} of {of}" if of > 1 else "measuring")
            connections = self._feasible.actual
            threads = connections if self._program and self._program.thread_each else None
            spec = self._bench.spec(self._hosted.url + self._path, connections, self.duration_s, threads)
            look = self._look if self._holding else None
            made = window.run(self._bench, self._hosted, spec, look, self._waitless())
            if self._scenario.holds:
                self._subject.server.asleep_until_s = self._bench.clock.seconds() + self._delay_s
            if not self._subject.block.alone:
                wait_idle.wait(self._bench, self._hosted)
            self._refuse(made)
            self._windows.append((place, made))

    def _look(self, established: int | None) -> None:
        """At a server that holds its connections. A pool that is full has no time for `/info`."""
        pool = record_parts.pool(self._subject.server.info)
        full = pool is not None and pool < self._feasible.actual
        seen = known(self._tools.snapshot(self._hosted.pid, deep=True))
        info = None if full else self._tools.info(self._hosted.url)
        before = self._readings
        self._held = record_parts.held(known(before.before), before.info_before, established, seen, info)

    def close(self) -> None:
        with self._guarded():
            self._readings.end()

    def result(self, *, rested: bool) -> Measurement:
        rested_kb: int | None = None
        with self._guarded():
            if rested:
                resting = self._rested()
                rested_kb = resting.rss_kb if resting else None
        seen = self._measurement(rested_kb)
        return timeless(seen) if self._bench.emulated else seen

    def _rested(self) -> Snapshot | None:
        """The server at rest again; what it held is seen together with what it has given back."""
        seen = self._tools.snapshot(self._hosted.pid, deep=self._holding)
        if self._held is not None:
            info = self._tools.info(self._hosted.url)
            released = record_parts.released(self._subject.block.rest(self._bench.profile), known(seen), info)
            self._held = self._held.model_copy(update={"released": released})
        return seen

    def _measurement(self, rested_kb: int | None) -> Measurement:
        subject = self._subject
        windows = [made for _, made in self._windows]
        samples = record_parts.joined([w.samples for w in windows])
        heard = record_parts.mean_noise([w.noise for w in windows])
        outcome = record_parts.total([w.outcome for w in windows])
        known_cpu = [w.cpu_s for w in windows if w.cpu_s is not None]
        cpu_s = sum(known_cpu) if len(known_cpu) == len(windows) else None
        if flags.served_elsewhere(outcome.goodput, cpu_s) and not self._bench.emulated:
            message = (
                f"{outcome.goodput:,} responses took process {self._hosted.pid} {cpu_s:.2f} s of CPU time: "
                "another process sends them"
            )
            raise CellFailure(Failure(kind="wrong_process", message=message, log_tail=self._hosted.log_tail()))
        reopened = [w.reopened for w in windows if w.reopened is not None and not subject.block.parallel]
        connections = Connections(
            requested=subject.tier.connections,
            actual=self._feasible.actual,
            limited_by=self._feasible.limited_by,
            established=min((w.established for w in windows if w.established is not None), default=None),
            lingering=self._lingering,
            left_open=self._left_open,
            reopened=sum(reopened) if len(reopened) == len(windows) else None,
        )
        kernel = self._readings.kernel
        pool = record_parts.pool(subject.server.info, samples.threads)
        load = self._load_of(outcome, sum(w.connect_s for w in windows), pool)
        work = self._readings.work(cpu_s, outcome.goodput, samples)
        evidence = flags.CellFigures(
            connections=connections,
            errors=load.errors,
            little=load.little,
            served=load.served,
            busiest_thread=outcome.busiest_thread,
            generator_share=record_parts.generator_share(outcome, self._hosted.apart),
            idle_share=1 - (heard.busy_share or 0.0) - (heard.steal_share or 0.0),
            foreign_share=heard.foreign_share,
            delay_s=self._delay_s,
            work_s=subject.block.case.work_s,
            cpu_s_per_million=None if work is None else work.cpu_s_per_million,
            cut_short=any(w.connect_s > w.outcome.runtime_s / 2 for w in windows),
            pool_bound=pool is not None and load.ceiling_rps is not None and pool < connections.actual,
            warmup=subject.server.warmup,
            kernel=kernel,
            link_share=record_parts.link_share(outcome),
            throttled_share=heard.throttled_share,
            requests=outcome.requests,
            steal_share=heard.steal_share,
        )
        return Measurement(
            connections=connections,
            load=load,
            windows=[made.turn(place) for place, made in self._windows],
            memory=self._readings.memory(subject.server.idle_kb, samples, rested_kb),
            held=self._held,
            container=self._readings.container,
            work=work,
            warmup=subject.server.warmup,
            noise=heard,
            kernel=kernel,
            canary_s=subject.server.canary_s,
            sampling=Sampling(
                sampler=self._tools.sampler,
                hz=samples.hz,
                cpu_share=samples.cost,
                samples=self._bench.store.write_raw(
                    f"{subject.name}-samples",
                    samples.model_dump(exclude=set(SPEED_COLUMNS) if self._bench.emulated else None),
                ),
            ),
            server=record_parts.server(subject.server.info, self._hosted.ready_s),
            flags=flags.flags(evidence),
        )

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn what a server or the generator does wrong into a failed cell."""
        hosted = self._hosted
        try:
            yield
        except LoadError as error:
            if not hosted.alive():
                raise CellFailure(_end(hosted)) from error
            tail = error.output or hosted.log_tail()
            raise CellFailure(Failure(kind=error.kind, message=error.message, log_tail=tail)) from error
        except ProcessLookupError as error:
            self._bench.clock.rest(0.2)
            raise CellFailure(_end(hosted)) from error

    def _waitless(self) -> str | None:
        """The URL of the load's response without its wait; None where it has none."""
        return self._hosted.url + self._subject.block.warm_path(self._hosted.home) if self._delay_s else None

    def _tell(self, what: str) -> None:
        subject = self._subject
        where = f"round {subject.block.round}  {subject.entry_id}  {subject.block.asked} {subject.tier.name}"
        self._bench.reporter.phase(where, what)

    def _brief_warmup(self) -> float | None:
        """A short load at the tier's own count, right before it is measured; sleeping cells need none.

        A server that is alone was warmed up in full a moment ago; one of several has waited for the others since.
        Answers a second; None where nothing was asked that is measured.
        """
        subject = self._subject
        path = subject.block.warm_path(self._hosted.home)
        if not self._scenario.settle:
            return None
        if subject.block.alone and subject.tier == subject.block.tiers[0]:
            rate = subject.server.warmup.window_rps[-1] if subject.server.warmup.window_rps else None
        else:
            connections = min(self._feasible.actual, BRIEF_CONNECTIONS)
            brief_s = self._bench.profile.brief_warmup_s
            outcome = self._bench.load(self._hosted, self._bench.spec(self._hosted.url + path, connections, brief_s))
            rate = outcome.goodput / outcome.runtime_s
        return rate if path == self._path else None

    def _fit(self, answers_per_s: float | None) -> None:
        """Lengthen what windows are left, where answers take long."""
        if self._program and self._delay_s < timing.HOLDING_S and answers_per_s is not None:
            self.duration_s = pacing.long_enough(self.duration_s, self._feasible.actual, answers_per_s)

    def _refuse(self, made: Window) -> None:
        """Failures that the generator itself takes for results."""
        hosted, errors, actual = self._hosted, made.outcome.errors, self._feasible.actual
        if not hosted.alive():
            raise CellFailure(_end(hosted))
        if errors.connect:
            message = f"{errors.connect:,} of {actual:,} connections could not be opened"
            raise CellFailure(Failure(kind="connect_errors", message=message, log_tail=hosted.log_tail()))
        if made.outcome.requests:
            return
        opened = max((n for n in (made.opened, made.established) if n is not None), default=None)
        if opened is not None and opened < flags.ESTABLISHED_LIMIT * actual:
            message = (
                f"only {opened:,} of {actual:,} connections were open when the window ended, and wrk waits for all"
            )
            raise CellFailure(Failure(kind="not_connected", message=message, log_tail=hosted.log_tail()))
        if made.connect_s > made.outcome.runtime_s / 2:
            message = (
                f"opening {actual:,} connections took {made.connect_s:.1f} of {made.outcome.runtime_s:.1f} s, and no "
                "request was answered in the rest: DURATION= makes windows longer"
            )
            raise CellFailure(Failure(kind="not_connected", message=message, log_tail=hosted.log_tail()))
        hosted.thread_dump(self._bench.store.raw / f"{self._subject.name}-threads.json")
        message = (
            f"no request was answered in {self.duration_s:.0f} s, and none failed: the server hangs, or it is too slow "
            "for such a window (DURATION= makes it longer)"
        )
        raise CellFailure(Failure(kind="hung", message=message, log_tail=hosted.log_tail()))

    def _load_of(self, outcome: LoadOutcome, connect_s: float, pool: int | None) -> Load:
        histogram, errors, subject = outcome.histogram, outcome.errors, self._subject
        actual = self._feasible.actual
        mean_s = (histogram.mean_us or 0.0) / 1e6
        loaded_s = outcome.runtime_s - connect_s
        reading_s = pacing.reading_s(actual, subject.server.warmup.pace)
        return Load(
            generator=self._hosted.generator.name,
            version=outcome.version,
            path=self._path,
            delay_s=self._delay_s,
            duration_s=self.duration_s * len(self._windows),
            timeout_s=self.duration_s + 5,
            runtime_s=outcome.runtime_s,
            connect_s=connect_s,
            threads=outcome.threads,
            requests=outcome.requests,
            goodput=outcome.goodput,
            goodput_rps=outcome.goodput / loaded_s if loaded_s > 0 else 0.0,
            bytes=outcome.bytes,
            errors=ErrorCounts(**asdict(errors)),
            latency=record_parts.latency(histogram, errors.status),
            little=flags.little(outcome.goodput, mean_s, actual, loaded_s),
            served=flags.served(outcome.goodput, mean_s, actual, loaded_s - reading_s) if self._delay_s else None,
            ceiling_rps=flags.ceiling(Model.PLATFORM_THREAD, pool, self._delay_s),
            cpu_s=outcome.cpu_s,
            busiest_thread=outcome.busiest_thread,
            histogram=None if self._bench.emulated else self._histogram(histogram),
            generators=list(outcome.generators),
        )

    def _histogram(self, histogram: Histogram) -> str:
        return self._bench.store.write_raw(f"{self._subject.name}-histogram", histogram.quantized().to_pairs())


def _end(hosted: Hosted) -> Failure:
    seen = hosted.ended("while it was measured")
    return Failure(kind=seen.kind, message=seen.message, log_tail=seen.log_tail)
