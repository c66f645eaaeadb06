"""A run from its plan to its last record: one server process per block, one record per cell, written at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from zoo.analysis import extra_rounds
from zoo.catalog.manifest import Catalog, Entry
from zoo.host.interrupts import interruptible
from zoo.host.run_metadata import new_run_metadata, now
from zoo.load.spec import LoadError
from zoo.measure.cell import LoadedCell, failure_of, measure
from zoo.measure.reporter import Follow
from zoo.measure.trials.base import TrialCell
from zoo.measure.warm_server import WarmServer, start_warm
from zoo.measure.window import Bench, Clock
from zoo.model.condition import Condition
from zoo.model.entry_id import name_of, plain
from zoo.model.errors import BenchError, RuntimeFailure
from zoo.model.host import Cores, HostFacts
from zoo.model.measurement import Measurement
from zoo.model.record import UNKNOWN, Failure, Record, Trial, newest_records, stem
from zoo.model.run import PlanFacts, Run, Target
from zoo.plan import blocks, windows
from zoo.plan.blocks import Block
from zoo.plan.budget import seconds
from zoo.plan.capacity import Tier
from zoo.plan.request import Wish, entries_of
from zoo.plan.scenario import SCENARIOS
from zoo.runtime import target as targeting
from zoo.runtime.base import Hosted, Launch, Runtime
from zoo.runtime.environment import recorded
from zoo.runtime.runtimes import hosting
from zoo.store.run_folder import Store


@dataclass(frozen=True)
class Running:
    """A server that something else started, and the condition it is measured under."""

    hosted: Hosted
    condition: Condition


@dataclass
class Session:
    """Everything a run needs; all that touches the world comes in from outside, so tests can replace it.

    Runtimes and conditions by name, the run's own under the empty one; what runs already by entry.
    """

    catalog: Catalog
    runtimes: Mapping[str, Runtime]
    conditions: Mapping[str, Condition]
    bench: Bench
    running: Mapping[str, Running] = field(default_factory=dict)

    def run(self, wanted: Sequence[Block], done: blocks.Done = frozenset()) -> None:
        """Measure every cell that is not in `done`; a failed cell is recorded and the rest goes on."""
        for block in wanted:
            left = blocks.tiers_left(block, done)
            if left:
                _BlockRun(self, block).carry_out(left)

    def model(self, name: str) -> str:
        return UNKNOWN if plain(name) in self.running else self.catalog.entry(name).variant.model

    def native(self, name: str) -> bool:
        """False where it may have a virtual machine to warm up."""
        return plain(name) not in self.running and self.catalog.entry(name).native

    def condition(self, name: str) -> Condition:
        found = self.running.get(plain(name))
        return found.condition if found else self.conditions[name_of(name)]


class _BlockRun:
    """One block: a start of each of its servers, or more of them when one crashes or cannot work off its queue."""

    def __init__(self, session: Session, block: Block) -> None:
        self._session = session
        self._block = block
        self._scenario = SCENARIOS[block.scenario]
        self._servers: dict[str, WarmServer] = {}
        self._refused: dict[str, Failure] = {}

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
        for name in self._block.starting:
            if name not in self._servers and name not in self._refused:
                try:
                    self._servers[name] = self._start(name, first)
                except (RuntimeFailure, LoadError) as error:
                    self._refused[name] = failure_of(error)
        bench = self._session.bench
        servers = [(name, self._servers[name]) for name in self._block.starting if name in self._servers]
        cells = [LoadedCell(bench, name, self._block, tier, server) for name, server in servers]
        measured = measure(cells, last=last) if cells else []
        found = {cell.entry_id: result for cell, result in zip(cells, measured, strict=True)}
        results = {name: found[name] if name in found else self._refused[name] for name in self._block.entries}
        self._keep([self._record(name, tier, started, result) for name, result in results.items()])
        for name, result in results.items():
            if name in found and (isinstance(result, Failure) or not (last or self._answers(name))):
                self._end(name)

    def _trial(self, trial: Callable[[TrialCell], Trial], tier: Tier) -> None:
        session, block, name = self._session, self._block, self._block.entries[0]
        started = session.bench.clock.now()
        assert block.program is not None
        cell = TrialCell(
            bench=session.bench,
            runtime=session.runtimes[name_of(name)],
            entry=session.catalog.entry(name),
            entry_id=name,
            block=block,
            program=block.program,
            tier=tier,
            private=session.conditions[name_of(name)].network != "host",
            new_launch=partial(self._launch, name),
        )
        result: Trial | Failure
        try:
            result = trial(cell)
        except (RuntimeFailure, LoadError) as error:
            result = failure_of(error)
        self._keep([self._record(name, tier, started, result)])

    def _answers(self, name: str) -> bool:
        hosted = self._servers[name].hosted
        return hosted.instruments.answers(hosted.url)

    def _start(self, name: str, first: Tier) -> WarmServer:
        session = self._session
        where, start = self._block.described(name), partial(self._hosted, name)
        return start_warm(session.bench, start, where, self._block, first, native=session.native(name))

    def _hosted(self, name: str) -> Hosted:
        found = self._session.running.get(plain(name))
        if found:
            return found.hosted
        return self._session.runtimes[name_of(name)].start(self._launch(name))

    def _launch(self, name: str) -> Launch:
        log = self._session.bench.store.new_log(f"{stem(name, self._block.asked)}-r{self._block.round}")
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

    def _keep(self, records: Sequence[Record]) -> None:
        self._session.bench.store.append(*records)
        for record in records:
            self._session.bench.reporter.record(record)


def new_run(
    root: Path, wish: Wish, planned: PlanFacts, host: HostFacts, builds: Mapping[str, str], catalog: Catalog
) -> Run:
    """A run that has not begun; `builds` gives the hash of each server's sources."""
    return Run(
        **new_run_metadata(root, "quick" if wish.quick else "full"),
        plan=planned,
        host=host,
        builds=dict(builds),
        environment=environments(planned, catalog),
    )


