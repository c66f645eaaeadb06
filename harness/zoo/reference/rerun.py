"""Re-runs of committed runs: which are out of date, how long each takes, and where the new runs are stored."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from zoo.bench import bare_jvm, soak
from zoo.core import blocks, budget, run_folder
from zoo.core.entry_id import server_name
from zoo.core.errors import BenchError, UserError
from zoo.core.jdbc import JDBC, plan_subjects
from zoo.core.manifest import Catalog
from zoo.core.option import parse_options
from zoo.core.plan import BenchOptions, make_plan
from zoo.core.run_folder import write_atomically
from zoo.explain.files import copy_explanation, is_explanation
from zoo.explain.options import ExplainOptions
from zoo.reference.claims_page import PROGRAM_OF
from zoo.reference.origin import changed_builds, current_protocol
from zoo.reference.runs import CommittedRun, TableError
from zoo.runtime.conditions import condition_of, select_runtime, variations_of
from zoo.scenarios.jdbc import spec as databases
from zoo.scenarios.jdbc.spec import JdbcOptions

REFRESHED = Path("results/refreshed")
"""The folder of new runs that are to be committed."""

FOR_CLAIMS = Path("results/claims")
"""The folder of runs that were made on this machine to judge claims."""

UNFINISHED = FOR_CLAIMS / "unfinished"
"""The folder of such runs until they are complete, so that an interrupted one is measured again."""

# --- which runs are current

METHOD = "the method"
"""The entry among the changes of a run that was measured under an earlier protocol."""


@dataclass(frozen=True)
class ServerBuild:
    """The state of a committed run: when it started (None if it is not committed), and what has changed since then.

    `changed` has servers, programs and `METHOD`; `took_s` is the run's recorded duration in seconds.
    """

    run: CommittedRun
    started_at: str | None = None
    changed: tuple[str, ...] = ()
    took_s: float = 0.0

    @property
    def is_current(self) -> bool:
        return self.started_at is not None and not self.changed


def build_of(run: CommittedRun, root: Path) -> ServerBuild:
    """Compare the build and the protocol of the committed run with those of this checkout.

    A server without a stored hash counts as changed. Copies that are not in the tree cannot be compared.
    """
    path = root / run.path
    file = path / "run.json" if path.is_dir() else path
    if not file.is_file():
        return ServerBuild(run)
    data = file.read_bytes()
    facts = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)
    measured = _measured_programs(facts)
    stale = changed_builds(facts.get("builds", {}), measured, run.catalog(root), root)
    protocol = current_protocol(facts.get("kind", ""), measured)
    if facts.get("protocol", protocol) < protocol:
        stale.append(METHOD)
    return ServerBuild(run, facts.get("started_at", ""), tuple(sorted(stale)), _duration_s(facts))


def _duration_s(facts: dict[str, Any]) -> float:
    """Return the seconds between a run's start and end, 0 if they are not recorded."""
    if not (ended := facts.get("finished_at")):
        return 0.0
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(facts["started_at"])).total_seconds()


def _measured_programs(facts: dict[str, Any]) -> set[str]:
    """Return the servers, or the program, that a run measured."""
    if program := PROGRAM_OF.get(facts.get("kind", "")):
        return {program}
    if facts.get("kind", "").startswith("explain"):
        return {server_name(facts[side]["entry"]) for side in ("a", "b")}
    entries = facts["plan"]["entries"] if "plan" in facts else facts.get("marks") or [facts["entry"]]
    return {server_name(entry) for entry in entries}


# --- how long a command takes


@dataclass(frozen=True)
class CommandTime:
    """The time and the number of cells of a command; `impossible` is the reason if it cannot run here."""

    seconds: float = 0.0
    cells: int = 0
    impossible: str = ""


TimedRun = tuple[CommittedRun, CommandTime]
TimedBuild = tuple[ServerBuild, CommandTime]


def time_of(run: CommittedRun, root: Path) -> CommandTime:
    """Estimate how long the command of a committed run takes on this machine."""
    if run.by_hand:
        return CommandTime(impossible=run.by_hand)
    try:
        match run.words:
            case ["bench", *words]:
                return time_of_bench(parse_options(BenchOptions, words), run.env, run.catalog(root), root)
            case ["jdbc", "bench", *words]:
                planned = databases.make_plan(parse_options(JdbcOptions, words), seed=0)
                cells = [one for one in plan_subjects(planned) if one.scenario == JDBC]
                return CommandTime(databases.seconds(planned), len(cells))
        if (seconds := _seconds_without_cells(run.words)) is not None:
            return CommandTime(seconds)
    except ValueError as error:
        raise TableError(f"{run.name}: {run.command}: {error}") from error
    except UserError as error:
        return CommandTime(impossible=str(error))
    raise TableError(
        f'{run.name}: "{run.command}" is not the command of a committed run; correct it in results/reference/runs.toml'
    )


