"""Which cells are measured, how long, and in which order. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from zoo.jdbc.published import TABLES
from zoo.jdbc.records import Cell, Flood, PlanFacts, Profile
from zoo.model.option import Option
from zoo.plan.capacity import PlanError

EXECUTORS = ("cached", "fixed-10", "fixed-200", "virtual", "virtual-semaphore", "forkjoin", "forkjoin-15")
FLOOD_TASKS = (5_000, 20_000, 50_000)
FLOOD_EXECUTORS = ("cached", "virtual")

PROFILES = {
    "article": Profile(name="article", rounds=3, warmups=2, warmup_s=10, iterations=3, iteration_s=30),
    "medium": Profile(name="medium", rounds=3, warmups=2, warmup_s=5, iterations=3, iteration_s=5),
    "short": Profile(name="short", rounds=3, warmups=1, warmup_s=1, iterations=1, iteration_s=2),
    "smoke": Profile(name="smoke", rounds=1, warmups=1, warmup_s=1, iterations=1, iteration_s=1),
}
DEFAULT = "short"
GIVES_UP = {
    "article": "",
    "medium": "medium gives up long windows (intervals are wider)",
    "short": "short gives up long windows (intervals are wider), warm-up (the JIT compiler is not done; executors are "
    "compared alike, but figures are low), and of the cells: MariaDB but for its published table, SELECT 1, executors "
    "other than cached and virtual (but for ForkJoinPool in the tables where it stands out), 1,000 connections at once "
    "(max_connections is 100 there, as published), floods of more than 5,000",
    "smoke": "smoke shows that all of it runs; its figures mean nothing",
}

START_S = 6.0
"""A database, its table, two JVMs, and the end of them."""

CONNECT_S = 0.008
CONNECT_ROUND_TRIPS = 6
"""HikariCP opens one connection after the other."""

STILL_S = 3.0
"""How long a pool stands still before it counts as full, where the server does not allow all of it."""

TASKS = {"standing": 5_000, "fresh": 100}
"""Of one invocation, which an iteration waits for."""

RATES = {"select-one": 5_000.0, "find-by-code": 4_000.0, "update-and-group": 1_300.0}
"""Operations a second on two cores where nothing waits, to say how long a run takes and for nothing else."""

ROUND_TRIPS = {"select-one": 1, "find-by-code": 1, "update-and-group": 2}
THREADS = {"fixed-10": 10, "fixed-200": 200, "forkjoin": 2, "forkjoin-15": 16}
WIRE_MORE_S = 0.0015
"""Of a round trip on the wire, what it takes beside the latency asked for."""

SLEEP_S = 0.010


VARIED = ("database", "executor", "query", "pool", "latency")
"""The fields of a cell that an option chooses by."""

ONLY = "of all cells only these; repeat for more"


@dataclass(frozen=True)
class Choice:
    """What a person picks from all cells; where nothing is picked, the profile does."""

    database: Annotated[Sequence[str], Option("--database", ONLY)] = ()
    executor: Annotated[Sequence[str], Option("--executor", ONLY)] = ()
    query: Annotated[Sequence[str], Option("--query", ONLY)] = ()
    pool: Annotated[Sequence[int], Option("--pool", ONLY)] = ()
    latency: Annotated[Sequence[str], Option("--latency", ONLY)] = ()
    cell: Annotated[Sequence[str], Option("--cell", "one cell, as `zoo jdbc plan` prints it; repeat for more")] = ()
    """Names as a plan prints them, such as `postgresql find-by-code none 10/100 virtual`."""

    @property
    def is_made(self) -> bool:
        return bool(self.cell) or any(getattr(self, name) for name in VARIED)

    def takes(self, cell: Cell) -> bool:
        by_field = all(not (wanted := getattr(self, n)) or getattr(cell, n) in wanted for n in VARIED)
        return by_field and str(cell) in (self.cell or (str(cell),))


@dataclass(frozen=True)
class Step:
    """One cell in one round."""

    cell: Cell
    round: int
    position: int


POSTGRESQL = Cell(
    database="postgresql", executor="*", query="find-by-code", pool=10, max_connections=100, latency="none"
)
MARIADB = POSTGRESQL.model_copy(update={"database": "mariadb"})
WIRE = POSTGRESQL.model_copy(update={"latency": "wire-10"})
SHORT_WIRE = POSTGRESQL.model_copy(update={"latency": "wire-2"})
TWO = ("cached", "virtual")
WITH_FORKJOIN = tuple(c.base for c in (POSTGRESQL, POSTGRESQL.model_copy(update={"latency": "sleep-10"})))
"""Where it was published as ahead of the others, and as far behind: measured in the short profile too."""


def cells(name: str = "article") -> list[Cell]:
    """The cells of a profile, each once."""
    return list(dict.fromkeys({"article": _all, "medium": _all, "short": _most, "smoke": _two}[name]()))


def chosen(name: str, choice: Choice) -> list[Cell]:
    """The cells that a choice takes, else the profile's; `PlanError` when there are none."""
    if not choice.is_made:
        return cells(name)
    unknown = set(choice.cell) - {str(cell) for cell in cells()}
    if unknown:
        raise PlanError(f'no cell "{min(unknown)}"; `zoo jdbc plan --profile article` names them all')
    found = [cell for cell in cells() if choice.takes(cell)]
    if not found:
        known = "; ".join(f"{name}: {', '.join(values)}" for name, values in _known().items())
        raise PlanError(f"no cell is like that; known: {known}")
    return found