def environments(planned: PlanFacts, catalog: Catalog) -> dict[str, dict[str, str]]:
    """Return the variables that each entry of a plan is started with, under each of its conditions."""
    conditions = {"": planned.condition, **planned.variations}
    started = [name for name in [*planned.entries, *planned.further] if plain(name) not in planned.targets]
    return {name: recorded(catalog.entry(name), conditions[name_of(name)]) for name in started}


Idle = Callable[[], AbstractContextManager[Hosted]]
"""Starts an entry of the run for as long as the context lasts."""

Busy = Callable[[str], AbstractContextManager[object]]
"""Tells a person what goes on for as long as the context lasts."""

Say = Callable[[str], None]
"""Tells a person a line."""


def carry_out(root: Path, store: Store, catalog: Catalog, busy: Busy, follow: Follow, say: Say) -> list[Record]:
    """Measure what the stored run lacks or what failed in it; gives of each cell the last record.

    Ctrl-C leaves no child and keeps what is done. `busy`, `follow` and `say` show a person what goes on.
    """
    run = store.run()
    entries = entries_of(run.plan, catalog)
    profile = blocks.profile_of(run.plan)
    conditions = {"": run.plan.condition, **run.plan.variations}
    with interruptible(), hosting(root, conditions, entries) as (runtimes, host):
        try:
            planned = calibrated(run.plan, entries, runtimes[""], store, busy)
        except RuntimeFailure as error:
            raise BenchError(f"not calibrated: {error.message}\n{error.log_tail}") from error
        run = run.model_copy(update={"host": host, "plan": planned})
        store.write_run(run)
        done = blocks.measured(store.records())
        while True:
            todo = blocks.blocks_left(blocks.blocks_of(run.plan), done)
            with follow(seconds(todo, profile, catalog)) as live:
                session = Session(
                    catalog=catalog,
                    runtimes=runtimes,
                    conditions=conditions,
                    bench=Bench(
                        limits=host.limits,
                        clock=Clock(),
                        store=store,
                        profile=profile,
                        reporter=live,
                        threads=_threads(run.plan.condition.cores, host),
                        emulated=run.plan.condition.emulated,
                    ),
                    running=_running(run.plan.targets),
                )
                for number, block in enumerate(todo, start=1):
                    session.run([block], done)
                    live.reached(seconds(todo[:number], profile, catalog))
            records = store.records()
            done = frozenset(record.key for record in records)
            more = extra_rounds.rounds(run, records, catalog)
            if not more.rounds:
                break
            run = run.model_copy(update={"plan": extra_rounds.added(run.plan, more.rounds)})
            store.write_run(run)
            say(more.text)
        if more.text:
            say(more.text)
    store.write_run(run.model_copy(update={"finished_at": now()}))
    return newest_records(store.records())


def calibrated(planned: PlanFacts, entries: Sequence[Entry], runtime: Runtime, store: Store, busy: Busy) -> PlanFacts:
    """The plan with all paths and rates filled in; each scenario does so once, and for all entries alike.

    `RuntimeFailure` or `LoadError` when it cannot.
    """
    quickest = sorted(entries, key=lambda entry: not entry.native)
    programs = dict(planned.programs)
    for name, program in planned.programs.items():
        calibrate = SCENARIOS[name].calibrate
        if calibrate is None or program.calibrated:
            continue
        with busy(f"calibrating {name}"):
            idle = [partial(_started, runtime, entry, planned, store) for entry in quickest]
            filled = calibrate(program, idle)
        programs[name] = filled.model_copy(update={"calibrated": True})
    return planned.model_copy(update={"programs": programs})


@contextmanager
def _started(runtime: Runtime, entry: Entry, planned: PlanFacts, store: Store) -> Iterator[Hosted]:
    log = store.raw / f"{stem(entry.id, 'calibration')}.log"
    hosted = runtime.start(launch_of(entry, log, planned.condition))
    try:
        yield hosted
    finally:
        hosted.stop(windows.BACKLOG_GRACE_S)


def launch_of(entry: Entry, log: Path, condition: Condition) -> Launch:
    flags = tuple(condition.jvm_flags)
    return Launch(entry, log, entry.settings_of(condition.env), flags, condition.cpus, condition.cores)


def _threads(cores: Cores | None, host: HostFacts) -> int:
    """Of the generator: one a processor of its own, else a few, as it competes with the server."""
    return len(cores.generator) if cores else min(host.cores or 2, 4)


def _running(targets: Mapping[str, Target]) -> dict[str, Running]:
    return {name: Running(targeting.HostedTarget(t), targeting.condition(t)) for name, t in targets.items()}
