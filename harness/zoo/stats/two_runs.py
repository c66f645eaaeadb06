"""Comparison of two runs, cell by cell: two commits, two JDKs, two days. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from zoo.core.defaults import BEFORE
from zoo.core.entry_id import is_aa
from zoo.core.host_facts import HostFacts
from zoo.core.record import Record
from zoo.core.run import Run, RunFacts
from zoo.stats import Ratio, unpaired_ratio
from zoo.stats.metrics import Metric, MetricKind, Word
from zoo.stats.pairs import Kind, Pair, make_pair, with_verdicts
from zoo.stats.summary import Cell, cells

PROGRAM_SETTINGS = ("duration_s", "windows", "dropped", "thread_each", "rest_s", "repeats")
"""Settings of a scenario's measurement, in addition to the case and the connection count that identify a cell."""


@dataclass(frozen=True)
class RunComparison:
    """Run `b` over run `a`.

    `obstacles` are reasons why the two cannot be compared, and `changes` the differences that may be the question.
    """

    obstacles: list[str]
    changes: list[str]
    pairs: list[Pair]


def compare_runs(
    a: Run, a_records: Iterable[Record], b: Run, b_records: Iterable[Record], reference: str | None = None
) -> RunComparison:
    before, after = cells(a_records, reference), cells(b_records, reference)
    shared = [key for key in after if key in before and not is_aa(key[0])]
    pairs = [_pair(key, (a.id, b.id), (before[key], after[key])) for key in shared]
    pairs.sort(key=lambda p: (p.scenario, p.requested, p.a))
    own = [name for name in a.plan.programs if name in b.plan.programs]
    obstacles = find_differences(_required_facts(a, own), _required_facts(b, own))
    if not pairs:
        obstacles.append("the runs have no cell in common")
    changes = [
        *find_differences(_changeable_facts(a), _changeable_facts(b)),
        *environment_changes(a, b, {*a.plan.condition.env, *b.plan.condition.env}),
    ]
    return RunComparison(obstacles, changes, with_verdicts(pairs, by_scenario=False))


def find_slower(pairs: Iterable[Pair], by: float) -> list[Pair]:
    """Return the cells with a throughput that is slower by more than this share."""
    return [
        pair
        for pair in pairs
        for metric, c in pair.comparisons.items()
        if metric.kind is MetricKind.LOAD
        and c.verdict.word is Word.SLOWER
        and c.ratio is not None
        and c.ratio.value < 1 - by
    ]


def _pair(key: tuple[str, str, str], runs: tuple[str, str], sides: tuple[Cell, Cell]) -> Pair:
    """Return one cell of both runs as a pair; the rounds of two runs are independent and therefore not paired."""
    entry, scenario, tier = key
    before, after = sides
    names = f"{entry} in {runs[0]}", f"{entry} in {runs[1]}"

    def ratio(metric: Metric) -> Ratio | None:
        old, new = list(before.figures(metric).values()), list(after.figures(metric).values())
        return unpaired_ratio(new, old) if old and new else None

    pair = make_pair(
        Kind.RUN, names, (scenario, tier), sides, names, ratio, min(len(before.measurements), len(after.measurements))
    )
    return replace(pair, a=entry, b=entry, limits=(after.limits, before.limits))


def _required_facts(run: Run, own: Iterable[str]) -> dict[str, object]:
    """Return the facts that must be the same; otherwise a difference says nothing about the servers.

    `own` are the scenarios with their own times.
    """
    times = {f"time {name}": value for name, value in (BEFORE | run.plan.profile).items() if name != "rounds"}
    programs = {
        f"{name} {setting}": getattr(run.plan.programs[name], setting) for name in own for setting in PROGRAM_SETTINGS
    }
    return {"protocol": run.protocol, **times, **programs, **hardware_facts(run.host)}


def hardware_facts(host: HostFacts) -> dict[str, object]:
    """Return the hardware facts in which two compared runs must not differ."""
    return {
        "processor": host.cpu_model,
        "cores": host.cores_usable,
        "memory": f"{host.memory_kb / 1048576:.0f} GiB" if host.memory_kb else None,
    }


def _changeable_facts(run: Run) -> dict[str, object]:
    condition = run.plan.condition
    return {
        "commit": (run.commit or "unknown")[:12] + (" with changes" if run.dirty else ""),
        "JDK": condition.jdk,
        "JVM flags": " ".join(condition.jvm_flags),
        "settings": condition.env,
        "runtime": condition.runtime,
        "accelerator": condition.accelerator,
        "network": condition.network,
        "processors of server and generator": str(condition.cores or "shared"),
        "kernel": run.host.kernel,
        "wrk": run.host.tools.wrk,
        "harness": run.harness,
    }


def environment_changes(a: RunFacts, b: RunFacts, listed: Collection[str] = ()) -> list[str]:
    """Return `environment NAME: before → after` for each variable whose value differs for an entry of both runs.

    Variables that are `listed` elsewhere are left out.
    """
    changes = {
        f"environment {change}": None
        for entry, before in a.environment.items()
        if entry in b.environment
        for change in find_differences(_without(listed, before), _without(listed, b.environment[entry]))
    }
    return list(changes)


def _without(names: Collection[str], variables: Mapping[str, str]) -> dict[str, object]:
    return {name: value for name, value in variables.items() if name not in names}


def find_differences(a: dict[str, object], b: dict[str, object]) -> list[str]:
    """Return `name: before → after` for each value that differs."""
    names = dict.fromkeys([*a, *b])
    return [f"{name}: {a.get(name)} → {b.get(name)}" for name in names if a.get(name) != b.get(name)]
