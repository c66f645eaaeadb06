"""Execution of a plan: one launch per cell and round, and one record that is written as soon as it is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.bench.display import Display
from zoo.core.blocks import Block, blocks_of, measured_keys, remaining_blocks
from zoo.core.errors import RuntimeFailure
from zoo.core.jdbc import FLOOD, MODELS, PROTOCOL, Flood, JdbcCell, executor_of
from zoo.core.record import Failure, Record, Trial
from zoo.core.run_folder import Store
from zoo.core.scenario import SCENARIOS
from zoo.core.trial_results import FloodResult
from zoo.host import run_lock
from zoo.host.engine import EngineError
from zoo.host.run_metadata import now
from zoo.runtime.databases import RunningDatabase
from zoo.scenarios.jdbc import launcher, spec
from zoo.scenarios.jdbc.launcher import LaunchFailure
from zoo.scenarios.jdbc.services import Databases

PATIENCE = 3
SLACK_S = 240
"""Extra seconds for a pool of 1,000 that the server does not allow, and for a database that is slow to stop."""

FAULTS = (LaunchFailure, EngineError, RuntimeFailure, OSError)
"""Exceptions that fail one cell. The run continues."""

FLOOD_CONNECTIONS = 100
"""Connections that a flood's database server allows. The flood's pool takes 10."""

FLOOD_LATENCY = "wire-10"


class JdbcLauncher(Protocol):
    """Interface of the launcher. Its methods run java-jdbc to its end and raise `LaunchFailure` if it fails."""

    def run(self, arguments: Sequence[str], log: Path, timeout_s: float, serving: RunningDatabase) -> None: ...

    def flood(self, flood: Flood, latency: str, log: Path, serving: RunningDatabase) -> FloodResult: ...


@dataclass(frozen=True)
class JdbcSession:
    """Everything a run needs. The parts that have side effects are passed in."""

    launcher: JdbcLauncher
    databases: Databases
    store: Store
    on_record: Callable[[Record], None]
    display: Display = field(default_factory=Display)

    def run(self) -> None:
        """Measure what the stored plan contains and the records lack, floods last. Failed cells are recorded."""
        left = remaining_blocks(blocks_of(self.store.run().plan), measured_keys(self.store.records()))
        for block in sorted(left, key=lambda block: block.scenario == FLOOD):
            one = (Flood if block.scenario == FLOOD else JdbcCell).of(*spec.names(block))
            self.display.phase(str(one) if block.scenario == FLOOD else f"round {block.round}  {one}", "")
            record = self._record(block)
            self.store.append(record)
            self.on_record(record)

    def _record(self, block: Block) -> Record:
        (entry,), (tier,), measure = block.entries, block.tiers, SCENARIOS[block.scenario].trial
        assert measure is not None
        started, trial, failure = now(), None, None
        try:
            trial = measure(self, block)
        except FAULTS as error:
            failure = _failure(error)
        return Record(
            protocol=PROTOCOL,
            entry=entry,
            model=MODELS[executor_of(entry)],
            scenario=block.scenario,
            case=block.case.name,
            tier=tier.name,
            condition=self.store.run().plan.condition,
            round=block.round,
            position=block.position,
            started_at=started,
            trial=trial,
            failure=failure,
        )

    def cell(self, block: Block) -> Trial:
        """Run one fork of JMH."""
        cell, used = JdbcCell.of(*spec.names(block)), spec.profile_of(self.store.run().plan)
        name = f"{_slug(str(cell))}-r{block.round}"
        with (
            self.databases.serving(cell.database, cell.max_connections, cell.latency) as serving,
            run_lock.scratch_folder("jdbc") as folder,
        ):
            out = Path(folder) / "jmh.json"
            limit = PATIENCE * spec.cell_seconds(cell, used) + SLACK_S
            self.launcher.run(launcher.arguments(cell, used, str(out)), self.store.new_log(name), limit, serving)
            text = out.read_text(encoding="utf-8")
        raw = self.store.write_raw(name, _without_paths(text))
        return Trial(result=launcher.measurement(text, cell, raw))

    def flood(self, block: Block) -> Trial:
        """Submit all tasks to an executor at once."""
        flood = Flood.of(*spec.names(block))
        with self.databases.serving(flood.database, FLOOD_CONNECTIONS, FLOOD_LATENCY) as serving:
            log = self.store.new_log(_slug(str(flood)))
            return Trial(result=self.launcher.flood(flood, FLOOD_LATENCY, log, serving))


def _without_paths(text: str) -> object:
    """Return JMH's results without local paths and without the addresses and credentials of a database that is gone."""
    results = json.loads(text)
    for result in results:
        result.pop("jvm", None)
        result["jvmArgs"] = [a for a in result["jvmArgs"] if not a.startswith(("-Dzoo.url", "-Dzoo.credentials"))]
    return results


def _failure(error: Exception) -> Failure:
    if isinstance(error, LaunchFailure):
        return error.failure
    if isinstance(error, RuntimeFailure):
        return Failure(kind=error.kind, message=error.message, log_tail=error.log_tail)
    message, _, rest = str(error).partition("\n")
    return Failure(kind="engine" if isinstance(error, EngineError) else "no result", message=message, log_tail=rest)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text)
