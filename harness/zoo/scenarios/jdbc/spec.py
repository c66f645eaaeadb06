"""The cells to measure, for how long and in which order. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated

from zoo.core.blocks import Block
from zoo.core.capacity import PlanError
from zoo.core.condition import Condition
from zoo.core.jdbc import FLOOD, JDBC, Flood, JdbcCell, plan_facts, plan_subjects
from zoo.core.option import Option
from zoo.core.run import PlanFacts
from zoo.core.scenario import Scenario
from zoo.scenarios.jdbc.published import TABLES

EXECUTORS = ("cached", "fixed-10", "fixed-200", "virtual", "virtual-semaphore", "forkjoin", "forkjoin-15")
FLOOD_TASKS = (5_000, 20_000, 50_000)
FLOOD_EXECUTORS = ("cached", "virtual")


@dataclass(frozen=True)
class JmhProfile:
    """Number and length of a cell's measurements. A round is one fork of JMH for every cell."""

    name: str
    rounds: int
    warmups: int
    warmup_s: int
    iterations: int
    iteration_s: int

    def times(self) -> dict[str, float]:
        """Return the times of a fork, as a plan stores them."""
        return {name: value for name, value in asdict(self).items() if name not in ("name", "rounds")}


PROFILES = {
    "article": JmhProfile(name="article", rounds=3, warmups=2, warmup_s=10, iterations=3, iteration_s=30),
    "medium": JmhProfile(name="medium", rounds=3, warmups=2, warmup_s=5, iterations=3, iteration_s=5),
    "short": JmhProfile(name="short", rounds=3, warmups=1, warmup_s=1, iterations=1, iteration_s=2),
    "smoke": JmhProfile(name="smoke", rounds=1, warmups=1, warmup_s=1, iterations=1, iteration_s=1),
}
DEFAULT = "short"
OMISSIONS = {
    "article": "",
    "medium": "medium omits long windows (intervals are wider)",
    "short": "short omits long windows (intervals are wider), most warm-up (the JIT compiler has not "
    "finished; executors can be compared, but figures are low), and these cells: MariaDB "
    "except its published table, SELECT 1, executors other than cached and virtual (except "
    "ForkJoinPool in the tables where it differs), 1,000 connections at once "
    "(max_connections is 100 there, as published), floods of more than 5,000 tasks",
    "smoke": "smoke only checks that everything runs; its figures mean nothing",
}

START_S = 6.0
"""Time to start and stop a database with its table and two JVMs, in seconds."""

CONNECT_S = 0.008
CONNECT_ROUND_TRIPS = 6
"""Round trips to open a connection. HikariCP opens connections one after the other."""

STILL_S = 3.0
"""Seconds without a new connection after which a pool counts as full, if the server allows fewer than it asks for."""

TASKS = {"standing": 5_000, "fresh": 100}
"""Tasks per invocation. An iteration waits until all tasks of its last invocation have finished."""

RATES = {"select-one": 5_000.0, "find-by-code": 4_000.0, "update-and-group": 1_300.0}
"""Operations per second on two cores when nothing waits. Used only to estimate how long a run takes."""

ROUND_TRIPS = {"select-one": 1, "find-by-code": 1, "update-and-group": 2}
THREADS = {"fixed-10": 10, "fixed-200": 200, "forkjoin": 2, "forkjoin-15": 16}
WIRE_MORE_S = 0.0015
"""Duration of a round trip beyond the requested latency, in seconds."""

SLEEP_S = 0.010


SPEC = Scenario(name=JDBC, title="queries by executor", command="zoo jdbc bench")
FLOOD_SPEC = Scenario(name=FLOOD, title="all tasks at once on unbounded executors", command="zoo jdbc bench")

VARIED = ("database", "executor", "query", "pool", "latency")
"""Fields of a cell that can be selected with an option."""

ONLY = "measure only these; by default the profile decides"


