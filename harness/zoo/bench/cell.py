"""A cell on a warm server: the readings around its windows of load, and the measurement made from them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from zoo.bench import readings
from zoo.bench.readings import Readings
from zoo.bench.warmup import BRIEF_CONNECTIONS, WarmServer, wait_closed, wait_idle
from zoo.bench.window import Bench, Window, join_samples, mean_noise, sum_outcomes
from zoo.core import capacity
from zoo.core import windows as timing
from zoo.core.blocks import Block
from zoo.core.capacity import Tier
from zoo.core.errors import RuntimeFailure
from zoo.core.manifest import Model
from zoo.core.measurement import Connections, Load, Measurement
from zoo.core.record import Failure, file_stem
from zoo.core.scenario import SCENARIOS
from zoo.core.trial_results import HeldMemory, ReleasedMemory
from zoo.load.base import LoadOutcome
from zoo.load.spec import LoadError
from zoo.sample.instruments import require_process
from zoo.stats import flags

T = TypeVar("T")

PATIENCE_S = 15.0
"""Minimum length of the second window of a server that answered no request in the first."""

OUTCOME_FIELDS = (
    *("version", "threads", "runtime_s", "requests", "goodput", "bytes", "errors", "cpu_s", "busiest_thread"),
)
"""Fields that a record's load has in common with the generator's outcome."""


class CellFailure(RuntimeFailure):
    """The reason why a cell has no figures."""


def failure_of(error: RuntimeFailure | LoadError) -> Failure:
    log_tail = error.log_tail if isinstance(error, RuntimeFailure) else error.output
    return Failure(kind=error.kind, message=error.message, log_tail=log_tail)


@dataclass
class BenchCell:
    """One entry with one number of connections in a block, and the tools that measure it."""

    bench: Bench
    entry_id: str
    block: Block
    tier: Tier

    @property
    def name(self) -> str:
        """Return the stem of the cell's files below `raw/`."""
        return f"{file_stem(self.entry_id, self.block.workload)}-{self.tier.name}-r{self.block.round}"

    @property
    def connections(self) -> Connections:
        """Return the requested connections, and how many of them this host allows."""
        allowed = capacity.feasible_connections(self.bench.limits, self.tier.connections)
        return Connections(requested=self.tier.connections, actual=allowed.actual, limited_by=allowed.limited_by)

    def show_phase(self, what: str) -> None:
        self.bench.display.phase(f"{self.block.describe(self.entry_id)} {self.tier.name}", what)


