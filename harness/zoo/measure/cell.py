"""A cell on a warm server: the readings around its windows of load, and the measurement made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from zoo.analysis import flags
from zoo.catalog.manifest import Model
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.measure import readings, window
from zoo.measure.readings import Readings
from zoo.measure.warm_server import BRIEF_CONNECTIONS, WarmServer, wait_closed, wait_idle
from zoo.measure.window import Bench, Window
from zoo.model.errors import RuntimeFailure
from zoo.model.measurement import Connections, Load, Measurement
from zoo.model.record import Failure, stem
from zoo.model.trial_results import Held, Released
from zoo.plan import capacity
from zoo.plan import windows as timing
from zoo.plan.blocks import Block
from zoo.plan.capacity import Tier
from zoo.plan.scenario import SCENARIOS
from zoo.sample.instruments import known

T = TypeVar("T")


class CellFailure(RuntimeFailure):
    """A cell without figures, and why."""


def failure_of(error: RuntimeFailure | LoadError) -> Failure:
    log_tail = error.log_tail if isinstance(error, RuntimeFailure) else error.output
    return Failure(kind=error.kind, message=error.message, log_tail=log_tail)


@dataclass
class MeasuredCell:
    """One entry in one tier of a block, and the tools it is measured with."""

    bench: Bench
    entry_id: str
    block: Block
    tier: Tier

    @property
    def name(self) -> str:
        """The stem of its files below `raw/`."""
        return f"{stem(self.entry_id, self.block.asked)}-{self.tier.name}-r{self.block.round}"

    @property
    def connections(self) -> Connections:
        """The connections that this host allows."""
        allowed = capacity.connections(self.bench.limits, self.tier.connections)
        return Connections(requested=self.tier.connections, actual=allowed.actual, limited_by=allowed.limited_by)

    def tell(self, what: str) -> None:
        self.bench.reporter.phase(f"{self.block.described(self.entry_id)} {self.tier.name}", what)


class LoadedCell(MeasuredCell):
    """A cell on a warm server, loaded in windows. Each step may raise `CellFailure`."""

    def __init__(self, bench: Bench, entry_id: str, block: Block, tier: Tier, server: WarmServer) -> None:
        super().__init__(bench, entry_id, block, tier)
        self._server = server
        self._hosted = server.hosted
        self._tools = server.hosted.instruments
        self._scenario = SCENARIOS[block.scenario]
        self._allowed = self.connections
        self._actual = self._allowed.actual
        self._delay_s, self.duration_s = timing.times(block, tier, self._actual, bench.profile, server.warmup.pace)
        self._path = block.path(self._delay_s, self._hosted.home)
        self._program = block.program
        self._holding = self._program is not None and self._scenario.holds
        self._held: Held | None = None
        self._windows: list[tuple[int, Window]] = []

    def prepare(self) -> None:
        with self._guarded():
            self.tell("preparing")
            self._fit(self._brief_warmup())
            wait_idle(self.bench, self._hosted)
            self.bench.clock.rest(max(0.0, self._server.asleep_until_s - self.bench.clock.seconds()))
            self._left_open = wait_closed(self.bench, self._hosted, self._delay_s)
            self._lingering = self._tools.settle_sockets(wait=self._actual > timing.MANY)
            self._readings = Readings(self._hosted, deep=self._holding)

    def load(self, place: int, of: int) -> None:
        """The window at this place among those of all cells."""
        with self._guarded():
            self.tell(f"measuring, window {place + 1} of {of}" if of > 1 else "measuring")
            threads = self._actual if self._program and self._program.thread_each else None
            spec = self.bench.spec(self._hosted.url + self._path, self._actual, self.duration_s, threads)
            look = self._look if self._holding else None
            # the load's response without its wait
            waitless = self._hosted.url + self.block.warm_path(self._hosted.home) if self._delay_s else None
            made = window.run(self.bench, self._hosted, spec, look, waitless)
            if self._scenario.holds:
                self._server.asleep_until_s = self.bench.clock.seconds() + self._delay_s
            if not self.block.alone:
                wait_idle(self.bench, self._hosted)
            self._refuse(made)
            self._windows.append((place, made))

    def _look(self, established: int | None) -> None:
        """Read a server that holds its connections. A pool that is full has no time for `/info`."""
        pool = readings.pool(self._server.info)
        full = pool is not None and pool < self._actual
        seen = known(self._tools.snapshot(self._hosted.pid, deep=True))
        info = None if full else self._tools.info(self._hosted.url)
        self._held = self._readings.held(established, seen, info)

    def close(self) -> None:
        with self._guarded():
            self._readings.end()

    def result(self, *, rested: bool) -> Measurement:
        with self._guarded():
            rested_kb = self._rested_kb() if rested else None
        seen = self._measurement(rested_kb)
        return readings.without_speed(seen) if self.bench.emulated else seen

    def _rested_kb(self) -> int | None:
        """Read the server at rest again, and what it has released."""
        seen = self._tools.snapshot(self._hosted.pid, deep=self._holding)
        if self._held is not None:
            info = self._tools.info(self._hosted.url)
            after_s = self.block.rest(self.bench.profile)
            released = Released(after_s=after_s, **readings.held_kb(known(seen), info))
            self._held = self._held.model_copy(update={"released": released})
        return seen.rss_kb if seen else None

    def _measurement(self, rested_kb: int | None) -> Measurement:
        server, apart = self._server, self._hosted.apart
        windows = [made for _, made in self._windows]
        samples = readings.joined([w.samples for w in windows])
        outcome = readings.total([w.outcome for w in windows])
        known_cpu = [w.cpu_s for w in windows if w.cpu_s is not None]
        cpu_s = sum(known_cpu) if len(known_cpu) == len(windows) else None
        if flags.served_elsewhere(outcome.goodput, cpu_s) and not self.bench.emulated:
            message = (
                f"{outcome.goodput:,} responses took process {self._hosted.pid} {cpu_s:.2f} s of CPU time: "
                "another process sends them"
            )
            raise self._failure("wrong_process", message)
        reopened = [w.reopened for w in windows if w.reopened is not None and not self.block.parallel]
        connections = self._allowed.model_copy(
            update={
                "established": min((w.established for w in windows if w.established is not None), default=None),
                "lingering": self._lingering,
                "left_open": self._left_open,
                "reopened": sum(reopened) if len(reopened) == len(windows) else None,
            }
        )
        pool = readings.pool(server.info, samples.threads)
        seen = Measurement(
            connections=connections,
            load=self._load_of(outcome, sum(w.connect_s for w in windows), pool),
            windows=[made.turn(place) for place, made in self._windows],
            memory=self._readings.memory(server.idle_kb, samples, rested_kb),
            held=self._held,
            container=self._readings.container,
            work=self._readings.work(cpu_s, outcome.goodput, samples),
            warmup=server.warmup,
            noise=readings.mean_noise([w.noise for w in windows]),
            kernel=self._readings.kernel,
            canary_s=server.canary_s,
            sampling=readings.sampling(
                self._hosted, samples, self.bench.store, self.name, emulated=self.bench.emulated
            ),
            server=readings.server_facts(server.info, self._hosted.ready_s),
            flags=[],
        )
        raised = flags.flags(
            seen,
            work_s=self.block.case.work_s,
            processors=apart.processors if apart else None,
            cut_short=any(w.connect_s > w.outcome.runtime_s / 2 for w in windows),
        )
        return seen.model_copy(update={"flags": raised})

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn what a server or the generator does wrong into a failed cell."""
        hosted = self._hosted
        try:
            yield
        except LoadError as error:
            if not hosted.alive():
                raise self._end() from error
            raise CellFailure(error.kind, error.message, error.output or hosted.log_tail()) from error
        except ProcessLookupError as error:
            self.bench.clock.rest(0.2)
            raise self._end() from error

    def _end(self) -> CellFailure:
        seen = self._hosted.ended("while it was measured")
        return CellFailure(seen.kind, seen.message, seen.log_tail)

    def _failure(self, kind: str, message: str) -> CellFailure:
        return CellFailure(kind, message, self._hosted.log_tail())

    def _brief_warmup(self) -> float | None:
        """Load briefly at the tier's own count, right before it is measured; sleeping cells need none.

        A server that is alone was warmed up in full a moment ago; one of several has waited for the others since.
        Returns the responses per second; None where the request was not the one that is measured.
        """
        path = self.block.warm_path(self._hosted.home)
        if not self._scenario.settle:
            return None
        if self.block.alone and self.tier == self.block.tiers[0]:
            rate = self._server.warmup.window_rps[-1] if self._server.warmup.window_rps else None
        else:
            connections = min(self._actual, BRIEF_CONNECTIONS)
            brief_s = self.bench.profile.brief_warmup_s
            outcome = self.bench.load(self._hosted, self.bench.spec(self._hosted.url + path, connections, brief_s))
            rate = outcome.goodput / outcome.runtime_s
        return rate if path == self._path else None

    def _fit(self, answers_per_s: float | None) -> None:
        """Lengthen the windows where responses take long."""
        if self._program and self._delay_s < timing.HOLDING_S and answers_per_s is not None:
            self.duration_s = timing.long_enough(self.duration_s, self._actual, answers_per_s)

    def _refuse(self, made: Window) -> None:
        """Raise the failures that the generator itself takes for results."""
        hosted, errors, actual = self._hosted, made.outcome.errors, self._actual
        if not hosted.alive():
            raise self._end()
        if errors.connect:
            raise self._failure("connect_errors", f"{errors.connect:,} of {actual:,} connections could not be opened")
        if made.outcome.requests:
            return
        opened = max((n for n in (made.opened, made.established) if n is not None), default=None)
        if opened is not None and opened < flags.ESTABLISHED_LIMIT * actual:
            message = (
                f"only {opened:,} of {actual:,} connections were open when the window ended, and wrk waits for all"
            )
            raise self._failure("not_connected", message)
        if made.connect_s > made.outcome.runtime_s / 2:
            message = (
                f"opening {actual:,} connections took {made.connect_s:.1f} of {made.outcome.runtime_s:.1f} s, and no "
                "request was answered in the rest: DURATION= makes windows longer"
            )
            raise self._failure("not_connected", message)
        hosted.thread_dump(self.bench.store.raw / f"{self.name}-threads.json")
        message = (
            f"no request was answered in {self.duration_s:.0f} s, and none failed: the server hangs, or it is too slow "
            "for such a window (DURATION= makes it longer)"
        )
        raise self._failure("hung", message)

    def _load_of(self, outcome: LoadOutcome, connect_s: float, pool: int | None) -> Load:
        histogram, errors = outcome.histogram, outcome.errors
        mean_s = (histogram.mean_us or 0.0) / 1e6
        loaded_s = outcome.runtime_s - connect_s
        reading_s = timing.reading_s(self._actual, self._server.warmup.pace)
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
            errors=errors,
            latency=readings.latency(histogram, errors.status),
            little=flags.little(outcome.goodput, mean_s, self._actual, loaded_s),
            served=flags.served(outcome.goodput, mean_s, self._actual, loaded_s - reading_s) if self._delay_s else None,
            ceiling_rps=flags.ceiling(Model.PLATFORM_THREAD, pool, self._delay_s),
            cpu_s=outcome.cpu_s,
            busiest_thread=outcome.busiest_thread,
            histogram=None
            if self.bench.emulated
            else self.bench.store.write_raw(f"{self.name}-histogram", histogram.quantized().to_pairs()),
            generators=list(outcome.generators),
        )