def _seconds_without_cells(words: list[str]) -> float | None:
    """Return the time of a command that measures no cells; None if this is another command."""
    match words:
        case ["jvm"]:
            return bare_jvm.seconds()
        case ["explain", *options]:
            explained: ExplainOptions = parse_options(ExplainOptions, options)
            return explained.seconds
        case ["soak", "--minutes", minutes]:
            return soak.seconds(float(minutes))
    return None


def time_of_bench(wish: BenchOptions, env: Mapping[str, str], catalog: Catalog, root: Path) -> CommandTime:
    """Estimate a bench with these variables in its environment; raise `UserError` if it cannot run.

    For a run that adds rounds until it reaches a precision, assume that it takes its whole budget.
    """
    entries = catalog.select(wish.servers, wish.variants)
    with _changed_environment(env):
        condition = condition_of(select_runtime(wish.runtime, wish.tiers), entries, root)
        variations = variations_of(wish.vary, condition, entries, root)
    planned = make_plan(wish, catalog, condition, variations)
    least = budget.estimate_seconds(blocks.blocks_of(planned), blocks.profile_of(planned), catalog)
    return CommandTime(max(least, planned.budget_s or 0.0), planned.cells)


@contextmanager
def _changed_environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Change this process's environment within the context."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


# --- which runs are measured again


def require_possible(runs: Iterable[TimedRun]) -> list[TimedRun]:
    """Return all of these runs; raise `BenchError` if the command of one cannot run here."""
    chosen = list(runs)
    if impossible := [f"{run.name}: {time.impossible}" for run, time in chosen if time.impossible]:
        raise BenchError("\n".join(impossible))
    return chosen


def sort_runs(found: Iterable[TimedBuild]) -> list[TimedBuild]:
    """Sort runs: first the missing ones, then outdated ones from the oldest, impossible ones, and current ones."""
    return sorted(found, key=lambda one: (one[0].is_current, bool(one[1].impossible), one[0].started_at or ""))


def choose_oldest(found: Iterable[TimedBuild], budget_s: float) -> list[TimedRun]:
    """Return the runs that are missing or of an earlier build, oldest first, as many as fit into `budget_s` seconds."""
    chosen = []
    for build, time in sort_runs(found):
        if not build.is_current and not time.impossible and time.seconds <= budget_s:
            budget_s -= time.seconds
            chosen.append((build.run, time))
    return chosen


# --- where a new run is stored


def replace_committed(run: CommittedRun, root: Path) -> None:
    """Replace the committed run by the newest one that its command made; raise `BenchError` if there is none."""
    newest = _find_newest(root / REFRESHED / run.name)
    if newest is None:
        raise BenchError(f"{run.name}: its command created no run in {REFRESHED / run.name}")
    if run.path.suffix:
        write_atomically(root / run.path, (newest / "run.json").read_text(encoding="utf-8"))
    elif is_explanation(newest):
        copy_explanation(newest, root / run.path)
    else:
        run_folder.copy_run(newest, root / run.path, raw=run.raw)


def claim_runs(runs: Iterable[CommittedRun], root: Path) -> dict[str, Path]:
    """Return the folders of those of these runs that were made for claims, by name."""
    folders = {run.name: root / FOR_CLAIMS / run.name for run in runs}
    return {name: folder for name, folder in folders.items() if (folder / "run.json").exists()}


def begin_for_claims(run: CommittedRun, root: Path) -> Path:
    """Return the folder for the command's run, after removing an interrupted run from it."""
    folder = root / UNFINISHED / run.name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def finish_for_claims(run: CommittedRun, root: Path) -> None:
    """Move the complete run to its permanent folder."""
    folder = root / UNFINISHED / run.name
    if newest := _find_newest(folder):
        target = root / FOR_CLAIMS / run.name
        target.parent.mkdir(parents=True, exist_ok=True)
        newest.rename(target)
        shutil.rmtree(folder)


def _find_newest(folder: Path) -> Path | None:
    """Return the newest run below a folder, or None."""
    newest = max(folder.rglob("run.json"), key=lambda path: path.stat().st_mtime, default=None)
    return newest and newest.resolve().parent