class WindowCell(BenchCell):
    """A cell on a warm server, loaded in windows. Each step may raise `CellFailure`."""

    def __init__(self, bench: Bench, entry_id: str, block: Block, tier: Tier, server: WarmServer) -> None:
        super().__init__(bench, entry_id, block, tier)
        self._server = server
        self._hosted = server.hosted
        self._tools = server.hosted.instruments
        self._scenario = SCENARIOS[block.scenario]
        self._allowed = self.connections
        self._actual = self._allowed.actual
        self._delay_s, self.duration_s = timing.wait_and_window(
            block, tier, self._actual, bench.profile, server.warmup.pace
        )
        self._path = block.path(self._delay_s, self._hosted.home)
        self._program = block.program
        self._holding = self._program is not None and self._scenario.holds
        self._held: HeldMemory | None = None
        self._windows: list[tuple[int, Window]] = []

    def prepare(self) -> None:
        with self._guarded():
            self.show_phase("preparing")
            self._fit(self._brief_warmup())
            self._left_open, self._lingering = self._await_previous_load()
            self._readings = Readings.begin(self._hosted, deep=self._holding)

    def _await_previous_load(self) -> tuple[int | None, int | None]:
        """Wait until nothing of the previous load occupies the server.

        Return how many connections the server still has open, and how many closed ones the kernel still keeps.
        """
        wait_idle(self.bench, self._hosted)
        self.bench.clock.rest(max(0.0, self._server.asleep_until_s - self.bench.clock.seconds()))
        left_open = wait_closed(self.bench, self._hosted, self._delay_s)
        return left_open, self._tools.settle_sockets(wait=self._actual > timing.MANY)

    def load(self, place: int, of: int) -> None:
        """Run the window at this place among the windows of all cells.

        If it has no response, run it once more and longer. A server that only needs time, because its JVM is cold or
        opening the connections took all of the window, then differs from one that hangs.
        """
        with self._guarded():
            self.show_phase(f"measuring, window {place + 1} of {of}" if of > 1 else "measuring")
            made = self._window()
            if longer := self._longer(made):
                self.duration_s, reason = longer
                self.show_phase(f"measuring, for {self.duration_s:.0f} s because {reason}")
                self._await_previous_load()
                made = self._window()
            if not self.block.is_single:
                wait_idle(self.bench, self._hosted)
            self._check(made)
            self._windows.append((place, made))

    def _window(self) -> Window:
        threads = self._actual if self._program and self._program.thread_each else None
        spec = self.bench.spec(self._hosted.url + self._path, self._actual, self.duration_s, threads)
        # gives the load's response without its wait
        waitless = self._hosted.url + self.block.warm_path(self._hosted.home) if self._delay_s else None
        halfway = self._read_held if self._holding else None
        made = Window(self._hosted).run(self.bench, spec, halfway, waitless)
        if self._scenario.holds:
            self._server.asleep_until_s = self.bench.clock.seconds() + self._delay_s
        return made

    def _longer(self, made: Window) -> tuple[float, str] | None:
        """Return the length in seconds and the reason for a second window, or None if this one counts.

        If the window ended before all connections were open, the time to open them is extrapolated to at most four
        times the window.
        """
        if made.outcome.requests or made.outcome.errors.connect or not self._hosted.is_alive():
            return None
        opening = "opening the connections takes long"
        if made.is_opening_unfinished:
            opening_s = made.outcome.runtime_s * min(4.0, self._actual / max(1, made.most_open or 0))
            return self.duration_s + math.ceil(opening_s), opening
        if made.is_cut_short:
            return self.duration_s + math.ceil(made.connect_s), opening
        return max(4 * self.duration_s, PATIENCE_S), "no request was answered yet"

    def _read_held(self, established: int | None) -> None:
        """Read a server while it holds its connections. Skip `/info` if the pool is full and has no thread for it."""
        pool = readings.pool_size(self._server.info)
        full = pool is not None and pool < self._actual
        seen = require_process(self._tools.snapshot(self._hosted.pid, deep=True))
        info = None if full else self._tools.info(self._hosted.url)
        self._held = self._readings.held_memory(established, seen, info)

    def close(self) -> None:
        with self._guarded():
            self._readings.end(self._hosted)

    def result(self, *, rested: bool) -> Measurement:
        with self._guarded():
            rested_kb = self._rested_kb() if rested else None
        seen = self._measurement(rested_kb)
        return readings.without_speed(seen) if self.bench.emulated else seen

    def _rested_kb(self) -> int | None:
        """Read the server at rest again, with what it has released, and return its resident memory in kB."""
        seen = self._tools.snapshot(self._hosted.pid, deep=self._holding)
        if self._held is not None:
            info = self._tools.info(self._hosted.url)
            after_s = self.block.rest(self.bench.profile)
            released = ReleasedMemory(after_s=after_s, **readings.current_memory(require_process(seen), info))
            self._held = self._held.model_copy(update={"released": released})
        return seen.rss_kb if seen else None

    def _measurement(self, rested_kb: int | None) -> Measurement:
        server, apart = self._server, self._hosted.generator_processors
        windows = [made for _, made in self._windows]
        samples = join_samples([w.samples for w in windows])
        outcome = sum_outcomes([w.outcome for w in windows])
        known_cpu = [w.cpu_s for w in windows if w.cpu_s is not None]
        cpu_s = sum(known_cpu) if len(known_cpu) == len(windows) else None
        if flags.served_elsewhere(outcome.goodput, cpu_s) and not self.bench.emulated:
            message = (
                f"{outcome.goodput:,} responses took process {self._hosted.pid} only {cpu_s:.2f} s of "
                "CPU time, so another process sends them: name its PID (PID=)"
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
        pool = readings.pool_size(server.info, samples.threads)
        seen = Measurement(
            connections=connections,
            load=self._load_of(outcome, sum(w.connect_s for w in windows), pool),
            windows=[made.turn(place) for place, made in self._windows],
            memory=self._readings.memory(server.idle_kb, samples, rested_kb),
            held=self._held,
            container=self._readings.container,
            work=self._readings.work(cpu_s, outcome.goodput, samples),
            warmup=server.warmup,
            noise=mean_noise([w.noise for w in windows]),
            kernel=self._readings.kernel,
            canary_s=server.canary_s,
            sampling=readings.sampling(
                self._hosted, samples, self.bench.store, self.name, emulated=self.bench.emulated
            ),
            server=readings.server_facts(server.info, self._hosted.ready_s),
            flags=[],
        )
        raised = flags.find_flags(
            seen,
            work_s=self.block.case.work_s,
            processors=apart.processors if apart else None,
            cut_short=any(w.is_cut_short for w in windows),
        )
        return seen.model_copy(update={"flags": raised})

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Turn a failure of the server or the generator into a failed cell."""
        hosted = self._hosted
        try:
            yield
        except LoadError as error:
            if not hosted.is_alive():
                raise self._crash() from error
            raise CellFailure(error.kind, error.message, error.output or hosted.log_tail()) from error
        except ProcessLookupError as error:
            self.bench.clock.rest(0.2)
            raise self._crash() from error

    def _crash(self) -> CellFailure:
        seen = self._hosted.exit_failure("during the measurement")
        return CellFailure(seen.kind, seen.message, seen.log_tail)

    def _failure(self, kind: str, message: str) -> CellFailure:
        return CellFailure(kind, message, self._hosted.log_tail())

    def _brief_warmup(self) -> float | None:
        """Load briefly with the cell's own number of connections right before it is measured; not for sleeping cells.

        A server that runs alone was warmed up in full a moment ago, but one of several has since waited for the others.
        Return the responses per second, or None if the request was not the one that is measured.
        """
        path = self.block.warm_path(self._hosted.home)
        if not self._scenario.measures_throughput:
            return None
        if self.block.is_single and self.tier == self.block.tiers[0]:
            rate = self._server.warmup.window_rps[-1] if self._server.warmup.window_rps else None
        else:
            connections = min(self._actual, BRIEF_CONNECTIONS)
            brief_s = self.bench.profile.brief_warmup_s
            outcome = self.bench.load(self._hosted, self.bench.spec(self._hosted.url + path, connections, brief_s))
            rate = outcome.goodput / outcome.runtime_s
        return rate if path == self._path else None

    def _fit(self, answers_per_s: float | None) -> None:
        """Lengthen the windows if responses take long."""
        if self._program and self._delay_s < timing.HOLDING_S and answers_per_s is not None:
            self.duration_s = timing.extend_window(self.duration_s, self._actual, answers_per_s)

    def _check(self, made: Window) -> None:
        """Raise `CellFailure` for failures that the generator reports as results."""
        hosted, errors, actual = self._hosted, made.outcome.errors, self._actual
        if not hosted.is_alive():
            raise self._crash()
        if errors.connect:
            raise self._failure("connect_errors", f"{errors.connect:,} of {actual:,} connections could not be opened")
        if made.outcome.requests:
            return
        if made.is_opening_unfinished:
            message = (
                f"only {made.most_open:,} of {actual:,} connections were open when the window ended, and wrk "
                "waits for all of them: use fewer connections (CONNECTIONS=) or longer windows "
                "(DURATION=)"
            )
            raise self._failure("not_connected", message)
        if made.is_cut_short:
            message = (
                f"opening {actual:,} connections took {made.connect_s:.1f} of "
                f"{made.outcome.runtime_s:.1f} s, and no request was answered in the rest: use longer "
                "windows (DURATION=)"
            )
            raise self._failure("not_connected", message)
        hosted.thread_dump(self.bench.store.raw / f"{self.name}-threads.json")
        message = (
            f"no request was answered in {self.duration_s:.0f} s, and none failed: the server hangs, "
            "or it needs longer windows (DURATION=)"
        )
        raise self._failure("hung", message)

    def _load_of(self, outcome: LoadOutcome, connect_s: float, pool: int | None) -> Load:
        histogram, errors = outcome.histogram, outcome.errors
        mean_s = (histogram.mean_us or 0.0) / 1e6
        loaded_s = outcome.runtime_s - connect_s
        reading_s = timing.reading_s(self._actual, self._server.warmup.pace)
        return Load(
            generator=self._hosted.generator.name,
            path=self._path,
            delay_s=self._delay_s,
            duration_s=sum(made.spec.duration_s for _, made in self._windows),
            timeout_s=self.duration_s + 5,
            connect_s=connect_s,
            goodput_rps=outcome.goodput / loaded_s if loaded_s > 0 else 0.0,
            latency=readings.latency(histogram, errors.status),
            little=flags.littles_law(outcome.goodput, mean_s, self._actual, loaded_s),
            served=flags.served_share(outcome.goodput, mean_s, self._actual, loaded_s - reading_s)
            if self._delay_s
            else None,
            ceiling_rps=flags.pool_ceiling(Model.PLATFORM_THREAD, pool, self._delay_s),
            histogram=None
            if self.bench.emulated
            else self.bench.store.write_raw(f"{self.name}-histogram", histogram.quantize().to_pairs()),
            generators=list(outcome.generators),
            **{name: getattr(outcome, name) for name in OUTCOME_FIELDS},
        )


def measure(cells: Sequence[WindowCell], *, last: bool) -> list[Measurement | Failure]:
    """Measure one cell of each warm server of a block, in the given order.

    Servers that run side by side are loaded in alternating windows. `last` marks the last cells of these servers. If a
    cell fails, the others continue. Any error that is not a cell's failure is raised.
    """
    bench, block, tier = cells[0].bench, cells[0].block, cells[0].tier
    by_entry = {cell.entry_id: cell for cell in cells}
    failures: dict[str, Failure] = {}

    def attempt(name: str, step: Callable[[WindowCell], T]) -> T | None:
        if name in failures or name not in by_entry:
            return None
        try:
            return step(by_entry[name])
        except CellFailure as error:
            failures[name] = failure_of(error)
            return None

    for name in by_entry:
        attempt(name, WindowCell.prepare)
    slots = timing.slots(block, tier, bench.profile)
    sound = [cell for name, cell in by_entry.items() if name not in failures]
    longest_s = max((cell.duration_s for cell in sound), default=1.0)
    slots = timing.drop_cycles(slots, block, longest_s / timing.window_length(block, tier, bench.profile))
    for cell in sound:
        cell.duration_s = longest_s
    for place, loaded in enumerate(slots):
        step = partial(WindowCell.load, place=place, of=len(slots))
        names = [block.entries[index] for index in loaded]
        with ThreadPoolExecutor(len(names)) if len(names) > 1 else nullcontext() as pool:
            list((pool.map if pool else map)(partial(attempt, step=step), names))
    for name in by_entry:
        attempt(name, WindowCell.close)
    if last:
        bench.clock.rest(block.rest(bench.profile))
    results = {name: attempt(name, partial(WindowCell.result, rested=last)) for name in by_entry}
    return [result or failures[name] for name, result in results.items()]
