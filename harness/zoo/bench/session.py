"""A run from its plan to its last record: one server process per block, one record per cell, written immediately."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from zoo.bench.cell import WindowCell, failure_of, measure
from zoo.bench.display import Display
from zoo.bench.trial import TrialCell
from zoo.bench.warmup import WarmServer, start_warm
from zoo.bench.window import Bench, Clock
from zoo.core import blocks, windows
from zoo.core.blocks import Block
from zoo.core.budget import estimate_seconds
from zoo.core.capacity import Tier
from zoo.core.condition import Condition
from zoo.core.entry_id import base_id, condition_name
from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.host_facts import Cores, HostFacts
from zoo.core.interrupts import interruptible
from zoo.core.manifest import Catalog, Entry
from zoo.core.measurement import Measurement
from zoo.core.plan import BenchOptions, started_entries
from zoo.core.record import UNKNOWN, Failure, Record, RecordKey, Trial, file_stem, newest_records
from zoo.core.run import PlanFacts, Run
from zoo.core.run_folder import Store
from zoo.core.scenario import SCENARIOS
from zoo.host.run_metadata import new_run_metadata, now
from zoo.load.spec import LoadError
from zoo.runtime import target as targeting
from zoo.runtime.base import HostedServer, Launch, Runtime
from zoo.runtime.environment import recorded_variables
from zoo.runtime.runtimes import open_runtimes
from zoo.stats import extra_rounds


@dataclass(frozen=True)
class RunningServer:
    """A server that something else started, and the condition it is measured under."""

    hosted: HostedServer
    condition: Condition


@dataclass
class Session:
    """Everything that a run needs. All contact with the outside world is passed in, so that tests can replace it.

    `runtimes` and `conditions` are by name, with the run's own under the empty name. `running` has the servers that
    already run, by entry.
    """

    catalog: Catalog
    runtimes: Mapping[str, Runtime]
    conditions: Mapping[str, Condition]
    bench: Bench
    running: Mapping[str, RunningServer] = field(default_factory=dict)

    def run(self, wanted: Sequence[Block], done: frozenset[RecordKey] = frozenset()) -> None:
        """Measure every cell that is not in `done`. A failed cell is recorded, and the rest continue."""
        for block in wanted:
            left = blocks.remaining_tiers(block, done)
            if left:
                _BlockRun(self, block).carry_out(left)

    def model(self, name: str) -> str:
        return UNKNOWN if base_id(name) in self.running else self.catalog.entry(name).variant.model

    def condition(self, name: str) -> Condition:
        found = self.running.get(base_id(name))
        return found.condition if found else self.conditions[condition_name(name)]


class _BlockRun:
    """One block. Each of its servers starts once, and again if it crashes or cannot work off its queue."""

    def __init__(self, session: Session, block: Block) -> None:
        self._session = session
        self._block = block
        self._scenario = SCENARIOS[block.scenario]
        self._servers: dict[str, WarmServer] = {}
        self._start_failures: dict[str, Failure] = {}

    def carry_out(self, tiers: Sequence[Tier]) -> None:
        try:
            for tier in tiers:
                if self._scenario.trial:
                    self._trial(self._scenario.trial, tier)
                else:
                    self._tier(tier, first=tiers[0], last=tier == tiers[-1])
        finally:
            for name in list(self._servers):
                self._end(name)

    def _tier(self, tier: Tier, *, first: Tier, last: bool) -> None:
        started = self._session.bench.clock.now()
        for name in self._block.start_order:
            if name not in self._servers and name not in self._start_failures:
                try:
                    self._servers[name] = self._start(name, first)
                except (RuntimeFailure, LoadError) as error:
                    self._start_failures[name] = failure_of(error)
        bench = self._session.bench
        servers = [(name, self._servers[name]) for name in self._block.start_order if name in self._servers]
        cells = [WindowCell(bench, name, self._block, tier, server) for name, server in servers]
        measured = measure(cells, last=last) if cells else []
        found = {cell.entry_id: result for cell, result in zip(cells, measured, strict=True)}
        results = {name: found[name] if name in found else self._start_failures[name] for name in self._block.entries}
        self._store([self._record(name, tier, started, result) for name, result in results.items()])
        for name, result in results.items():
            if name in found and (isinstance(result, Failure) or not (last or self._is_responsive(name))):
                self._end(name)

    def _trial(self, trial: Callable[[TrialCell], Trial], tier: Tier) -> None:
        session, block, name = self._session, self._block, self._block.entries[0]
        started = session.bench.clock.now()
        assert block.program is not None
        cell = TrialCell(
            bench=session.bench,
            runtime=session.runtimes[condition_name(name)],
            entry=session.catalog.entry(name),
            entry_id=name,
            block=block,
            program=block.program,
            tier=tier,
            private=session.conditions[condition_name(name)].network != "host",
            new_launch=partial(self._launch, name),
        )
        result: Trial | Failure
        try:
            result = trial(cell)
        except (RuntimeFailure, LoadError) as error:
            result = failure_of(error)
        self._store([self._record(name, tier, started, result)])

    def _is_responsive(self, name: str) -> bool:
        hosted = self._servers[name].hosted
        return hosted.instruments.is_responsive(hosted.url)

    def _start(self, name: str, first: Tier) -> WarmServer:
        session = self._session
        # a server of unknown kind may have a virtual machine to warm up
        native = base_id(name) not in session.running and session.catalog.entry(name).native
        where, start = self._block.describe(name), partial(self._hosted, name)
        return start_warm(session.bench, start, where, self._block, first, native=native)

    def _hosted(self, name: str) -> HostedServer:
        found = self._session.running.get(base_id(name))
        if found:
            return found.hosted
        return self._session.runtimes[condition_name(name)].start(self._launch(name))

    def _launch(self, name: str) -> Launch:
        log = self._session.bench.store.new_log(f"{file_stem(name, self._block.workload)}-r{self._block.round}")
        return launch_of(self._session.catalog.entry(name), log, self._session.condition(name))

    def _end(self, name: str) -> None:
        self._servers.pop(name).hosted.stop(windows.BACKLOG_GRACE_S)

    def _record(self, name: str, tier: Tier, started: str, result: Measurement | Trial | Failure) -> Record:
        block = self._block
        return Record(
            entry=name,
            model=self._session.model(name),
            scenario=block.scenario,
            case=block.case.name,
            tier=tier.name,
            condition=self._session.condition(name),
            round=block.round,
            position=block.position,
            together=list(block.entries) if len(block.entries) > 1 else [],
            started_at=started,
            measurement=result if isinstance(result, Measurement) else None,
            trial=result if isinstance(result, Trial) else None,
            failure=result if isinstance(result, Failure) else None,
        )

    def _store(self, records: Sequence[Record]) -> None:
        self._session.bench.store.append(*records)
        for record in records:
            self._session.bench.display.record(record)


def new_run(
    root: Path, options: BenchOptions, planned: PlanFacts, host: HostFacts, builds: Mapping[str, str], catalog: Catalog
) -> Run:
    """Return a run that has not begun; `builds` gives the hash of each server's sources."""
    return Run(
        **new_run_metadata(root, "quick" if options.quick else "full"),
        plan=planned,
        host=host,
        builds=dict(builds),
        environment=environments(planned, catalog),
    )