@dataclass(frozen=True)
class Choice:
    """The cells that the user selects. If there is no selection, the profile decides."""

    database: Annotated[Sequence[str], Option("--database", ONLY)] = ()
    executor: Annotated[Sequence[str], Option("--executor", ONLY)] = ()
    query: Annotated[Sequence[str], Option("--query", ONLY)] = ()
    pool: Annotated[Sequence[int], Option("--pool", ONLY)] = ()
    latency: Annotated[Sequence[str], Option("--latency", ONLY)] = ()
    cell: Annotated[
        Sequence[str], Option("--cell", "measure only these cells, named as `zoo jdbc plan` prints them")
    ] = ()
    """Names as a plan prints them, such as `postgresql find-by-code none 10/100 virtual`."""

    @property
    def is_given(self) -> bool:
        return bool(self.cell) or any(getattr(self, name) for name in VARIED)

    def matches(self, cell: JdbcCell) -> bool:
        by_field = all(not (wanted := getattr(self, n)) or getattr(cell, n) in wanted for n in VARIED)
        return by_field and str(cell) in (self.cell or (str(cell),))


POSTGRESQL = JdbcCell(
    database="postgresql", executor="*", query="find-by-code", pool=10, max_connections=100, latency="none"
)
MARIADB = POSTGRESQL.model_copy(update={"database": "mariadb"})
WIRE = POSTGRESQL.model_copy(update={"latency": "wire-10"})
SHORT_WIRE = POSTGRESQL.model_copy(update={"latency": "wire-2"})
TWO = ("cached", "virtual")
WITH_FORKJOIN = tuple(c.base for c in (POSTGRESQL, POSTGRESQL.model_copy(update={"latency": "sleep-10"})))
"""Tables that show ForkJoinPool ahead of the other executors or far behind. The short profile measures it there."""


def names(block: Block) -> tuple[str, str, str]:
    """Return the entry, case and connection count of a block, which has one of each."""
    return block.entries[0], block.case.name, block.tiers[0].name


def cells(profile_name: str = "article") -> list[JdbcCell]:
    """Return the cells of a profile, each once."""
    return list(dict.fromkeys({"article": _all, "medium": _all, "short": _most, "smoke": _two}[profile_name]()))


def select_cells(name: str, choice: Choice) -> list[JdbcCell]:
    """Return the cells of a choice, or of the profile if there is no choice. Raise `PlanError` if no cell matches."""
    if not choice.is_given:
        return cells(name)
    unknown = set(choice.cell) - {str(cell) for cell in cells()}
    if unknown:
        raise PlanError(f'there is no cell "{min(unknown)}"; `zoo jdbc plan --profile article` lists them all')
    found = [cell for cell in cells() if choice.matches(cell)]
    if not found:
        known = "; ".join(f"{name}: {', '.join(values)}" for name, values in _known().items())
        raise PlanError(f"no cell matches; known: {known}")
    return found


def on_another_server(cells_: Sequence[JdbcCell], database: str) -> list[JdbcCell]:
    """Return the cells of this database, each once, without a limit on connections: the server sets its own."""
    mine = (cell.model_copy(update={"max_connections": None}) for cell in cells_ if cell.database == database)
    return list(dict.fromkeys(mine))


def floods(name: str, database: str) -> list[Flood]:
    """Return the profile's floods: each unbounded executor with each number of tasks."""
    tasks = {"article": FLOOD_TASKS, "medium": FLOOD_TASKS, "short": FLOOD_TASKS[:1], "smoke": ()}[name]
    return [Flood(database=database, executor=e, tasks=n) for n in tasks for e in FLOOD_EXECUTORS]


def find_profile(name: str, rounds: int | None = None) -> JmhProfile:
    """Return a profile, with another number of rounds if given. Raise `PlanError` if the name is unknown."""
    if name not in PROFILES:
        raise PlanError(f'there is no profile "{name}"; known: {", ".join(PROFILES)}')
    found = PROFILES[name]
    return found if rounds is None else replace(found, rounds=rounds)


def profile_of(plan: PlanFacts) -> JmhProfile:
    """Return the profile that a plan stores. If its times match none of ours, its name is `own`."""
    name = next((known.name for known in PROFILES.values() if known.times() == plan.profile), "own")
    return JmhProfile(name, plan.rounds, **{key: int(value) for key, value in plan.profile.items()})