def on_another_server(cells_: Sequence[Cell], database: str) -> list[Cell]:
    """Those of this database, whatever number of connections its server allows."""
    mine = (cell.model_copy(update={"max_connections": None}) for cell in cells_ if cell.database == database)
    return list(dict.fromkeys(mine))


def floods(name: str, database: str) -> list[Flood]:
    """Both unbounded executors by number of tasks."""
    tasks = {"article": FLOOD_TASKS, "medium": FLOOD_TASKS, "short": FLOOD_TASKS[:1], "smoke": ()}[name]
    return [Flood(database=database, executor=e, tasks=n) for n in tasks for e in FLOOD_EXECUTORS]


def profile(name: str, rounds: int | None = None) -> Profile:
    """A profile by name, repeated as often as asked for."""
    if name not in PROFILES:
        raise PlanError(f'no profile "{name}"; known: {", ".join(PROFILES)}')
    found = PROFILES[name]
    return found if rounds is None else found.model_copy(update={"rounds": rounds})


def steps(plan: PlanFacts) -> Iterator[Step]:
    """Every cell once a round: in random order in odd rounds, in the reverse of it in the even ones that follow."""
    shuffle = random.Random(plan.seed)
    order: list[Cell] = []
    for number in range(1, plan.profile.rounds + 1):
        if number % 2:
            order = list(plan.cells)
            shuffle.shuffle(order)
        else:
            order = order[::-1]
        for position, cell in enumerate(order):
            yield Step(cell, number, position)


def cell_seconds(cell: Cell, used: Profile) -> float:
    """About how long one fork of a cell takes: an iteration ends with the invocation that passes its time."""
    once = invocation_seconds(cell)
    return (
        START_S
        + fill_seconds(cell)
        + sum(
            count * math.ceil(least / once) * once
            for count, least in ((used.warmups, used.warmup_s), (used.iterations, used.iteration_s))
        )
    )


def fill_seconds(cell: Cell) -> float:
    """About how long the pool takes to get its connections."""
    allowed = min(cell.pool, cell.max_connections or cell.pool)
    each = CONNECT_S + CONNECT_ROUND_TRIPS * wire_s(cell.latency)
    return allowed * each + (STILL_S if allowed < cell.pool else 0.0)


def invocation_seconds(cell: Cell) -> float:
    """About how long its tasks take at once: what bounds them, or two cores."""
    tasks, threads = TASKS[cell.form], THREADS.get(cell.executor, math.inf)
    asleep_s = SLEEP_S / threads if cell.latency.startswith("sleep") else 0.0
    waits_s = ROUND_TRIPS[cell.query] * wire_s(cell.latency) / min(threads, cell.pool)
    return tasks * max(1 / RATES[cell.query], asleep_s, waits_s)


def wire_ms(latency: str) -> int | None:
    """The latency on the wire: 10 of `wire-10`; None where there is none."""
    kind, _, ms = latency.partition("-")
    return int(ms) if kind == "wire" else None


def wire_s(latency: str) -> float:
    """About what a round trip takes under this latency; 0 where it has none on the wire."""
    ms = wire_ms(latency)
    return 0.0 if ms is None else ms / 1000 + WIRE_MORE_S


def flood_seconds(flood: Flood) -> float:
    """About how long a flood takes that finishes."""
    return START_S + flood.tasks * wire_s(WIRE.latency) / 10


def seconds(plan: PlanFacts) -> float:
    """About how long all of it takes."""
    once = sum(cell_seconds(cell, plan.profile) for cell in plan.cells)
    return once * plan.profile.rounds + sum(map(flood_seconds, plan.floods))


