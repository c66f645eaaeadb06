"""Measures a cell of each warm server: of one alone, or of several alive at once, their windows in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from zoo import figures, pacing, quiet, timing, validity, window
from zoo.catalog import Model
from zoo.emulation import SPEED_COLUMNS, timeless
from zoo.histogram import Histogram
from zoo.instruments import known
from zoo.load.base import LoadError, LoadOutcome
from zoo.plan import Block, Tier
from zoo.records import Connections, ErrorCounts, Failure, Load, Measurement, Sampling, Warmup, stem
from zoo.results import Held
from zoo.runtime.base import Hosted
from zoo.sample.jvm import Info
from zoo.sample.proc import Snapshot
from zoo.scenario import SCENARIOS
from zoo.warmup import BRIEF_CONNECTIONS
from zoo.window import Bench, Window

T = TypeVar("T")


class CellFailure(Exception):
    """A cell without figures, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Subject:
    """A running server that is measured, and the cell it is measured in."""

    entry_id: str
    block: Block
    tier: Tier
    hosted: Hosted
    info: Info | None
    idle_kb: int | None
    canary_s: float | None
    warmup: Warmup

    @property
    def name(self) -> str:
        """For files below `raw/`."""
        return f"{stem(self.entry_id, self.block.asked)}-{self.tier.name}-r{self.block.round}"


def measure(bench: Bench, subjects: Sequence[Subject], *, last: bool) -> list[Measurement | Failure]:
    """One cell of each subject, in the order given; `last` in the life of these servers.

    A subject that fails leaves the others to go on. Raises what is no failure of a cell.
    """
    block, tier = subjects[0].block, subjects[0].tier
    cells = {s.entry_id: _Cell(bench, s) for s in subjects}
    failures: dict[str, Failure] = {}

    def attempt(name: str, step: Callable[[_Cell], T]) -> T | None:
        if name in failures or name not in cells:
            return None
        try:
            return step(cells[name])
        except CellFailure as error:
            failures[name] = error.failure
            return None

    for name in cells:
        attempt(name, _Cell.prepare)
    slots = timing.slots(block, tier, bench.profile)
    sound = [cell for name, cell in cells.items() if name not in failures]
    longest_s = max((cell.duration_s for cell in sound), default=1.0)
    slots = timing.fewer(slots, block, longest_s / timing.window(block, tier, bench.profile))
    for cell in sound:
        cell.duration_s = longest_s
    for place, loaded in enumerate(slots):
        step = partial(_Cell.load, place=place, of=len(slots))
        names = [block.entries[index] for index in loaded]
        with ThreadPoolExecutor(len(names)) if len(names) > 1 else nullcontext() as pool:
            list((pool.map if pool else map)(partial(attempt, step=step), names))
    for name in cells:
        attempt(name, _Cell.close)
    if last:
        rest_s = block.rest(bench.profile)
        bench.clock.rest(rest_s)
        bench.reporter.tick(rest_s)
    results = {name: attempt(name, partial(_Cell.result, rested=last)) for name in cells}
    return [result or failures[name] for name, result in results.items()]