def environments(planned: PlanFacts, catalog: Catalog) -> dict[str, dict[str, str]]:
    """Return the variables that each entry of a plan is started with, under each of its conditions."""
    conditions = {"": planned.condition, **planned.variations}
    started = [name for name in [*planned.entries, *planned.varied_entries] if base_id(name) not in planned.targets]
    return {name: recorded_variables(catalog.entry(name), conditions[condition_name(name)]) for name in started}


Idle = Callable[[], AbstractContextManager[HostedServer]]
"""A function that starts an entry of the run for as long as the context lasts."""


def carry_out(root: Path, store: Store, catalog: Catalog, display: Display) -> list[Record]:
    """Measure the cells that the stored run lacks or that failed in it; return the newest record for each cell.

    Ctrl-C leaves no child process behind and keeps the records written so far.
    """
    run = store.run()
    entries = started_entries(run.plan, catalog)
    profile = blocks.profile_of(run.plan)
    conditions = {"": run.plan.condition, **run.plan.variations}
    with interruptible() as raise_if_interrupted, open_runtimes(root, conditions, entries) as (runtimes, host):
        try:
            planned = calibrate_plan(run.plan, entries, runtimes[""], store, display)
        except RuntimeFailure as error:
            raise BenchError(f"calibration failed: {error.message}\n{error.log_tail}") from error
        run = run.model_copy(update={"host": host, "plan": planned})
        store.write_run(run)
        bench = Bench(
            limits=host.limits,
            clock=Clock(),
            store=store,
            profile=profile,
            display=display,
            threads=_threads(run.plan.condition.cores, host),
            emulated=run.plan.condition.emulated,
        )
        running = {
            name: RunningServer(targeting.HostedTarget(target), targeting.condition(target))
            for name, target in run.plan.targets.items()
        }
        session = Session(catalog, runtimes, conditions, bench, running)
        done = blocks.measured_keys(store.records())
        spent_s = estimated_s = 0.0
        while True:
            todo = blocks.remaining_blocks(blocks.blocks_of(run.plan), done)
            left = blocks.remaining_work(todo, done)
            cells = sum(len(block.tiers) * len(block.entries) for block in left)
            began_s, expected_s = bench.clock.seconds(), estimate_seconds(left, profile, catalog)
            with display.progress(expected_s, cells):
                for number, block in enumerate(todo, start=1):
                    session.run([block], done)
                    raise_if_interrupted()
                    display.reached(estimate_seconds(left[:number], profile, catalog))
            spent_s += bench.clock.seconds() - began_s
            estimated_s += expected_s
            records = store.records()
            done = frozenset(record.key for record in records)
            failed = any(record.failure for record in records)  # such a cell takes less time than one that is measured
            pace = 1.0 if failed or not estimated_s else spent_s / estimated_s
            more = extra_rounds.plan_extra_rounds(run, records, catalog, pace)
            if not more.rounds:
                break
            run = run.model_copy(update={"plan": more.add_to(run.plan)})
            store.write_run(run)
            display.line(more.text)
        if more.text:
            display.line(more.text)
    store.write_run(run.model_copy(update={"finished_at": now()}))
    return newest_records(store.records())