def _all() -> list[Cell]:
    """The published tables, with both limits of the server, and what they leave open."""
    found = _published(100, 1100)
    found += [*_with(POSTGRESQL, EXECUTORS), *_with(WIRE, EXECUTORS), *_wider_wire(100, 1000), *_short_wire()]
    found += _again(POSTGRESQL, WIRE)
    found += _with(POSTGRESQL.model_copy(update={"query": "update-and-group"}), ("forkjoin",))
    found += _with(POSTGRESQL.model_copy(update={"latency": "sleep-10"}), ("forkjoin",))
    found += _with(POSTGRESQL.model_copy(update={"pool": 100, "max_connections": 1100}), TWO)
    found += _with(MARIADB, ("forkjoin-15",))
    found += _with(MARIADB.model_copy(update={"query": "update-and-group"}), TWO)
    found += _with(MARIADB.model_copy(update={"latency": "wire-10"}), TWO)
    return [*found, *_shortest(POSTGRESQL), *_shortest(MARIADB)]


def _most() -> list[Cell]:
    """The published tables as they were, what a larger pool gives on the wire, and A/A."""
    wider = WIRE.model_copy(update={"pool": 100, "max_connections": 1100})
    return [
        *(cell for cell in _published(100) if cell.executor in TWO or cell.base in WITH_FORKJOIN),
        *_with(wider, ("virtual",)),
        *_again(POSTGRESQL),
    ]


def _two() -> list[Cell]:
    """One of each database."""
    return [
        POSTGRESQL.model_copy(update={"executor": "virtual"}),
        MARIADB.model_copy(update={"executor": "cached", "query": "update-and-group"}),
    ]


def _published(*limits: int) -> list[Cell]:
    found: list[Cell] = []
    for table in TABLES:
        for limit in limits if table.pool > limits[0] else limits[:1]:
            found += table.cells(limit)
    return found


def _wider_wire(*pools: int) -> list[Cell]:
    """When is the pool the bottleneck? Beside the published 10 connections on the wire."""
    wider = [WIRE.model_copy(update={"pool": pool, "max_connections": 1100}) for pool in pools]
    return [cell for base in wider for cell in _with(base, TWO)]


def _short_wire() -> list[Cell]:
    """The published pools of 10 and 1,000 where a larger one can help: with nothing on the wire two cores limit all."""
    big, bigger = (SHORT_WIRE.model_copy(update={"pool": 1000, "max_connections": n}) for n in (100, 1100))
    slow = big.model_copy(update={"query": "update-and-group"})
    found = [cell for base in (SHORT_WIRE, big) for cell in _with(base, (*TWO, "forkjoin-15"))]
    return [*found, *_with(bigger, TWO), *_with(slow, TWO)]


def _again(*bases: Cell) -> list[Cell]:
    """A/A."""
    return [base.model_copy(update={"executor": "virtual", "again": True}) for base in bases]


def _shortest(base: Cell) -> list[Cell]:
    """No table at all, on an executor that stands and on one that is made within the time measured."""
    one = base.model_copy(update={"query": "select-one"})
    return [cell for form in ("standing", "fresh") for cell in _with(one.model_copy(update={"form": form}), TWO)]


def _with(base: Cell, executors: Sequence[str]) -> list[Cell]:
    return [base.model_copy(update={"executor": executor}) for executor in executors]


def _known() -> dict[str, list[str]]:
    found = cells()
    return {name: list(dict.fromkeys(str(getattr(cell, name)) for cell in found)) for name in VARIED}


@dataclass(frozen=True)
class JdbcWish:
    """What was asked for on the command line, an option a field."""

    profile: Annotated[
        str, Option("--profile", f"{', '.join(PROFILES)}: which cells, and how long each is measured")
    ] = DEFAULT
    rounds: Annotated[int | None, Option("--rounds", "how often every cell is measured", least=1, most=1000)] = None
    choice: Choice = field(default_factory=Choice)
    floods: Annotated[
        bool, Option("--floods/--no-floods", "5,000 to 50,000 tasks at once on executors without a bound")
    ] = True
    only_floods: Annotated[bool, Option("--only-floods", "the profile's floods and no cell")] = False
    runtime: Annotated[
        str,
        Option("--runtime", "process: databases of its own; container: those of the compose file", variable="RUNTIME"),
    ] = "auto"


def plan_of(wish: JdbcWish, *, seed: int, runtime: str = "process", database: str = "postgresql") -> PlanFacts:
    """The plan of a new run; `PlanError` for a profile or cells that there are not.

    `external` names a server that is there: its cells are those of its database.
    """
    used, choice = profile(wish.profile, wish.rounds), wish.choice
    found = [] if wish.only_floods else chosen(used.name, choice)
    if runtime == "external":
        found = on_another_server(found, database)
    flooded = wish.floods and (wish.only_floods or not choice.is_made)
    flooding = floods(used.name, database) if flooded else []
    return PlanFacts(cells=found, floods=flooding, profile=used, seed=seed, runtime=runtime)
