"""Carries a plan out: one server process a block, one record a cell, written as soon as it is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo import plan
from zoo.catalog import Catalog
from zoo.clock import Clock
from zoo.host.limits import Limits
from zoo.load.base import LoadError
from zoo.measure import Subject, measure
from zoo.plan import Block, Profile, Tier
from zoo.progress import Reporter
from zoo.records import Condition, Failure, Measurement, Record, Warmup
from zoo.runtime.base import Hosted, Launch, Runtime, RuntimeFailure
from zoo.sample.jvm import Info
from zoo.scenario import SCENARIOS
from zoo.store import Store
from zoo.variations import name_of
from zoo.warmup import warm_up
from zoo.window import Bench


@dataclass
class _Life:
    """A running server of a block, and how it was warmed up."""

    hosted: Hosted
    info: Info
    idle_kb: int
    canary_s: float | None
    warmup: Warmup


@dataclass
class Session:
    """Everything a run needs; all that touches the world comes in from outside, so tests can replace it.

    Runtimes and conditions by name, the run's own under the empty one.
    """

    catalog: Catalog
    runtimes: Mapping[str, Runtime]
    limits: Limits
    clock: Clock
    store: Store
    profile: Profile
    conditions: Mapping[str, Condition]
    reporter: Reporter
    threads: int

    def run(self, blocks: Sequence[Block], done: frozenset[tuple[str, str, str, int]] = frozenset()) -> None:
        """Measure every cell that is not in `done`; a failed cell is recorded and the rest goes on."""
        for block in blocks:
            left = [t for t in block.tiers if any(key not in done for key in block.keys(t))]
            if left:
                _BlockRun(self, block).carry_out(left)

    def bench(self) -> Bench:
        return Bench(
            self.limits, self.clock, self.store, self.profile, self.reporter, self.threads, emulated=self.emulated
        )

    @property
    def emulated(self) -> bool:
        """True where nothing may be told of speed; no run is so in part."""
        return self.conditions[""].emulated


class _BlockRun:
    """One block: the lives of its servers, or more of them when one crashes or cannot work off its queue."""

    def __init__(self, session: Session, block: Block) -> None:
        self._session = session
        self._block = block
        self._scenario = SCENARIOS[block.scenario]
        self._lives: dict[str, _Life] = {}
        self._refused: dict[str, Failure] = {}

    def carry_out(self, tiers: Sequence[Tier]) -> None:
        try:
            for tier in tiers:
                self._tier(tier, first=tiers[0], last=tier == tiers[-1])
        finally:
            for name in list(self._lives):
                self._end(name)

    def _tier(self, tier: Tier, *, first: Tier, last: bool) -> None:
        started = self._session.clock.now()
        for name in self._block.entries:
            if name not in self._lives and name not in self._refused:
                try:
                    self._lives[name] = self._start(name, first)
                except (RuntimeFailure, LoadError) as error:
                    self._refused[name] = _failure(error)
        subjects = [self._subject(name, tier) for name in self._block.entries if name in self._lives]
        results = measure(self._session.bench(), subjects, last=last) if subjects else []
        found = {s.entry_id: result for s, result in zip(subjects, results, strict=True)}
        for name in self._block.entries:
            result = found[name] if name in found else self._refused[name]
            self._record(name, tier, started, result)
            if name in found and (isinstance(result, Failure) or not (last or self._answers(name))):
                self._end(name)

    def _subject(self, name: str, tier: Tier) -> Subject:
        life = self._lives[name]
        return Subject(
            entry=self._session.catalog.entry(name),
            entry_id=name,
            block=self._block,
            tier=tier,
            hosted=life.hosted,
            info=life.info,
            idle_kb=life.idle_kb,
            canary_s=life.canary_s,
            warmup=life.warmup,
        )

    def _answers(self, name: str) -> bool:
        hosted = self._lives[name].hosted
        return hosted.instruments.answers(hosted.url)

    def _start(self, name: str, first: Tier) -> _Life:
        session = self._session
        entry = session.catalog.entry(name)
        where = f"round {self._block.round}  {name}  {self._block.scenario}"
        session.reporter.phase(where, "starting the server")
        hosted = session.runtimes[name_of(name)].start(self._launch(name))
        tools = hosted.instruments
        try:
            info = tools.probe(hosted.url, entry)
            session.clock.rest(session.profile.idle_s)
            canary = None if session.emulated else tools.canary()
            idle = tools.snapshot(hosted.pid).rss_kb
            session.reporter.phase(where, "warm-up")
            warmup = warm_up(session.bench(), entry, self._scenario, hosted, first)
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

    def _launch(self, name: str) -> Launch:
        block, condition = self._block, self._session.conditions[name_of(name)]
        log = self._session.store.raw / f"{name.replace(':', '-')}-{block.scenario}-r{block.round}.log"
        return Launch(
            entry=self._session.catalog.entry(name),
            log=_fresh(log),
            env=condition.env,
            jvm_flags=tuple(condition.jvm_flags),
        )

    def _end(self, name: str) -> None:
        self._lives.pop(name).hosted.stop(plan.BACKLOG_GRACE_S)

    def _record(self, name: str, tier: Tier, started: str, result: Measurement | Failure) -> None:
        block = self._block
        record = Record(
            entry=name,
            model=self._session.catalog.entry(name).variant.model,
            scenario=block.scenario,
            tier=tier.name,
            condition=self._session.conditions[name_of(name)],
            round=block.round,
            position=block.position,
            together=list(block.entries) if len(block.entries) > 1 else [],
            started_at=started,
            measurement=result if isinstance(result, Measurement) else None,
            failure=result if isinstance(result, Failure) else None,
        )
        self._session.store.append(record)
        self._session.reporter.record(record)


def _failure(error: RuntimeFailure | LoadError) -> Failure:
    if isinstance(error, RuntimeFailure):
        return Failure(kind=error.kind, message=error.message, log_tail=error.log_tail)
    return Failure(kind=error.kind, message=error.message, log_tail=error.output)


def _fresh(log: Path) -> Path:
    """A name not taken yet: a restarted server must not overwrite the log that tells why."""
    number = 2
    path = log
    while path.exists():
        path = log.with_name(f"{log.stem}-{number}{log.suffix}")
        number += 1
    return path