def calibrate_plan(
    planned: PlanFacts, entries: Sequence[Entry], runtime: Runtime, store: Store, display: Display
) -> PlanFacts:
    """Return the plan with all paths and rates filled in; each scenario is calibrated once, for all entries.

    Raise `RuntimeFailure` or `LoadError` if calibration fails.
    """
    quickest = sorted(entries, key=lambda entry: not entry.native)
    programs = dict(planned.programs)
    for name, program in planned.programs.items():
        calibrate = SCENARIOS[name].calibrate
        if calibrate is None or program.calibrated:
            continue
        with display.status(f"calibrating {name}"):
            idle = [partial(_idle_server, runtime, entry, planned, store) for entry in quickest]
            filled = calibrate(program, idle)
        programs[name] = filled.model_copy(update={"calibrated": True})
    return planned.model_copy(update={"programs": programs})


@contextmanager
def _idle_server(runtime: Runtime, entry: Entry, planned: PlanFacts, store: Store) -> Iterator[HostedServer]:
    log = store.raw / f"{file_stem(entry.id, 'calibration')}.log"
    hosted = runtime.start(launch_of(entry, log, planned.condition))
    try:
        yield hosted
    finally:
        hosted.stop(windows.BACKLOG_GRACE_S)


def launch_of(entry: Entry, log: Path, condition: Condition) -> Launch:
    flags = tuple(condition.jvm_flags)
    return Launch(entry, log, entry.settings_of(condition.env), flags, condition.cpus, condition.cores)


def _threads(cores: Cores | None, host: HostFacts) -> int:
    """Return the number of generator threads: one per processor reserved for it, otherwise 4 at most.

    Without reserved processors it competes with the server.
    """
    return len(cores.generator) if cores else min(host.cores or 2, 4)