def measure(cells: Sequence[LoadedCell], *, last: bool) -> list[Measurement | Failure]:
    """Measure one cell of each warm server of a block, in the order given; servers alive at once alternate in windows.

    `last` in the life of these servers. A cell that fails leaves the others to go on. Raises what is no failure of a
    cell.
    """
    bench, block, tier = cells[0].bench, cells[0].block, cells[0].tier
    by_entry = {cell.entry_id: cell for cell in cells}
    failures: dict[str, Failure] = {}

    def attempt(name: str, step: Callable[[LoadedCell], T]) -> T | None:
        if name in failures or name not in by_entry:
            return None
        try:
            return step(by_entry[name])
        except CellFailure as error:
            failures[name] = failure_of(error)
            return None

    for name in by_entry:
        attempt(name, LoadedCell.prepare)
    slots = timing.slots(block, tier, bench.profile)
    sound = [cell for name, cell in by_entry.items() if name not in failures]
    longest_s = max((cell.duration_s for cell in sound), default=1.0)
    slots = timing.fewer(slots, block, longest_s / timing.window(block, tier, bench.profile))
    for cell in sound:
        cell.duration_s = longest_s
    for place, loaded in enumerate(slots):
        step = partial(LoadedCell.load, place=place, of=len(slots))
        names = [block.entries[index] for index in loaded]
        with ThreadPoolExecutor(len(names)) if len(names) > 1 else nullcontext() as pool:
            list((pool.map if pool else map)(partial(attempt, step=step), names))
    for name in by_entry:
        attempt(name, LoadedCell.close)
    if last:
        rest_s = block.rest(bench.profile)
        bench.clock.rest(rest_s)
        bench.reporter.tick(rest_s)
    results = {name: attempt(name, partial(LoadedCell.result, rested=last)) for name in by_entry}
    return [result or failures[name] for name, result in results.items()]