def cell_seconds(cell: JdbcCell, used: JmhProfile) -> float:
    """Estimate how long one fork of a cell takes, in seconds.

    An iteration runs past its time until the current invocation ends.
    """
    once = invocation_seconds(cell)
    return (
        START_S
        + fill_seconds(cell)
        + sum(
            count * math.ceil(least / once) * once
            for count, least in ((used.warmups, used.warmup_s), (used.iterations, used.iteration_s))
        )
    )


def fill_seconds(cell: JdbcCell) -> float:
    """Estimate how long the pool takes to open its connections, in seconds."""
    allowed = min(cell.pool, cell.max_connections or cell.pool)
    each = CONNECT_S + CONNECT_ROUND_TRIPS * wire_s(cell.latency)
    return allowed * each + (STILL_S if allowed < cell.pool else 0.0)


def invocation_seconds(cell: JdbcCell) -> float:
    """Estimate how long one invocation takes, in seconds. Either two cores or the waiting limits it."""
    tasks, threads = TASKS[cell.form], THREADS.get(cell.executor, math.inf)
    asleep_s = SLEEP_S / threads if cell.latency.startswith("sleep") else 0.0
    waits_s = ROUND_TRIPS[cell.query] * wire_s(cell.latency) / min(threads, cell.pool)
    return tasks * max(1 / RATES[cell.query], asleep_s, waits_s)


def wire_ms(latency: str) -> int | None:
    """Return the latency on the wire in ms, such as 10 for `wire-10`, or None if there is none."""
    kind, _, ms = latency.partition("-")
    return int(ms) if kind == "wire" else None


def wire_s(latency: str) -> float:
    """Estimate the duration of a round trip in seconds; 0 if there is no latency on the wire."""
    ms = wire_ms(latency)
    return 0.0 if ms is None else ms / 1000 + WIRE_MORE_S


def flood_seconds(flood: Flood) -> float:
    """Estimate how long a flood takes if it finishes, in seconds."""
    return START_S + flood.tasks * wire_s(WIRE.latency) / 10


def seconds_of(one: JdbcCell | Flood, used: JmhProfile) -> float:
    """Estimate how long one measurement of a cell or flood takes, in seconds."""
    return flood_seconds(one) if isinstance(one, Flood) else cell_seconds(one, used)


def seconds(plan: PlanFacts) -> float:
    """Estimate how long the whole plan takes, in seconds."""
    used = profile_of(plan)
    return sum(seconds_of(one, used) * plan.rounds_in(one.scenario) for one in plan_subjects(plan))


def _all() -> list[JdbcCell]:
    """Return the cells of the published tables, with both server limits, and the cells the tables leave out."""
    found = _published(100, 1100)
    found += [
        *_with_executors(POSTGRESQL, EXECUTORS),
        *_with_executors(WIRE, EXECUTORS),
        *_wider_wire(100, 1000),
        *_short_wire(),
    ]
    found += _aa_cells(POSTGRESQL, WIRE)
    found += _with_executors(POSTGRESQL.model_copy(update={"query": "update-and-group"}), ("forkjoin",))
    found += _with_executors(POSTGRESQL.model_copy(update={"latency": "sleep-10"}), ("forkjoin",))
    found += _with_executors(POSTGRESQL.model_copy(update={"pool": 100, "max_connections": 1100}), TWO)
    found += _with_executors(MARIADB, ("forkjoin-15",))
    found += _with_executors(MARIADB.model_copy(update={"query": "update-and-group"}), TWO)
    found += _with_executors(MARIADB.model_copy(update={"latency": "wire-10"}), TWO)
    return [*found, *_shortest(POSTGRESQL), *_shortest(MARIADB)]


def _most() -> list[JdbcCell]:
    """Return the published tables as published, a larger pool on the wire, and the same cell measured twice (A/A)."""
    wider = WIRE.model_copy(update={"pool": 100, "max_connections": 1100})
    return [
        *(cell for cell in _published(100) if cell.executor in TWO or cell.base in WITH_FORKJOIN),
        *_with_executors(wider, ("virtual",)),
        *_aa_cells(POSTGRESQL),
    ]


