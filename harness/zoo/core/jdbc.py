"""Database runs in the format of all runs: an executor is an entry, a query is a case, and the pool is a tier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Self

from pydantic import Field

from zoo.core.condition import Condition
from zoo.core.data import Data
from zoo.core.entry_id import aa_id, is_aa, server_name, without_aa
from zoo.core.record import Record
from zoo.core.run import Case, PlanFacts, Program, Run

PROGRAM = "java-jdbc"
JDBC, FLOOD = "jdbc", "jdbc-flood"
"""Scenarios: queries by executor, and a flood of tasks at once on executors without a limit."""

PROTOCOL = 2
"""Version of this measurement's protocol; runs of different protocols are not comparable.

Since version 2, java-jdbc starts with environment variables that the harness chose and stored.
"""

MODELS = {
    "cached": "platform-thread",
    "fixed-10": "platform-thread",
    "fixed-200": "platform-thread",
    "virtual": "virtual-thread",
    "virtual-semaphore": "virtual-thread",
    "forkjoin": "event-loop",
    "forkjoin-15": "event-loop",
}
"""The thread model of each executor."""

Form = Literal["standing", "fresh"]


def entry_of(executor: str) -> str:
    return f"{PROGRAM}:{executor}"


def executor_of(entry_id: str) -> str:
    return without_aa(entry_id).partition(":")[2]


class JdbcCell(Data):
    """One combination of all parameters that vary, named as the benchmark names them."""

    form: Form = Field(
        default="standing", description=("whether the executor exists before the measured time or is created within it")
    )
    database: str
    executor: str
    query: str
    pool: int = Field(description="requested connections of the pool")
    max_connections: int | None = Field(description="connections that the server allows; null for an external server")
    latency: str
    again: bool = Field(default=False, description="the same cell measured a second time per round (A/A)")

    @classmethod
    def of(cls, entry_id: str, case: str, tier: str) -> Self:
        """Parse `java-jdbc:virtual`, `postgresql.find-by-code.wire-10.100` and `10`."""
        words = case.split(".")
        limit = int(words.pop()) if words[-1].isdecimal() else None
        database, query, *form, latency = words
        return cls.model_validate(
            {
                "form": form[0] if form else "standing",
                "database": database,
                "executor": executor_of(entry_id),
                "query": query,
                "pool": int(tier),
                "max_connections": limit,
                "latency": latency,
                "again": is_aa(entry_id),
            }
        )

    @property
    def scenario(self) -> str:
        return JDBC

    @property
    def entry(self) -> str:
        return aa_id(entry_of(self.executor)) if self.again else entry_of(self.executor)

    @property
    def case(self) -> str:
        limit = [] if self.max_connections is None else [str(self.max_connections)]
        return ".".join([*self.query_label.split(), *limit])

    @property
    def tier(self) -> str:
        return str(self.pool)

    @property
    def without_aa(self) -> JdbcCell:
        """Return the cell itself, or the cell that it measures a second time."""
        return self.model_copy(update={"again": False})

    @property
    def base(self) -> JdbcCell:
        """Return the cell without its executor, to compare executors on it."""
        return self.model_copy(update={"executor": "*"})

    @property
    def query_label(self) -> str:
        """Return the database, the query and the wire: `postgresql find-by-code wire-10`."""
        return " ".join([self.database, self.query, *([] if self.form == "standing" else [self.form]), self.latency])

    @property
    def connections(self) -> str:
        """Return the connections of the pool and, if limited, those that the server allows: `1000/100`."""
        return str(self.pool) if self.max_connections is None else f"{self.pool}/{self.max_connections}"

    def __str__(self) -> str:
        return f"{self.query_label} {self.connections} {self.executor}{' again' if self.again else ''}"


class Flood(Data):
    """An executor without a limit, and the number of tasks that it gets at once."""

    database: str
    executor: str
    tasks: int

    @classmethod
    def of(cls, entry_id: str, case: str, tier: str) -> Self:
        """Parse `java-jdbc:virtual`, `postgresql` and `5k`."""
        return cls(database=case, executor=executor_of(entry_id), tasks=1000 * int(tier.removesuffix("k")))

    @property
    def scenario(self) -> str:
        return FLOOD

    @property
    def entry(self) -> str:
        return entry_of(self.executor)

    @property
    def case(self) -> str:
        return self.database

    @property
    def tier(self) -> str:
        return f"{self.tasks // 1000}k"

    def __str__(self) -> str:
        return f"{self.database} flood of {self.tasks:,} tasks, {self.executor}"


def parse_subject(scenario: str, entry_id: str, case: str, tier: str) -> JdbcCell | Flood:
    """Return the cell or the flood that has these names."""
    return (Flood if scenario == FLOOD else JdbcCell).of(entry_id, case, tier)


def record_subject(record: Record) -> JdbcCell | Flood:
    """Return the cell or the flood that a record belongs to."""
    return parse_subject(record.scenario, record.entry, record.case, record.tier)


def measures_databases(run: Run) -> bool:
    """Return True if the run measures databases."""
    return any(server_name(entry) == PROGRAM for entry in run.plan.entries)


def plan_facts(
    subjects: Sequence[JdbcCell | Flood],
    *,
    times: Mapping[str, float],
    rounds: int,
    seed: int,
    condition: Condition,
) -> PlanFacts:
    """Return the plan of these cells and floods; `times` are those of a JMH fork."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for one in subjects:
        groups.setdefault((one.scenario, one.case, one.tier), []).append(one.entry)
    programs = {
        name: Program(
            cases=[_case(case, tier, of) for (scenario, case, tier), of in groups.items() if scenario == name],
            tiers=list(dict.fromkeys(tier for scenario, _, tier in groups if scenario == name)),
            duration_s=times["iterations"] * times["iteration_s"],
        )
        for name in dict.fromkeys(scenario for scenario, *_ in groups)
    }
    return PlanFacts(
        entries=list(dict.fromkeys(without_aa(one.entry) for one in subjects)),
        scenarios=list(programs),
        tiers=list(dict.fromkeys(one.tier for one in subjects)),
        rounds=rounds,
        rounds_of={FLOOD: 1} if FLOOD in programs else {},
        seed=seed,
        profile=dict(times),
        condition=condition,
        twins=list(dict.fromkeys(without_aa(one.entry) for one in subjects if is_aa(one.entry))),
        twin_scenarios=[JDBC] if JDBC in programs else [],
        programs=programs,
    )


def _case(name: str, tier: str, entries: Sequence[str]) -> Case:
    twins = [without_aa(entry) for entry in entries if is_aa(entry)]
    return Case(name=name, tiers=[tier], entries=list(dict.fromkeys(map(without_aa, entries))), twins=twins)


def plan_subjects(planned: PlanFacts) -> list[JdbcCell | Flood]:
    """Return each cell and flood of a plan."""
    return [
        parse_subject(scenario, entry, case.name, tier)
        for scenario, program in planned.programs.items()
        for case in program.cases
        for tier in case.tiers
        for entry in [*case.entries, *map(aa_id, case.twins or [])]
    ]
