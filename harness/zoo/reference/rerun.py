"""Refreshes committed runs: which ones, and how a new run takes the place of the committed one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def named(runs: Iterable[Chosen]) -> list[Chosen]:
    """All of these; `BenchError` for one that its command cannot make here."""
    found = list(runs)
    if impossible := [f"{run.name}: {estimate.impossible}" for run, estimate in found if estimate.impossible]:
        raise BenchError("\n".join(impossible))
    return found


def oldest(builds: Sequence[Build], estimates: Sequence[Estimate], budget_s: float) -> list[Chosen]:
    """The runs that are missing or of an earlier build, oldest first, as many as fit into the time."""
    found = []
    stale = [pair for pair in zip(builds, estimates, strict=True) if not pair[0].is_current and not pair[1].impossible]
    for build, estimate in sorted(stale, key=lambda pair: pair[0].started_at or ""):
        if estimate.seconds <= budget_s:
            budget_s -= estimate.seconds
            found.append((build.run, estimate))
    return found


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
