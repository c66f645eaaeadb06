"""Medians of a run's cells over rounds, and cells compared: within a run round by round, or between two runs. Pure.

The forms, words and statistics are those of servers (`zoo.analysis.pairs`): an entry is an executor here, a scenario is
what is asked over which wire, a tier is the pool.
"""

from __future__ import annotations

import statistics
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from zoo.analysis.metrics import PEAK_RSS, Class, Metric, Side, Word, sample
from zoo.analysis.pairs import Compared, Comparison, Kind, Pair, bands_of, judged, unjudged, with_ratios
from zoo.analysis.stats import Prior, Ratio, unpaired_ratio
from zoo.analysis.two_runs import Contrast, differences, environments, hardware
from zoo.jdbc.records import Cell, CellRecord, FloodRecord, JdbcRun, Measurement

NEAR_BOUND = 0.85
"""A figure above this share of its bound was limited by it."""


@dataclass(frozen=True)
class Row:
    """A cell over its rounds; failures by round too."""

    cell: Cell
    rounds: dict[int, Measurement]
    failures: dict[int, str]

    def values(self, field: str) -> list[float]:
        """One figure of every round that knows it."""
        found = (getattr(m, field) for m in self.rounds.values())
        return [float(value) for value in found if value is not None]

    def median(self, field: str) -> float | None:
        values = self.values(field)
        return statistics.median(values) if values else None

    @property
    def at_bound(self) -> bool:
        """True when pool or threads ÷ latency was what limited it, in most rounds."""
        near = [m.ops_per_s >= NEAR_BOUND * m.bound_ops_per_s for m in self.rounds.values() if m.bound_ops_per_s]
        return bool(near) and sum(near) * 2 > len(near)


def rows(records: Iterable[CellRecord | FloodRecord]) -> dict[Cell, Row]:
    """Every cell's row, in the order first measured; a later record of the same round replaces the earlier one."""
    found: dict[Cell, dict[int, CellRecord]] = {}
    for record in records:
        if isinstance(record, CellRecord):
            found.setdefault(record.cell, {})[record.round] = record
    return {
        cell: Row(
            cell,
            {n: r.measurement for n, r in sorted(by_round.items()) if r.measurement},
            {n: r.failure.text for n, r in sorted(by_round.items()) if r.failure},
        )
        for cell, by_round in found.items()
    }


def last_floods(records: Iterable[CellRecord | FloodRecord]) -> Sequence[FloodRecord]:
    """The last record of every flood, from the fewest tasks."""
    latest = {r.flood: r for r in records if isinstance(r, FloodRecord)}
    return sorted(latest.values(), key=lambda r: (r.flood.tasks, r.flood.executor))


Records = Sequence[CellRecord | FloodRecord]

OPS = Metric("ops/s", "Operations a second", Class.LOAD, Word.FASTER, Word.SLOWER)
CLIENT_CPU = Metric("client CPU per op", "Client CPU per operation", Class.CPU, Word.MORE, Word.LESS)
FIELDS = {OPS: "ops_per_s", CLIENT_CPU: "client_cpu_us", PEAK_RSS: "memory_peak_kb"}
"""The metrics that are compared, and where a measurement has them."""

BASELINE = "cached"
VIRTUAL = "virtual"


@dataclass(frozen=True)
class Sides:
    """Two cells to be compared, and how the pair is named: `a` over `b`, for this reason."""

    kind: Kind
    a: Cell
    b: Cell
    title: str
    than: str


def named(found: Iterable[Cell]) -> Iterator[Sides]:
    """Which cells are compared: A/A, virtual threads over each other executor, and the same executor elsewhere."""
    known = dict.fromkeys(found)
    for cell in known:
        for sides in (_again(cell), *_executors(cell), *_elsewhere(cell)):
            if sides.b in known and sides.a != sides.b:
                yield sides


def compare(records: Records) -> Compared:
    """All pairs of a run; the noise band of each is that of the same latency."""
    found = rows(records)
    sides = list(named(found))
    made = [_pair(of, found[of.a], found[of.b]) for of in sides]
    made.sort(key=lambda p: (list(Kind).index(p.kind), p.scenario, p.requested, p.a))
    by_latency = {(_latency(scenario), metric): band for (scenario, metric, _), band in bands_of(made).items()}
    bands = {
        (pair.scenario, metric, True): by_latency[_latency(pair.scenario), metric]
        for pair in made
        for metric in pair.comparisons
        if (_latency(pair.scenario), metric) in by_latency
    }
    compared, priors = with_ratios(made, apart=False)
    return Compared(judged(compared, apart=False), bands, priors)


def contrast(a: JdbcRun, a_records: Records, b: JdbcRun, b_records: Records) -> Contrast:
    """All cells that both runs have, the second run over the first."""
    before, after = rows(a_records), rows(b_records)
    shared = [cell for cell in after if cell in before and not cell.again]
    made = [_between(cell, (a.id, b.id), before[cell], after[cell]) for cell in shared]
    made.sort(key=lambda p: (p.scenario, p.requested, p.a))
    obstacles = differences(_fixed(a), _fixed(b))
    if not made:
        obstacles.append("no cell is in both")
    changes = [*differences(_free(a, a_records), _free(b, b_records)), *environments(a, b)]
    return Contrast(obstacles, changes, judged(made, apart=False))


