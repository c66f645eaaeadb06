"""Carries a plan out: one server process a block, one record a cell, written as soon as it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zoo import plan
from zoo.catalog import Catalog
from zoo.instruments import Instruments
from zoo.load.base import Generator, LoadError
from zoo.measure import Bench, CellFailure, Subject, measure, warm_up
from zoo.plan import Block, Profile, Tier
from zoo.progress import Reporter
from zoo.records import Condition, Failure, Measurement, Record, Warmup
from zoo.runtime.base import Hosted, Launch, Runtime, RuntimeFailure
from zoo.sample.jvm import Info
from zoo.scenario import SCENARIOS
from zoo.store import Store


@dataclass
class _Life:
    """A running server of a block, and how it was warmed up."""

    hosted: Hosted
    info: Info
    idle_kb: int
    canary_s: float
    warmup: Warmup


@dataclass
class Session:
    """Everything a run needs; all that touches the world comes in from outside, so tests can replace it."""

    catalog: Catalog
    runtime: Runtime
    generator: Generator
    instruments: Instruments
    store: Store
    profile: Profile
    condition: Condition
    reporter: Reporter
    nofile: int | None
    threads: int
    env: Mapping[str, str] = field(default_factory=dict)

    def run(self, blocks: Sequence[Block], done: frozenset[tuple[str, str, str, int]] = frozenset()) -> None:
        """Measure every cell that is not in `done`; a failed cell is recorded and the rest goes on."""
        for block in blocks:
            left = tuple(t for t in block.tiers if (block.entry, block.scenario, t.name, block.round) not in done)
            if left:
                _BlockRun(self, block).carry_out(left)

    def bench(self) -> Bench:
        return Bench(
            self.generator, self.instruments, self.store, self.profile, self.reporter, self.nofile, self.threads
        )


class _BlockRun:
    """One block: a server's life, or more of them when it crashes or cannot work off its queue."""

    def __init__(self, session: Session, block: Block) -> None:
        self._session = session
        self._block = block
        self._entry = session.catalog.entry(block.entry)
        self._scenario = SCENARIOS[block.scenario]
        self._where = f"round {block.round}  {block.entry}  {block.scenario}"
        self._life: _Life | None = None

    def carry_out(self, tiers: Sequence[Tier]) -> None:
        refused: RuntimeFailure | LoadError | None = None
        try:
            for tier in tiers:
                started = self._session.instruments.now()
                if refused is None and self._life is None:
                    try:
                        self._life = self._start(tiers[0])
                    except (RuntimeFailure, LoadError) as error:
                        refused = error
                if refused is not None or self._life is None:
                    self._record(tier, started, failure=_failure(refused))
                    continue
                self._cell(tier, started, last=tier == tiers[-1])
        finally:
            self._end()

    def _cell(self, tier: Tier, started: str, *, last: bool) -> None:
        life = self._life
        assert life is not None
        subject = Subject(self._entry, self._block, tier, life.hosted, life.info, life.idle_kb, life.canary_s)
        try:
            result = measure(self._session.bench(), subject, life.warmup, rest=last)
        except CellFailure as error:
            self._record(tier, started, failure=error.failure)
            self._end()
            return
        self._record(tier, started, measurement=result)
        if not last and not self._session.instruments.answers(life.hosted.url):
            self._end()

    def _start(self, first: Tier) -> _Life:
        session = self._session
        tools = session.instruments
        session.reporter.phase(self._where, "starting the server")
        canary = tools.canary()
        hosted = session.runtime.start(self._launch())
        try:
            info = tools.probe(hosted.url, self._entry, session.condition)
            tools.rest(session.profile.idle_s)
            idle = tools.snapshot(hosted.pid).rss_kb
            session.reporter.phase(self._where, "warm-up")
            warmup = warm_up(session.bench(), self._entry, self._scenario, hosted, first)
        except (LoadError, ProcessLookupError) as error:
            alive = hosted.alive() and isinstance(error, LoadError)
            hosted.stop(0)
            if alive:
                raise
            raise RuntimeFailure("crashed", "the server ended during warm-up", hosted.log_tail()) from error
        except RuntimeFailure as error:
            hosted.stop(0)
            raise RuntimeFailure(error.kind, error.message, error.log_tail or hosted.log_tail()) from error
        except BaseException:
            hosted.stop(0)
            raise
        return _Life(hosted, info, idle, canary, warmup)

    def _launch(self) -> Launch:
        block = self._block
        log = self._session.store.raw / f"{block.entry.replace(':', '-')}-{block.scenario}-r{block.round}.log"
        return Launch(
            entry=self._entry,
            port=self._session.instruments.free_port(self._entry.server.manifest.port),
            log=_fresh(log),
            env=self._session.env,
            jvm_flags=tuple(self._session.condition.jvm_flags),
        )

    def _end(self) -> None:
        if self._life is not None:
            self._life.hosted.stop(plan.BACKLOG_GRACE_S)
            self._life = None

    def _record(
        self, tier: Tier, started: str, measurement: Measurement | None = None, failure: Failure | None = None
    ) -> None:
        block = self._block
        record = Record(
            entry=block.entry,
            model=self._entry.variant.model,
            scenario=block.scenario,
            tier=tier.name,
            condition=self._session.condition,
            round=block.round,
            position=block.position,
            started_at=started,
            measurement=measurement,
            failure=failure,
        )
        self._session.store.append(record)
        self._session.reporter.record(record)


def _failure(error: RuntimeFailure | LoadError | None) -> Failure:
    if isinstance(error, RuntimeFailure):
        return Failure(kind=error.kind, message=error.message, log_tail=error.log_tail)
    assert error is not None
    return Failure(kind=error.kind, message=error.message, log_tail=error.output)


def _fresh(log: Path) -> Path:
    """A name not taken yet: a restarted server must not overwrite the log that tells why."""
    number = 2
    path = log
    while path.exists():
        path = log.with_name(f"{log.stem}-{number}{log.suffix}")
        number += 1
    return path
