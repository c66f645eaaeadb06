"""Carries a plan out: one launch a cell and round, one record written as soon as it is known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zoo.host import run_lock
from zoo.host.engine import EngineError
from zoo.host.run_metadata import now
from zoo.jdbc import launcher, plan
from zoo.jdbc.launcher import LaunchFailure
from zoo.jdbc.plan import Step
from zoo.jdbc.records import CellRecord, Flood, FloodRecord, FloodResult
from zoo.jdbc.services import Databases
from zoo.jdbc.store import JdbcStore
from zoo.model.errors import RuntimeFailure
from zoo.model.record import Failure
from zoo.runtime.databases import Serving

PATIENCE = 3
SLACK_S = 240
"""A pool of 1,000 that the server does not allow, and a database that is slow to stop."""

FAULTS = (LaunchFailure, EngineError, RuntimeFailure, OSError)
"""Of one cell: it has failed, and the run goes on."""

FLOOD_CONNECTIONS = 100
"""That its server allows; its pool takes 10."""

FLOOD_LATENCY = "wire-10"


class Runs(Protocol):
    """Runs java-jdbc to its end; `LaunchFailure` when that fails."""

    def run(self, arguments: Sequence[str], log: Path, timeout_s: float, serving: Serving) -> None: ...

    def flood(self, flood: Flood, latency: str, log: Path, serving: Serving) -> FloodResult: ...


Told = Callable[[CellRecord | FloodRecord], None]


@dataclass(frozen=True)
class Session:
    """All that a run needs; what touches the world comes from outside."""

    launcher: Runs
    databases: Databases
    store: JdbcStore
    told: Told

    def run(self) -> None:
        """Measure what the stored plan has and the records lack; a failed cell is recorded and the rest goes on."""
        planned = self.store.run().plan
        done = self.store.records()
        cells = {(r.cell, r.round) for r in done if isinstance(r, CellRecord)}
        floods = {r.flood for r in done if isinstance(r, FloodRecord)}
        for step in plan.steps(planned):
            if (step.cell, step.round) not in cells:
                self._keep(self._cell(step))
        for flood in planned.floods:
            if flood not in floods:
                self._keep(self._flood(flood))

    def _keep(self, record: CellRecord | FloodRecord) -> None:
        self.store.append(record)
        self.told(record)

    def _cell(self, step: Step) -> CellRecord:
        used = self.store.run().plan.profile
        cell = step.cell
        name = f"{_slug(str(cell))}-r{step.round}"
        kept = CellRecord(cell=cell, round=step.round, position=step.position, started_at=now())
        try:
            with (
                self.databases.serving(cell.database, cell.max_connections, cell.latency) as serving,
                run_lock.scratch_folder("jdbc") as folder,
            ):
                out = Path(folder) / "jmh.json"
                limit = PATIENCE * plan.cell_seconds(cell, used) + SLACK_S
                self.launcher.run(launcher.arguments(cell, used, str(out)), self._log(name), limit, serving)
                text = out.read_text(encoding="utf-8")
            raw = self.store.write_raw(name, _without_paths(text))
            return kept.model_copy(update={"measurement": launcher.measurement(text, cell, raw)})
        except FAULTS as error:
            return kept.model_copy(update={"failure": _failure(error)})

    def _flood(self, flood: Flood) -> FloodRecord:
        started = now()
        try:
            with self.databases.serving(flood.database, FLOOD_CONNECTIONS, FLOOD_LATENCY) as serving:
                log = self._log(_slug(str(flood)))
                result = self.launcher.flood(flood, FLOOD_LATENCY, log, serving)
        except FAULTS as error:
            return FloodRecord(flood=flood, started_at=started, failure=_failure(error))
        return FloodRecord(flood=flood, started_at=started, result=result)

    def _log(self, name: str) -> Path:
        return self.store.raw / f"{name}.log"


def _without_paths(text: str) -> object:
    """JMH's results without this machine's folders and the addresses of a database that is gone."""
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
