"""Estimates how long a command of `zoo` takes on this machine, or why it cannot run here."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.jdbc import plan as databases
from zoo.jdbc.plan import JdbcWish
from zoo.measure import bare_jvm, soak
from zoo.model.errors import UserError
from zoo.model.option import parse
from zoo.plan import blocks, budget
from zoo.plan.request import Wish, plan_of
from zoo.reference.runs import CommittedRun, TableError
from zoo.runtime.conditions import condition_of, runtime_named, varied


@dataclass(frozen=True)
class Estimate:
    """The time and the cells of a command; `impossible` is the reason why it cannot run here."""

    seconds: float = 0.0
    cells: int = 0
    impossible: str = ""


def of_run(run: CommittedRun, root: Path) -> Estimate:
    """Estimate the command of a committed run."""
    if run.by_hand:
        return Estimate(impossible=run.by_hand)
    try:
        match run.words:
            case ["bench", *words]:
                return of_bench(parse(Wish, words), run.env, run.catalog(root), root)
            case ["jdbc", "bench", *words]:
                planned = databases.plan_of(parse(JdbcWish, words), seed=0)
                return Estimate(databases.seconds(planned), len(planned.cells))
            case ["jvm"]:
                return Estimate(bare_jvm.seconds())
            case ["soak", "--minutes", minutes]:
                return Estimate(soak.seconds(float(minutes)))
    except ValueError as error:
        raise TableError(f"{run.name}: {run.command}: {error}") from error
    except UserError as error:
        return Estimate(impossible=str(error))
    raise TableError(f"{run.name}: no command of a committed run: {run.command}")


def of_bench(wish: Wish, env: Mapping[str, str], catalog: Catalog, root: Path) -> Estimate:
    """Estimate a bench with these variables in its environment; `UserError` if it cannot run.

    A run that adds rounds until its precision is reached may take the whole of its budget.
    """
    entries = catalog.select(wish.servers, wish.variants)
    with _environment(env):
        condition = condition_of(runtime_named(wish.runtime, wish.tiers), entries, root)
        variations = varied(wish.vary, condition, entries, root)
    planned = plan_of(wish, catalog, condition, variations)
    least = budget.seconds(blocks.blocks_of(planned), blocks.profile_of(planned), catalog)
    return Estimate(max(least, planned.budget_s or 0.0), planned.cells)


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
