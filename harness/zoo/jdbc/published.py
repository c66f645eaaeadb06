"""The published measurement that is repeated here: its tables, as they were printed. Data."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.jdbc.records import Cell

SOURCE = (
    "published with Java 21, JMH, PostgreSQL 16 and MariaDB 11 in containers on an 8-core laptop "
    "(2 × 10 s warm-up, 3 × 30 s, 3 forks)"
)


@dataclass(frozen=True)
class Table:
    """Operations a second by executor, with JMH's error where it was printed."""

    title: str
    claims: str
    base: Cell
    ops: dict[str, tuple[float, float | None]]

    @property
    def pool(self) -> int:
        return self.base.pool

    def over(self, other: str, executor: str) -> float | None:
        """The published ratio of an executor to another; None where one of them was not published."""
        if executor not in self.ops or other not in self.ops:
            return None
        return self.ops[executor][0] / self.ops[other][0]

    def cells(self, max_connections: int | None) -> list[Cell]:
        """This table's cells, on a server of so many connections."""
        return [self.cell(executor, max_connections) for executor in self.ops]

    def cell(self, executor: str, max_connections: int | None) -> Cell:
        return self.base.model_copy(update={"executor": executor, "max_connections": max_connections})


def _base(database: str, query: str, pool: int, latency: str) -> Cell:
    return Cell(database=database, executor="*", query=query, pool=pool, max_connections=None, latency=latency)


# The published ForkJoinPool is the common pool of a host with 16 hardware threads: forkjoin-15 here.
TABLES = (
    Table(
        "MariaDB, find by code",
        "D1",
        _base("mariadb", "find-by-code", 10, "none"),
        {"cached": (1867.489, 78.924), "virtual": (4073.376, 180.103)},
    ),
    Table(
        "PostgreSQL, find by code",
        "D2",
        _base("postgresql", "find-by-code", 10, "none"),
        {"cached": (1997.990, 41.610), "virtual": (5094.044, 290.077), "forkjoin-15": (5283.633, 172.193)},
    ),
    Table(
        "PostgreSQL, update and group",
        "D3",
        _base("postgresql", "update-and-group", 10, "none"),
        {"cached": (724.340, 15.948), "virtual": (1298.718, 50.907), "forkjoin-15": (1317.077, 33.615)},
    ),
    Table(
        "PostgreSQL, 10 ms asleep outside of the connection",
        "D4",
        _base("postgresql", "find-by-code", 10, "sleep-10"),
        {"cached": (2205.905, None), "virtual": (5004.089, None), "forkjoin-15": (1254.107, None)},
    ),
    Table(
        "PostgreSQL, 10 ms on the wire",
        "D5",
        _base("postgresql", "find-by-code", 10, "wire-10"),
        {"cached": (626.894, None), "virtual": (762.063, None), "forkjoin-15": (757.304, None)},
    ),
    Table(
        "PostgreSQL, find by code, pool of 1,000",
        "D6, D7",
        _base("postgresql", "find-by-code", 1000, "none"),
        {"cached": (6126.189, None), "virtual": (19063.620, None), "forkjoin-15": (6534.681, None)},
    ),
    Table(
        "PostgreSQL, update and group, pool of 1,000",
        "D6, D7",
        _base("postgresql", "update-and-group", 1000, "none"),
        {"cached": (1659.567, None), "virtual": (2453.289, None), "forkjoin-15": (1629.866, None)},
    ),
)
