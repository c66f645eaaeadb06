"""Refreshes committed runs: which ones, and how a new run takes the place of the committed one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from zoo.model.errors import BenchError
from zoo.reference.estimate import Estimate
from zoo.reference.runs import CommittedRun
from zoo.reference.status import Build
from zoo.store import kept
from zoo.store.writing import write_whole

MADE = Path("results/refreshed")
"""The folder of runs that are made to be committed."""

Chosen = tuple[CommittedRun, Estimate]
Found = tuple[Build, Estimate]


def named(runs: Iterable[Chosen]) -> list[Chosen]:
    """Return all of these runs; `BenchError` if the command of one cannot make it here."""
    found = list(runs)
    if impossible := [f"{run.name}: {estimate.impossible}" for run, estimate in found if estimate.impossible]:
        raise BenchError("\n".join(impossible))
    return found


def ordered(found: Iterable[Found]) -> list[Found]:
    """Sort runs: first those to refresh, the missing and the oldest first, then the impossible and the current ones."""
    return sorted(found, key=lambda one: (one[0].is_current, bool(one[1].impossible), one[0].started_at or ""))


def oldest(found: Iterable[Found], budget_s: float) -> list[Chosen]:
    """Return the runs that are missing or of an earlier build, oldest first, as many as fit into the time."""
    chosen = []
    for build, estimate in ordered(found):
        if not build.is_current and not estimate.impossible and estimate.seconds <= budget_s:
            budget_s -= estimate.seconds
            chosen.append((build.run, estimate))
    return chosen


def adopt(run: CommittedRun, root: Path) -> None:
    """Put the newest run that its command made into the place of the committed one."""
    made = newest(root / MADE / run.name)
    if made is None:
        raise BenchError(f"{run.name}: its command left no run in {MADE / run.name}")
    if run.path.suffix:
        write_whole(root / run.path, (made / "run.json").read_text(encoding="utf-8"))
    else:
        kept.keep(made, root / run.path, raw=run.raw)


def newest(folder: Path) -> Path | None:
    """Return the newest run below a folder, if there is one."""
    found = max(folder.rglob("run.json"), key=lambda path: path.stat().st_mtime, default=None)
    return found and found.resolve().parent
