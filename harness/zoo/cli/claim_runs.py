"""The command that measures what claims need of one scenario, and how long it takes."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from zoo.catalog.manifest import Catalog
from zoo.claims.evidence import jdbc_case
from zoo.claims.needs import Job
from zoo.jdbc import plan as databases
from zoo.jdbc.plan import Choice
from zoo.measure import bare_jvm
from zoo.plan import blocks, budget, request
from zoo.plan.request import Wish
from zoo.runtime.conditions import PASSED_ON, condition_of
from zoo.scenarios import SCENARIOS

LENGTH = "medium"
"""Of a database run: the shortest profile that warms up for as long as `archives` demands, and has all floods."""


@dataclass(frozen=True)
class Command:
    """Words of `zoo` with the environment they need."""

    words: Sequence[str]
    seconds: float = field(compare=False)
    env: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        setting = "".join(f"{name}={value} " for name, value in self.env.items())
        return f"{setting}zoo {shlex.join(self.words)}"


def of(job: Job, catalog: Catalog, root: Path) -> Command | None:
    """None where this harness cannot measure it."""
    match job.scenario:
        case "jvm":
            return Command(["jvm"], bare_jvm.seconds())
        case "jdbc":
            return _operations(job)
        case "jdbc-flood":
            took = sum(map(databases.flood_seconds, databases.floods(LENGTH, "postgresql")))
            return Command(["jdbc", "bench", "--profile", LENGTH, "--only-floods"], took)
    return _bench(job, catalog, root) if job.scenario in SCENARIOS else None


def _operations(job: Job) -> Command:
    known = [cell for cell in databases.cells() if not cell.again]
    cells = [str(cell) for cell in known if cell.executor in job.entries and jdbc_case(cell) in job.cases]
    words = [word for cell in cells for word in ("--cell", cell)]
    took = databases.seconds(databases.planned(Choice(cell=cells), LENGTH))
    return Command(["jdbc", "bench", "--profile", LENGTH, *words], took, {"JDK": job.jdk} if job.jdk else {})


def _bench(job: Job, catalog: Catalog, root: Path) -> Command:
    aa = SCENARIOS[job.scenario].settle
    wish = Wish(
        variants=job.entries,
        scenarios=[job.scenario],
        cases=list(filter(None, job.cases)),
        tiers=job.tiers,
        rounds=job.rounds,
        duration_s=job.duration,
        turn_s=job.window,
        aa=aa,
    )
    env, words = job.words(PASSED_ON, aa=aa)
    vary = [] if env.keys() - {"JDK"} else [name for name in job.vary if name]
    condition = condition_of("process", catalog.select(variants=wish.variants), root)
    planned = request.plan_of(wish, catalog, condition, dict.fromkeys(vary, condition))
    took = budget.seconds(blocks.blocks_of(planned), blocks.profile_of(planned), catalog)
    return Command(["bench", *words], took, env)
