"""The published measurement that the jdbc scenario repeats: its tables as they were printed. Data."""

from __future__ import annotations

from dataclasses import dataclass

from zoo.core.jdbc import JdbcCell

SOURCE = (
    "published with Java 21, JMH, PostgreSQL 16 and MariaDB 11 in containers on an 8-core laptop "
    "(2 × 10 s warm-up, 3 × 30 s, 3 forks)"
)


@dataclass(frozen=True)
class PublishedTable:
    """One published table: operations per second by executor, with JMH's error where it was printed."""

    title: str
    claims: str
    base: JdbcCell
    ops: dict[str, tuple[float, float | None]]

    @property
    def pool(self) -> int:
        return self.base.pool

    def over(self, other: str, executor: str) -> float | None:
        """Return the published ratio of `executor` to `other`, or None if either was not published."""
        if executor not in self.ops or other not in self.ops:
            return None
        return self.ops[executor][0] / self.ops[other][0]

    def cells(self, max_connections: int | None) -> list[JdbcCell]:
        """Return this table's cells for a database server that allows `max_connections` connections."""
        return [self.cell(executor, max_connections) for executor in self.ops]

    def cell(self, executor: str, max_connections: int | None) -> JdbcCell:
        return self.base.model_copy(update={"executor": executor, "max_connections": max_connections})


def _base(database: str, query: str, pool: int, latency: str) -> JdbcCell:
    return JdbcCell(database=database, executor="*", query=query, pool=pool, max_connections=None, latency=latency)


# The published ForkJoinPool is the common pool of a host with 16 hardware threads. Here it is called forkjoin-15.
TABLES = (
    PublishedTable(
        "MariaDB, find by code",
        "D1",
        _base("mariadb", "find-by-code", 10, "none"),
        {"cached": (1867.489, 78.924), "virtual": (4073.376, 180.103)},
    ),
    PublishedTable(
        "PostgreSQL, find by code",
        "D2",
        _base("postgresql", "find-by-code", 10, "none"),
        {"cached": (1997.990, 41.610), "virtual": (5094.044, 290.077), "forkjoin-15": (5283.633, 172.193)},
    ),
    PublishedTable(
        "PostgreSQL, update and group",
        "D3",
        _base("postgresql", "update-and-group", 10, "none"),
        {"cached": (724.340, 15.948), "virtual": (1298.718, 50.907), "forkjoin-15": (1317.077, 33.615)},
    ),
    PublishedTable(
        "PostgreSQL, 10 ms of sleep outside the connection",
        "D4",
        _base("postgresql", "find-by-code", 10, "sleep-10"),
        {"cached": (2205.905, None), "virtual": (5004.089, None), "forkjoin-15": (1254.107, None)},
    ),
    PublishedTable(
        "PostgreSQL, 10 ms on the wire",
        "D5",
        _base("postgresql", "find-by-code", 10, "wire-10"),
        {"cached": (626.894, None), "virtual": (762.063, None), "forkjoin-15": (757.304, None)},
    ),
    PublishedTable(
        "PostgreSQL, find by code, pool of 1,000",
        "D6, D7",
        _base("postgresql", "find-by-code", 1000, "none"),
        {"cached": (6126.189, None), "virtual": (19063.620, None), "forkjoin-15": (6534.681, None)},
    ),
    PublishedTable(
        "PostgreSQL, update and group, pool of 1,000",
        "D6, D7",
        _base("postgresql", "update-and-group", 1000, "none"),
        {"cached": (1659.567, None), "virtual": (2453.289, None), "forkjoin-15": (1629.866, None)},
    ),
)
