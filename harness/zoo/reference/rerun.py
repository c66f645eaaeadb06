"""Measures the runs of the table again: which are out of date, how long each takes, and where a new run is put."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.catalog.build import program_hash
from zoo.catalog.manifest import Catalog
from zoo.jdbc import plan as databases
from zoo.jdbc.plan import JdbcWish
from zoo.measure import bare_jvm, soak
from zoo.model.entry_id import server_of
from zoo.model.errors import BenchError, UserError
from zoo.model.option import parse
from zoo.plan import blocks, budget
from zoo.plan.request import Wish, plan_of
from zoo.reference.claims_page import PROGRAM_OF
from zoo.reference.origin import changed
from zoo.reference.runs import CommittedRun, TableError
from zoo.runtime.conditions import condition_of, runtime_named, varied
from zoo.store import run_folder
from zoo.store.run_folder import write_whole

REFRESHED = Path("results/refreshed")
"""The folder of runs that are made to be committed."""

FOR_CLAIMS = Path("results/claims")
"""The folder of runs that the commands of the table made on this machine, for claims."""

UNFINISHED = FOR_CLAIMS / "unfinished"
"""The folder of such a run until it is complete, so that an interrupted one is measured again."""

# --- which runs are current


@dataclass(frozen=True)
class Build:
    """The state of a committed run: when it was measured (None if nothing is committed), and what changed since."""

    run: CommittedRun
    started_at: str | None = None
    changed: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        return self.started_at is not None and not self.changed


def build_of(run: CommittedRun, root: Path) -> Build:
    """Compare the build that the committed run measured with the sources of this checkout.

    A server of which the run kept no hash counts as changed. Copies that are not in the tree cannot be compared.
    """
    path = root / run.path
    file = path / "run.json" if path.is_dir() else path
    if not file.is_file():
        return Build(run)
    data = file.read_bytes()
    facts = json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)
    kept_hashes, measured = facts.get("builds", {}), _measured(facts)
    stale = changed(kept_hashes, [server for server in run.catalog(root).servers if server.name in measured])
    programs = [name for name in PROGRAM_OF.values() if name in measured]
    stale += [name for name in programs if kept_hashes.get(name) != program_hash(root, name)]
    return Build(run, facts.get("started_at", ""), tuple(sorted(stale)))


def _measured(facts: dict[str, Any]) -> set[str]:
    """Return the servers, or the program, that a run measured."""
    if program := PROGRAM_OF.get(facts.get("kind", "")):
        return {program}
    entries = facts["plan"]["entries"] if "plan" in facts else facts.get("marks") or [facts["entry"]]
    return {server_of(entry) for entry in entries}


# --- how long a command takes


@dataclass(frozen=True)
class CommandTime:
    """The time and the cells of a command; `impossible` is the reason why it cannot run here."""

    seconds: float = 0.0
    cells: int = 0
    impossible: str = ""


Chosen = tuple[CommittedRun, CommandTime]
Found = tuple[Build, CommandTime]


def time_of(run: CommittedRun, root: Path) -> CommandTime:
    """Estimate how long the command of a committed run takes on this machine."""
    if run.by_hand:
        return CommandTime(impossible=run.by_hand)
    try:
        match run.words:
            case ["bench", *words]:
                return time_of_bench(parse(Wish, words), run.env, run.catalog(root), root)
            case ["jdbc", "bench", *words]:
                planned = databases.plan_of(parse(JdbcWish, words), seed=0)
                return CommandTime(databases.seconds(planned), len(planned.cells))
            case ["jvm"]:
                return CommandTime(bare_jvm.seconds())
            case ["soak", "--minutes", minutes]:
                return CommandTime(soak.seconds(float(minutes)))
    except ValueError as error:
        raise TableError(f"{run.name}: {run.command}: {error}") from error
    except UserError as error:
        return CommandTime(impossible=str(error))
    raise TableError(f"{run.name}: no command of a committed run: {run.command}")


def time_of_bench(wish: Wish, env: Mapping[str, str], catalog: Catalog, root: Path) -> CommandTime:
    """Estimate a bench with these variables in its environment; `UserError` if it cannot run.

    A run that adds rounds until its precision is reached may take the whole of its budget.
    """
    entries = catalog.select(wish.servers, wish.variants)
    with _environment(env):
        condition = condition_of(runtime_named(wish.runtime, wish.tiers), entries, root)
        variations = varied(wish.vary, condition, entries, root)
    planned = plan_of(wish, catalog, condition, variations)
    least = budget.seconds(blocks.blocks_of(planned), blocks.profile_of(planned), catalog)
    return CommandTime(max(least, planned.budget_s or 0.0), planned.cells)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Change this process's environment for a while."""
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


# --- which runs are measured again


def possible(runs: Iterable[Chosen]) -> list[Chosen]:
    """Return all of these runs; `BenchError` if the command of one cannot make it here."""
    found = list(runs)
    if impossible := [f"{run.name}: {time.impossible}" for run, time in found if time.impossible]:
        raise BenchError("\n".join(impossible))
    return found


def ordered(found: Iterable[Found]) -> list[Found]:
    """Sort runs: first those to refresh, the missing and the oldest first, then the impossible and the current ones."""
    return sorted(found, key=lambda one: (one[0].is_current, bool(one[1].impossible), one[0].started_at or ""))


def oldest(found: Iterable[Found], budget_s: float) -> list[Chosen]:
    """Return the runs that are missing or of an earlier build, oldest first, as many as fit into the time."""
    chosen = []
    for build, time in ordered(found):
        if not build.is_current and not time.impossible and time.seconds <= budget_s:
            budget_s -= time.seconds
            chosen.append((build.run, time))
    return chosen


# --- where a new run is put


def adopt(run: CommittedRun, root: Path) -> None:
    """Put the newest run that its command made into the place of the committed one."""
    made = _newest(root / REFRESHED / run.name)
    if made is None:
        raise BenchError(f"{run.name}: its command left no run in {REFRESHED / run.name}")
    if run.path.suffix:
        write_whole(root / run.path, (made / "run.json").read_text(encoding="utf-8"))
    else:
        run_folder.keep(made, root / run.path, raw=run.raw)


def made_for_claims(runs: Iterable[CommittedRun], root: Path) -> dict[str, Path]:
    """Return the folders of the runs that were made for claims, by name."""
    folders = {run.name: root / FOR_CLAIMS / run.name for run in runs}
    return {name: folder for name, folder in folders.items() if (folder / "run.json").exists()}


def begin_for_claims(run: CommittedRun, root: Path) -> Path:
    """Return the folder in which the command puts its run; remove what was interrupted there."""
    folder = root / UNFINISHED / run.name
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def finish_for_claims(run: CommittedRun, root: Path) -> None:
    """Keep the run under its name."""
    folder = root / UNFINISHED / run.name
    if made := _newest(folder):
        to = root / FOR_CLAIMS / run.name
        to.parent.mkdir(parents=True, exist_ok=True)
        made.rename(to)
        shutil.rmtree(folder)


def _newest(folder: Path) -> Path | None:
    """Return the newest run below a folder, if there is one."""
    found = max(folder.rglob("run.json"), key=lambda path: path.stat().st_mtime, default=None)
    return found and found.resolve().parent
