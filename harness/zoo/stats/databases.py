"""Medians of a database run's cells over its rounds, and comparisons of cells within a run or between two runs. Pure.

The formats, words and statistics are those of servers (`zoo.stats.pairs`). Here an entry is an executor, a scenario is
a query over a certain wire, and a tier is the pool.
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from zoo.core.jdbc import Flood, JdbcCell, record_subject
from zoo.core.record import Record
from zoo.core.run import Run
from zoo.core.trial_results import FloodResult, JdbcResult
from zoo.stats import Prior, Ratio, unpaired_ratio
from zoo.stats.metrics import PEAK_RSS, Metric, MetricKind, Side, Word, pair_sample
from zoo.stats.pairs import Comparison, Kind, Pair, RunPairs, new_comparison, noise_bands, with_ratios, with_verdicts
from zoo.stats.two_runs import RunComparison, environment_changes, find_differences, hardware_facts

NEAR_BOUND = 0.85
"""Share of the bound above which a figure counts as limited by it."""


@dataclass(frozen=True)
class DatabaseRow:
    """A cell over its rounds, with its failures by round."""

    cell: JdbcCell
    rounds: dict[int, JdbcResult]
    failures: dict[int, str]

    def values(self, field: str) -> list[float]:
        """Return one figure, for every round that has it."""
        found = (getattr(m, field) for m in self.rounds.values())
        return [float(value) for value in found if value is not None]

    def median(self, field: str) -> float | None:
        values = self.values(field)
        return statistics.median(values) if values else None

    @property
    def at_bound(self) -> bool:
        """Return True if pool or threads ÷ latency limited the figure in most rounds."""
        near = [m.ops_per_s >= NEAR_BOUND * m.bound_ops_per_s for m in self.rounds.values() if m.bound_ops_per_s]
        return bool(near) and sum(near) * 2 > len(near)


def rows(records: Iterable[Record]) -> dict[JdbcCell, DatabaseRow]:
    """Return the row of every cell, in the order first measured; a later record of a round replaces an earlier one."""
    found: dict[JdbcCell, dict[int, Record]] = {}
    for record in records:
        if isinstance(cell := record_subject(record), JdbcCell):
            found.setdefault(cell, {})[record.round] = record
    return {
        cell: DatabaseRow(
            cell,
            {n: r.trial.result for n, r in sorted(of.items()) if r.trial and isinstance(r.trial.result, JdbcResult)},
            {n: r.failure.text for n, r in sorted(of.items()) if r.failure},
        )
        for cell, of in found.items()
    }


@dataclass(frozen=True)
class FloodRow:
    """A flood with its result, or the reason why it has none."""

    flood: Flood
    result: FloodResult | None
    failure: str | None


def newest_floods(records: Iterable[Record]) -> Sequence[FloodRow]:
    """Return the last record of every flood, starting with the fewest tasks."""
    latest = {flood: r for r in records if isinstance(flood := record_subject(r), Flood)}
    found = [
        FloodRow(
            flood,
            r.trial.result if r.trial and isinstance(r.trial.result, FloodResult) else None,
            r.failure.text if r.failure else None,
        )
        for flood, r in latest.items()
    ]
    return sorted(found, key=lambda of: (of.flood.tasks, of.flood.executor))


Records = Sequence[Record]

OPS = Metric("ops/s", "Operations per second", MetricKind.LOAD, Word.FASTER, Word.SLOWER)
CLIENT_CPU = Metric("client CPU per op", "Client CPU per operation", MetricKind.CPU, Word.MORE, Word.LESS)
FIELDS = {OPS: "ops_per_s", CLIENT_CPU: "client_cpu_us", PEAK_RSS: "memory_peak_kb"}
"""The metrics that are compared, and the names of their fields in a measurement."""

BASELINE = "cached"
VIRTUAL = "virtual"


@dataclass(frozen=True)
class Sides:
    """Two cells to compare, `a` over `b`, with the kind and the names of the pair."""

    kind: Kind
    a: JdbcCell
    b: JdbcCell
    title: str
    than: str


def cell_pairs(found: Iterable[JdbcCell]) -> Iterator[Sides]:
    """Yield the cells to compare: A/A, virtual threads over each other executor, and an executor in two settings."""
    known = dict.fromkeys(found)
    for cell in known:
        for sides in (_aa_sides(cell), *_executor_sides(cell), *_other_cells(cell)):
            if sides.b in known and sides.a != sides.b:
                yield sides


def compare(records: Records) -> RunPairs:
    """Return all pairs of a run; cells with the same latency share a noise band."""
    found = rows(records)
    sides = list(cell_pairs(found))
    pairs = [_pair(of, found[of.a], found[of.b]) for of in sides]
    pairs.sort(key=lambda p: (list(Kind).index(p.kind), p.scenario, p.requested, p.a))
    by_latency = {(_latency(scenario), metric): band for (scenario, metric, _), band in noise_bands(pairs).items()}
    bands = {
        (pair.scenario, metric, True): by_latency[_latency(pair.scenario), metric]
        for pair in pairs
        for metric in pair.comparisons
        if (_latency(pair.scenario), metric) in by_latency
    }
    compared, priors = with_ratios(pairs, by_scenario=False)
    return RunPairs(with_verdicts(compared, by_scenario=False), bands, priors)


def compare_runs(a: Run, a_records: Records, b: Run, b_records: Records) -> RunComparison:
    """Return a comparison of all cells that both runs have, the second run over the first."""
    before, after = rows(a_records), rows(b_records)
    shared = [cell for cell in after if cell in before and not cell.again]
    pairs = [_pair_between_runs(cell, (a.id, b.id), before[cell], after[cell]) for cell in shared]
    pairs.sort(key=lambda p: (p.scenario, p.requested, p.a))
    obstacles = find_differences(_required_facts(a), _required_facts(b))
    if not pairs:
        obstacles.append("the runs have no cell in common")
    changes = [
        *find_differences(_changeable_facts(a, a_records), _changeable_facts(b, b_records)),
        *environment_changes(a, b),
    ]
    return RunComparison(obstacles, changes, with_verdicts(pairs, by_scenario=False))


def paired_ratio(compared: RunPairs, metric: Metric, a: DatabaseRow, b: DatabaseRow) -> Ratio | None:
    """Return one metric of a over b by round, each side a JMH fork on its own database, with the run's prior."""
    logs = pair_sample(_side(metric, a), _side(metric, b))
    return compared.priors.get((a.cell.query_label, metric), Prior()).ratio(logs) if logs else None