def paired(compared: Compared, metric: Metric, a: Row, b: Row) -> Ratio | None:
    """Return one metric of a over b by round, each side a fork of JMH on its own database, with the run's prior."""
    logs = sample(_side(metric, a), _side(metric, b))
    return compared.priors.get((a.cell.question, metric), Prior()).ratio(logs) if logs else None


def _again(cell: Cell) -> Sides:
    return Sides(Kind.AGAIN, cell, cell.once, cell.executor, cell.executor)


def _executors(cell: Cell) -> Iterator[Sides]:
    """Its executor is virtual threads: over each of the others."""
    if cell.executor != VIRTUAL or cell.again:
        return
    yield Sides(Kind.MODEL, cell, _with(cell, executor=BASELINE), VIRTUAL, BASELINE)
    for other in ("fixed-10", "fixed-200", "virtual-semaphore", "forkjoin", "forkjoin-15"):
        yield Sides(Kind.VARIANT, cell, _with(cell, executor=other), VIRTUAL, other)


def _elsewhere(cell: Cell) -> Iterator[Sides]:
    """The same executor on the other database, or with the published pool."""
    if cell.again:
        return
    if cell.database == "postgresql":
        title = f"{cell.executor}, PostgreSQL ÷ MariaDB"
        yield Sides(Kind.CONDITION, cell, _with(cell, database="mariadb"), title, "MariaDB")
    if cell.pool > 10:
        small = _with(cell, pool=10, max_connections=cell.max_connections and 100)
        yield Sides(Kind.CONDITION, cell, small, f"{cell.executor}, pool of {cell.pool:,} ÷ 10", "10")


def _pair(sides: Sides, a: Row, b: Row) -> Pair:
    shared = set(a.rounds) & set(b.rounds)
    names = (str(sides.a), str(sides.b))
    reason = _unfit(names, (a, b)) or (None if shared else "no round has both")
    comparisons = {m: unjudged(m, None if reason else sample(_side(m, a), _side(m, b)), reason) for m in FIELDS}
    return _made(sides, len(shared), comparisons, names, (a, b))


def _between(cell: Cell, runs: tuple[str, str], before: Row, after: Row) -> Pair:
    names = f"{cell} in {runs[1]}", f"{cell} in {runs[0]}"
    reason = _unfit(names, (after, before))
    comparisons = {}
    for metric in FIELDS:
        new, old = list(_figures(metric, after).values()), list(_figures(metric, before).values())
        ratio = unpaired_ratio(new, old) if new and old and not reason else None
        comparisons[metric] = unjudged(metric, ratio, reason)
    rounds = min(len(before.rounds), len(after.rounds))
    return _made(Sides(Kind.RUN, cell, cell, cell.executor, cell.executor), rounds, comparisons, names, (after, before))


def _made(
    of: Sides, rounds: int, comparisons: dict[Metric, Comparison], names: tuple[str, str], rows_: tuple[Row, Row]
) -> Pair:
    return Pair(
        kind=of.kind,
        a=of.title,
        b=of.than,
        scenario=of.a.question,
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


def _unfit(names: tuple[str, str], sides: tuple[Row, Row]) -> str | None:
    """Why two cells cannot be compared; None when they can."""
    for name, row in zip(names, sides, strict=True):
        if not row.rounds:
            return f"{name}: {next(iter(row.failures.values()), 'not run')}"
    if sides[0].cell.pool != sides[1].cell.pool:
        return None
    held = [{m.connections for m in row.rounds.values()} for row in sides]
    if max(held[0]) < min(held[1]) or max(held[1]) < min(held[0]):
        return f"pools of different sizes: {_span(held[0])} and {_span(held[1])} connections"
    return None


def _span(counts: set[int]) -> str:
    return f"{min(counts)}" if len(counts) == 1 else f"{min(counts)}–{max(counts)}"


def _side(metric: Metric, row: Row) -> Side:
    """Return a cell as one side of a pair; JMH's iterations are the turns of a fork."""
    iterations = {number: m.iterations for number, m in row.rounds.items()} if metric is OPS else {}
    return Side(_figures(metric, row), group_of(row.cell), iterations)


def group_of(cell: Cell) -> Hashable:
    """Return the group of cells that are expected to vary equally: those of one pool and latency."""
    return cell.pool, cell.latency


def _figures(metric: Metric, row: Row) -> dict[int, float]:
    def read(seen: Measurement) -> float:
        return float(getattr(seen, FIELDS[metric]) or 0.0)

    return {number: read(m) for number, m in row.rounds.items() if read(m) > 0}


def _fixed(run: JdbcRun) -> dict[str, object]:
    """What must be alike, or a difference says nothing of executors and databases."""
    times = run.plan.profile.model_dump(exclude={"name", "rounds"})
    return {"protocol": run.protocol, **{f"JMH {name}": value for name, value in times.items()}, **hardware(run.host)}


def _free(run: JdbcRun, records: Records) -> dict[str, object]:
    """What may be what the comparison is about."""
    seen = [m for row in rows(records).values() for m in row.rounds.values()]
    return {
        "commit": (run.commit or "unknown")[:12] + (" with changes" if run.dirty else ""),
        "JDK": run.jdk,
        "databases": ", ".join(sorted({m.server for m in seen})),
        "runtime": run.plan.runtime,
        "kernel": run.host.kernel,
        "harness": run.harness,
    }


def _latency(scenario: str) -> str:
    """The last word of a cell's question."""
    return scenario.rpartition(" ")[2]


def _with(cell: Cell, **changes: object) -> Cell:
    return cell.model_copy(update=changes)
