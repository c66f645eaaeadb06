"""Two runs compared, cell by cell: two commits, two JDKs, two days. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from zoo.analysis.metrics import Class, Metric, Word
from zoo.analysis.pairs import Kind, Pair, judged, pair_of
from zoo.analysis.stats import Ratio, unpaired_ratio
from zoo.analysis.summary import Cell, cells
from zoo.model.entry_id import is_twin
from zoo.model.host import HostFacts
from zoo.model.record import Record
from zoo.model.run import Run, RunFacts
from zoo.plan.defaults import BEFORE

PROGRAM_SETTINGS = ("duration_s", "windows", "dropped", "thread_each", "rest_s", "repeats")
"""How a cell of a scenario is measured, beside its case and connection count, by which it is known."""


@dataclass(frozen=True)
class Contrast:
    """Run `b` over run `a`. `obstacles` say why the two cannot be compared, `changes` what may be the question."""

    obstacles: list[str]
    changes: list[str]
    pairs: list[Pair]


def contrast(
    a: Run, a_records: Iterable[Record], b: Run, b_records: Iterable[Record], reference: str | None = None
) -> Contrast:
    before, after = cells(a_records, reference), cells(b_records, reference)
    shared = [key for key in after if key in before and not is_twin(key[0])]
    made = [_pair(key, (a.id, b.id), (before[key], after[key])) for key in shared]
    made.sort(key=lambda p: (p.scenario, p.requested, p.a))
    own = [name for name in a.plan.programs if name in b.plan.programs]
    obstacles = differences(_fixed(a, own), _fixed(b, own))
    if not made:
        obstacles.append("no cell is in both")
    changes = [*differences(_free(a), _free(b)), *environments(a, b, {*a.plan.condition.env, *b.plan.condition.env})]
    return Contrast(obstacles, changes, judged(made, apart=False))


def slower(pairs: Iterable[Pair], by: float) -> list[Pair]:
    """The cells whose throughput is found slower, by more than this share."""
    return [
        pair
        for pair in pairs
        for metric, c in pair.comparisons.items()
        if metric.kind is Class.LOAD
        and c.verdict.word is Word.SLOWER
        and c.ratio is not None
        and c.ratio.value < 1 - by
    ]


def _pair(key: tuple[str, str, str], runs: tuple[str, str], sides: tuple[Cell, Cell]) -> Pair:
    """Rounds of two runs have nothing to do with each other, so they are not paired."""
    entry, scenario, tier = key
    before, after = sides
    names = f"{entry} in {runs[0]}", f"{entry} in {runs[1]}"

    def ratio(metric: Metric) -> Ratio | None:
        old, new = list(before.figures(metric).values()), list(after.figures(metric).values())
        return unpaired_ratio(new, old) if old and new else None

    made = pair_of(Kind.RUN, names, (scenario, tier), sides, names, ratio, min(len(before.seen), len(after.seen)))
    return replace(made, a=entry, b=entry, limits=(after.limits, before.limits))


def _fixed(run: Run, own: Iterable[str]) -> dict[str, object]:
    """What must be alike, or a difference says nothing of the servers. `own`: scenarios with times of their own."""
    times = {f"time {name}": value for name, value in (BEFORE | run.plan.profile).items() if name != "rounds"}
    programs = {
        f"{name} {setting}": getattr(run.plan.programs[name], setting) for name in own for setting in PROGRAM_SETTINGS
    }
    return {"protocol": run.protocol, **times, **programs, **hardware(run.host)}


def hardware(host: HostFacts) -> dict[str, object]:
    """What no two runs that are compared may differ in."""
    return {
        "processor": host.cpu_model,
        "cores": host.cores_usable,
        "memory": f"{host.memory_kb / 1048576:.0f} GiB" if host.memory_kb else None,
    }


def _free(run: Run) -> dict[str, object]:
    condition = run.plan.condition
    return {
        "commit": (run.commit or "unknown")[:12] + (" with changes" if run.dirty else ""),
        "JDK": condition.jdk,
        "JVM flags": " ".join(condition.jvm_flags),
        "settings": condition.env,
        "runtime": condition.runtime,
        "accelerator": condition.accelerator,
        "network": condition.network,
        "cores' sides": str(condition.cores or "shared"),
        "kernel": run.host.kernel,
        "wrk": run.host.tools.wrk,
        "harness": run.harness,
    }


def environments(a: RunFacts, b: RunFacts, listed: Collection[str] = ()) -> list[str]:
    """Return `environment NAME: before → after` for each variable that an entry of both runs had another value of.

    Those that are `listed` elsewhere are left out.
    """
    changes = {
        f"environment {change}": None
        for entry, before in a.environment.items()
        if entry in b.environment
        for change in differences(_without(listed, before), _without(listed, b.environment[entry]))
    }
    return list(changes)


def _without(names: Collection[str], variables: Mapping[str, str]) -> dict[str, object]:
    return {name: value for name, value in variables.items() if name not in names}


def differences(a: dict[str, object], b: dict[str, object]) -> list[str]:
    """`name: before → after`, of what is not alike."""
    names = dict.fromkeys([*a, *b])
    return [f"{name}: {a.get(name)} → {b.get(name)}" for name in names if a.get(name) != b.get(name)]