def _aa_sides(cell: JdbcCell) -> Sides:
    return Sides(Kind.AA, cell, cell.without_aa, cell.executor, cell.executor)


def _executor_sides(cell: JdbcCell) -> Iterator[Sides]:
    """Yield virtual threads over each other executor, if the cell's executor is virtual threads."""
    if cell.executor != VIRTUAL or cell.again:
        return
    yield Sides(Kind.MODEL, cell, _copy_with(cell, executor=BASELINE), VIRTUAL, BASELINE)
    for other in ("fixed-10", "fixed-200", "virtual-semaphore", "forkjoin", "forkjoin-15"):
        yield Sides(Kind.VARIANT, cell, _copy_with(cell, executor=other), VIRTUAL, other)


def _other_cells(cell: JdbcCell) -> Iterator[Sides]:
    """Yield the same executor on the other database, and with the published pool."""
    if cell.again:
        return
    if cell.database == "postgresql":
        title = f"{cell.executor}, PostgreSQL ÷ MariaDB"
        yield Sides(Kind.CONDITION, cell, _copy_with(cell, database="mariadb"), title, "MariaDB")
    if cell.pool > 10:
        small = _copy_with(cell, pool=10, max_connections=cell.max_connections and 100)
        yield Sides(Kind.CONDITION, cell, small, f"{cell.executor}, pool of {cell.pool:,} ÷ 10", "10")


def _pair(sides: Sides, a: DatabaseRow, b: DatabaseRow) -> Pair:
    shared = set(a.rounds) & set(b.rounds)
    names = (str(sides.a), str(sides.b))
    reason = _find_obstacle(names, (a, b)) or (None if shared else "no round measured both")
    comparisons = {
        m: new_comparison(m, None if reason else pair_sample(_side(m, a), _side(m, b)), reason) for m in FIELDS
    }
    return _make_pair(sides, len(shared), comparisons, names, (a, b))


