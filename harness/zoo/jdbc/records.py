"""The data model of a database run: `run.json` and the lines of `records.ndjson`. That of servers is in `zoo.model`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from zoo.model.data import Data, Measured
from zoo.model.record import Failure
from zoo.model.run import RunFacts

PROTOCOL = 2
"""Version of this measurement's protocol; runs of different protocols are not comparable.

Since version 2 java-jdbc starts with variables that the harness chose and stored.
"""

Form = Literal["standing", "fresh"]


class Cell(Data):
    """One combination of all that is varied; named as the benchmark's parameters are."""

    form: Form = Field(default="standing", description="the executor stands; or it is made within the time measured")
    database: str
    executor: str
    query: str
    pool: int = Field(description="connections that the pool is asked to hold")
    max_connections: int | None = Field(
        description="connections that the server allows; null: another's server, its own limit"
    )
    latency: str
    again: bool = Field(default=False, description="the same cell a second time a round: A/A")

    @property
    def once(self) -> Cell:
        """Itself, or what it is the second measurement of."""
        return self.model_copy(update={"again": False})

    @property
    def base(self) -> Cell:
        """The same without its executor: what executors are compared in."""
        return self.model_copy(update={"executor": "*"})

    @property
    def question(self) -> str:
        """What is asked, of whom, over which wire: `postgresql find-by-code wire-10`."""
        return " ".join([self.database, self.query, *([] if self.form == "standing" else [self.form]), self.latency])

    @property
    def connections(self) -> str:
        """Asked for, and allowed: `1000/100`."""
        return str(self.pool) if self.max_connections is None else f"{self.pool}/{self.max_connections}"

    def __str__(self) -> str:
        return f"{self.question} {self.connections} {self.executor}{' again' if self.again else ''}"


class Measurement(Data):
    """What one fork of JMH gave."""

    ops_per_s: float = Field(description="mean of the fork's iterations")
    iterations: list[float] = Field(description="operations a second of each")
    max_connections: int = Field(description="as the server said")
    connections: int = Field(description="that the pool held; fewer than asked for when the server allows fewer")
    pinned_events: int = Field(description="jdk.VirtualThreadPinned, without a threshold")
    pinned_ms: float
    threads_peak: int
    memory_peak_kb: int | None = Field(description="resident, of the benchmark's JVM")
    gc_count: int
    gc_time_ms: int
    client_cpu_us: float = Field(description="CPU time an operation, of the benchmark's JVM")
    database_cpu_us: float | None = Field(description="CPU time an operation, of the server; null for another's server")
    round_trip_ms: float = Field(description="to the server itself, median of 51")
    added_ms: float = Field(description="measured round trip through the slow wire, less the direct one")
    bound_ops_per_s: float | None = Field(description="threads or connections taken ÷ wait; null where nothing bounds")
    server: str = Field(description="name and version of the database, and where its programs came from")
    jvm: str
    jvm_args: list[str]
    jmh: str
    raw: str = Field(description="JMH's own JSON, below the run's folder")


class CellRecord(Measured):
    """What one cell gave in one round."""

    kind: Literal["jdbc"] = "jdbc"
    protocol: int = PROTOCOL
    cell: Cell
    round: int
    position: int = Field(description="place in the round's order, from 0")
    started_at: str
    measurement: Measurement | None = None
    failure: Failure | None = None

    @property
    def key(self) -> tuple[str, int]:
        return str(self.cell), self.round


class Flood(Data):
    """An executor without a bound, and how many tasks it gets at once."""

    database: str
    executor: str
    tasks: int

    def __str__(self) -> str:
        return f"{self.database} flood of {self.tasks:,} tasks, {self.executor}"


class FloodResult(Data):
    """How it ended; a crash is a finding. Seen from outside of the JVM."""

    pool: int
    server: str
    added_ms: float
    heap: str
    memory_limit_mb: int = Field(description="resident memory at which the JVM was to be ended")
    outcome: str
    seconds: float
    peak_rss_kb: int
    peak_threads: int
    log_tail: str


class FloodRecord(Measured):
    """What one flood gave."""

    kind: Literal["jdbc-flood"] = "jdbc-flood"
    protocol: int = PROTOCOL
    flood: Flood
    started_at: str
    result: FloodResult | None = None
    failure: Failure | None = None

    @property
    def key(self) -> tuple[str, int]:
        return str(self.flood), 1


AnyRecord = Annotated[CellRecord | FloodRecord, Field(discriminator="kind")]


class Profile(Data):
    """How often and how long a cell is measured; a round is one fork of JMH for every cell."""

    name: str
    rounds: int = Field(ge=1)
    warmups: int = Field(ge=0)
    warmup_s: int = Field(ge=1)
    iterations: int = Field(ge=1)
    iteration_s: int = Field(ge=1)


class PlanFacts(Data):
    """The plan a run carries out; with the seed it gives the order of every round."""

    cells: list[Cell]
    floods: list[Flood]
    profile: Profile
    seed: int
    runtime: str = Field(
        description="`process`: databases of ours as processes; `container`: in containers; `external`: JDBC_URL's"
    )


class JdbcRun(RunFacts):
    """`run.json`: what was to be measured, where, with what."""

    kind: Literal["jdbc"] = "jdbc"
    protocol: int = PROTOCOL
    jdk: str
    plan: PlanFacts


RECORD: TypeAdapter[CellRecord | FloodRecord] = TypeAdapter(AnyRecord)


def schema() -> dict[str, Any]:
    """JSON schema of `run.json` and of one line of `records.ndjson`."""
    return {"run": JdbcRun.model_json_schema(), "record": RECORD.json_schema()}