def _two() -> list[JdbcCell]:
    """Return one cell of each database."""
    return [
        POSTGRESQL.model_copy(update={"executor": "virtual"}),
        MARIADB.model_copy(update={"executor": "cached", "query": "update-and-group"}),
    ]


def _published(*limits: int) -> list[JdbcCell]:
    found: list[JdbcCell] = []
    for table in TABLES:
        for limit in limits if table.pool > limits[0] else limits[:1]:
            found += table.cells(limit)
    return found


def _wider_wire(*pools: int) -> list[JdbcCell]:
    """Return cells with larger pools than the published 10 on the wire, to show when the pool is the bottleneck."""
    wider = [WIRE.model_copy(update={"pool": pool, "max_connections": 1100}) for pool in pools]
    return [cell for base in wider for cell in _with_executors(base, TWO)]


def _short_wire() -> list[JdbcCell]:
    """Return cells with the published pools of 10 and 1,000 on a short wire, where a larger pool can help.

    Without latency on the wire, two cores limit every executor.
    """
    big, bigger = (SHORT_WIRE.model_copy(update={"pool": 1000, "max_connections": n}) for n in (100, 1100))
    slow = big.model_copy(update={"query": "update-and-group"})
    found = [cell for base in (SHORT_WIRE, big) for cell in _with_executors(base, (*TWO, "forkjoin-15"))]
    return [*found, *_with_executors(bigger, TWO), *_with_executors(slow, TWO)]


def _aa_cells(*bases: JdbcCell) -> list[JdbcCell]:
    """Return the same cells again, for A/A comparisons."""
    return [base.model_copy(update={"executor": "virtual", "again": True}) for base in bases]


def _shortest(base: JdbcCell) -> list[JdbcCell]:
    """Return cells that read no table, on a standing executor and on one that is created within the measured time."""
    one = base.model_copy(update={"query": "select-one"})
    return [
        cell for form in ("standing", "fresh") for cell in _with_executors(one.model_copy(update={"form": form}), TWO)
    ]


def _with_executors(base: JdbcCell, executors: Sequence[str]) -> list[JdbcCell]:
    return [base.model_copy(update={"executor": executor}) for executor in executors]


def _known() -> dict[str, list[str]]:
    found = cells()
    return {name: list(dict.fromkeys(str(getattr(cell, name)) for cell in found)) for name in VARIED}


@dataclass(frozen=True)
class JdbcOptions:
    """Options of the command line, one per field."""

    profile: Annotated[
        str, Option("--profile", f"which cells are measured, and for how long: {', '.join(PROFILES)}")
    ] = DEFAULT
    rounds: Annotated[
        int | None,
        Option("--rounds", "number of rounds; each measures every cell in a fresh JVM", minimum=1, maximum=1000),
    ] = None
    choice: Choice = field(default_factory=Choice)
    floods: Annotated[
        bool, Option("--floods/--no-floods", "start 5,000 to 50,000 tasks at once on executors without a bound")
    ] = True
    only_floods: Annotated[bool, Option("--only-floods", "measure only the profile's floods")] = False
    runtime: Annotated[
        str,
        Option(
            "--runtime", "where databases run: process, or container (those of the compose file)", variable="RUNTIME"
        ),
    ] = "auto"


def make_plan(
    options: JdbcOptions, *, seed: int, runtime: str = "process", database: str = "postgresql", jdk: str | None = None
) -> PlanFacts:
    """Return the plan of a new run. Raise `PlanError` for an unknown profile or if no cell matches.

    With the runtime `external`, the server already exists, so the cells are limited to those of its database.
    """
    used, choice = find_profile(options.profile, options.rounds), options.choice
    found = [] if options.only_floods else select_cells(used.name, choice)
    if runtime == "external":
        found = on_another_server(found, database)
    flooded = options.floods and (options.only_floods or not choice.is_given)
    flooding = floods(used.name, database) if flooded else []
    condition = Condition(runtime=runtime, jdk=jdk)
    return plan_facts([*found, *flooding], times=used.times(), rounds=used.rounds, seed=seed, condition=condition)