class _Cell:
    """The readings around the windows of load on one server in one tier. Each step may raise `CellFailure`."""

    def __init__(self, bench: Bench, subject: Subject) -> None:
        self._bench = bench
        self._subject = subject
        self._hosted = subject.hosted
        self._tools = subject.hosted.instruments
        self._scenario = SCENARIOS[subject.block.scenario]
        self._feasible = bench.limits.feasible(subject.tier.connections)
        self._delay_s, self.duration_s = pacing.times(
            subject.block, subject.tier, self._feasible.actual, bench.profile, subject.warmup.pace
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
            quiet.wait(self._bench, self._hosted)
            self._left_open = quiet.released(self._bench, self._hosted, self._delay_s)
            self._lingering = self._tools.settle_sockets(wait=self._feasible.actual > timing.MANY)
            self._tools.reset_peak(self._hosted.pid)
            self._info_before = self._tools.info(self._hosted.url)
            self._before = self._tools.snapshot(self._hosted.pid, deep=self._holding)
            self._group_before = self._tools.cgroup(self._hosted.pid)
            self._counters = self._tools.counters(self._hosted.pid)

    def load(self, place: int, of: int) -> None:
        """The window at this place among those of all cells."""
        with self._guarded():
            self._tell(f"measuring, window {place + 1} of {of}" if of > 1 else "measuring")
            connections = self._feasible.actual
            threads = connections if self._program and self._program.thread_each else None
            spec = self._bench.spec(self._hosted.url + self._path, connections, self.duration_s, threads)
            look = self._look if self._holding else None
            made = window.run(self._bench, self._hosted, spec, look)
            if not self._subject.block.alone:
                quiet.wait(self._bench, self._hosted)
            self._refuse(made)
            if place >= (self._program.dropped if self._program else 0):
                self._windows.append((place, made))
            else:
                self._fit(made.outcome.goodput / made.outcome.runtime_s)

    def _look(self, established: int | None) -> None:
        """At a server that holds its connections. A pool that is full has no time for `/info`."""
        pool = _pool(self._subject.info)
        full = pool is not None and pool < self._feasible.actual
        seen = known(self._tools.snapshot(self._hosted.pid, deep=True))
        info = None if full else self._tools.info(self._hosted.url)
        self._held = figures.held(known(self._before), self._info_before, established, seen, info)

    def close(self) -> None:
        with self._guarded():
            pid = self._hosted.pid
            self._group_after = self._tools.cgroup(pid)
            self._after = self._tools.snapshot(pid, deep=True)
            self._counted = self._tools.counters(pid)
            self._info_after = self._tools.info(self._hosted.url)

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
            released = figures.released(self._subject.block.rest(self._bench.profile), known(seen), info)
            self._held = self._held.model_copy(update={"released": released})
        return seen

    def _measurement(self, rested_kb: int | None) -> Measurement:
        subject = self._subject
        windows = [made for _, made in self._windows]
        samples = figures.joined([w.samples for w in windows])
        heard = figures.mean_noise([w.noise for w in windows])
        outcome = figures.total([w.outcome for w in windows])
        known_cpu = [w.cpu_s for w in windows if w.cpu_s is not None]
        cpu_s = sum(known_cpu) if len(known_cpu) == len(windows) else None
        connections = Connections(
            requested=subject.tier.connections,
            actual=self._feasible.actual,
            limited_by=self._feasible.limited_by,
            established=min((w.established for w in windows if w.established is not None), default=None),
            lingering=self._lingering,
            left_open=self._left_open,
        )
        kernel = figures.kernel(self._counters, self._counted)
        pool = _pool(subject.info, samples.threads)
        load = self._load_of(outcome, sum(w.connect_s for w in windows), pool)
        before, after, info = self._before, self._after, self._info_after
        work = figures.work(cpu_s, outcome.goodput, samples, before, after, self._info_before, info)
        evidence = validity.Evidence(
            connections=connections,
            errors=load.errors,
            little=load.little,
            served=load.served,
            busiest_thread=outcome.busiest_thread,
            idle_share=1 - (heard.busy_share or 0.0) - (heard.steal_share or 0.0),
            foreign_share=heard.foreign_share,
            delay_s=self._delay_s,
            work_s=subject.block.case.work_s,
            cpu_s_per_million=None if work is None else work.cpu_s_per_million,
            cut_short=any(w.connect_s > w.outcome.runtime_s / 2 for w in windows),
            pool_bound=pool is not None and load.ceiling_rps is not None and pool < connections.actual,
            warmup=subject.warmup,
            kernel=kernel,
        )
        return Measurement(
            connections=connections,
            load=load,
            windows=[made.turn(place) for place, made in self._windows],
            memory=figures.memory(subject.idle_kb, before, samples, after, rested_kb, info),
            held=self._held,
            container=figures.container(self._group_before, self._group_after),
            work=work,
            warmup=subject.warmup,
            noise=heard,
            kernel=kernel,
            canary_s=subject.canary_s,
            sampling=Sampling(
                sampler=self._tools.sampler,
                hz=samples.hz,
                cpu_share=samples.cost,
                samples=self._bench.store.write_raw(
                    f"{subject.name}-samples",
                    samples.model_dump(exclude=set(SPEED_COLUMNS) if self._bench.emulated else None),
                ),
            ),
            server=figures.server(subject.info, self._hosted.ready_s),
            flags=validity.flags(evidence),
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

    def _tell(self, what: str) -> None:
        subject = self._subject
        where = f"round {subject.block.round}  {subject.entry_id}  {subject.block.asked} {subject.tier.name}"
        self._bench.reporter.phase(where, what)

    def _brief_warmup(self) -> float | None:
        """A short load at the tier's own count; the first tier was warmed up in full, sleeping cells need none.

        Answers a second; None where nothing was asked that is measured.
        """
        subject = self._subject
        path = subject.block.warm_path(self._hosted.home)
        if not self._scenario.settle:
            return None
        if subject.tier == subject.block.tiers[0]:
            rate = subject.warmup.window_rps[-1] if subject.warmup.window_rps else None
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
        opened = made.opened
        if opened is not None and opened < validity.ESTABLISHED_LIMIT * actual:
            message = (
                f"only {opened:,} of {actual:,} connections were open when the window ended, and wrk waits for all"
            )
            raise CellFailure(Failure(kind="not_connected", message=message, log_tail=hosted.log_tail()))
        hosted.thread_dump(self._bench.store.raw / f"{self._subject.name}-threads.json")
        message = f"no request was answered in {self.duration_s:.0f} s, and none failed: a hung server"
        raise CellFailure(Failure(kind="hung", message=message, log_tail=hosted.log_tail()))

    def _load_of(self, outcome: LoadOutcome, connect_s: float, pool: int | None) -> Load:
        histogram, errors, subject = outcome.histogram, outcome.errors, self._subject
        actual = self._feasible.actual
        mean_s = (histogram.mean_us or 0.0) / 1e6
        loaded_s = outcome.runtime_s - connect_s
        reading_s = pacing.reading_s(actual, subject.warmup.pace)
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
            little=validity.little(outcome.goodput, mean_s, actual, loaded_s),
            served=validity.served(outcome.goodput, mean_s, actual, loaded_s - reading_s) if self._delay_s else None,
            ceiling_rps=validity.ceiling(Model.PLATFORM_THREAD, pool, self._delay_s),
            cpu_s=outcome.cpu_s,
            busiest_thread=outcome.busiest_thread,
            histogram=None if self._bench.emulated else self._histogram(histogram),
        )

    def _histogram(self, histogram: Histogram) -> str:
        return self._bench.store.write_raw(f"{self._subject.name}-histogram", histogram.quantized().to_pairs())


def _pool(info: Info | None, seen: Sequence[int] = ()) -> int | None:
    """The threads that requests wait on: those a pool may have, or those it was seen to come to where these are fewer.

    None without such a pool.
    """
    if info is None or Model(info.model) is not Model.PLATFORM_THREAD:
        return None
    return min((most for most in (info.limits.max_threads, max(seen, default=None)) if most), default=None)


def _end(hosted: Hosted) -> Failure:
    seen = hosted.ended("while it was measured")
    return Failure(kind=seen.kind, message=seen.message, log_tail=seen.log_tail)