def _pair_between_runs(cell: JdbcCell, runs: tuple[str, str], before: DatabaseRow, after: DatabaseRow) -> Pair:
    names = f"{cell} in {runs[1]}", f"{cell} in {runs[0]}"
    reason = _find_obstacle(names, (after, before))
    comparisons = {}
    for metric in FIELDS:
        new, old = list(_figures(metric, after).values()), list(_figures(metric, before).values())
        ratio = unpaired_ratio(new, old) if new and old and not reason else None
        comparisons[metric] = new_comparison(metric, ratio, reason)
    rounds = min(len(before.rounds), len(after.rounds))
    return _make_pair(
        Sides(Kind.RUN, cell, cell, cell.executor, cell.executor), rounds, comparisons, names, (after, before)
    )


def _make_pair(
    of: Sides,
    rounds: int,
    comparisons: dict[Metric, Comparison],
    names: tuple[str, str],
    rows_: tuple[DatabaseRow, DatabaseRow],
) -> Pair:
    return Pair(
        kind=of.kind,
        a=of.title,
        b=of.than,
        scenario=of.a.query_label,
        tier=of.a.connections,
        requested=of.a.pool,
        jvm=True,
        rounds=rounds,
        comparisons=comparisons,
        lost=[
            f"{name} failed in round {number}: {message}"
            for name, row in zip(names, rows_, strict=True)
            for number, message in row.failures.items()
        ],
    )


def _find_obstacle(names: tuple[str, str], sides: tuple[DatabaseRow, DatabaseRow]) -> str | None:
    """Return why two cells cannot be compared; None if they can."""
    for name, row in zip(names, sides, strict=True):
        if not row.rounds:
            return f"{name}: {next(iter(row.failures.values()), 'not run')}"
    if sides[0].cell.pool != sides[1].cell.pool:
        return None
    held = [{m.connections for m in row.rounds.values()} for row in sides]
    if max(held[0]) < min(held[1]) or max(held[1]) < min(held[0]):
        return f"pools of different sizes: {_format_range(held[0])} and {_format_range(held[1])} connections"
    return None


def _format_range(counts: set[int]) -> str:
    return f"{min(counts)}" if len(counts) == 1 else f"{min(counts)}–{max(counts)}"


def _side(metric: Metric, row: DatabaseRow) -> Side:
    """Return a cell as one side of a pair; JMH's iterations are the windows of a fork."""
    iterations = {number: m.iterations for number, m in row.rounds.items()} if metric is OPS else {}
    return Side(_figures(metric, row), group_of(row.cell), iterations)


def group_of(cell: JdbcCell) -> Hashable:
    """Return the group of cells that are expected to vary equally: those with the same pool and latency."""
    return cell.pool, cell.latency


def _figures(metric: Metric, row: DatabaseRow) -> dict[int, float]:
    def read(seen: JdbcResult) -> float:
        return float(getattr(seen, FIELDS[metric]) or 0.0)

    return {number: read(m) for number, m in row.rounds.items() if read(m) > 0}


def _required_facts(run: Run) -> dict[str, object]:
    """Return the facts that must be the same; otherwise a difference says nothing about executors and databases."""
    return {
        "protocol": run.protocol,
        **{f"JMH {name}": int(value) for name, value in run.plan.profile.items()},
        **hardware_facts(run.host),
    }


def _changeable_facts(run: Run, records: Records) -> dict[str, object]:
    """Return the facts whose change may be the reason for the comparison."""
    seen = [m for row in rows(records).values() for m in row.rounds.values()]
    return {
        "commit": (run.commit or "unknown")[:12] + (" with changes" if run.dirty else ""),
        "JDK": run.plan.condition.jdk,
        "databases": ", ".join(sorted({m.server for m in seen})),
        "runtime": run.plan.condition.runtime,
        "kernel": run.host.kernel,
        "harness": run.harness,
    }


def _latency(scenario: str) -> str:
    """Return the latency, which is the last word of a cell's question."""
    return scenario.rpartition(" ")[2]


def _copy_with(cell: JdbcCell, **changes: object) -> JdbcCell:
    return cell.model_copy(update=changes)
