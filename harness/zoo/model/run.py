"""The data model of `run.json`: what was to be measured, where, with what; of soaks and of bare JVMs too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, model_validator

from zoo.model.condition import Condition
from zoo.model.data import Data, Measured
from zoo.model.entry_id import plain, varied
from zoo.model.host import HostFacts
from zoo.model.record import PROTOCOL, Record


class Case(Data):
    """One form of a scenario's request. `path` is its target, and `rate` its requests a second where they are fixed;
    what has to be calibrated is empty or None until it is known."""

    name: str = Field(default="", pattern=r"^[a-z0-9.+-]*$")
    path: str = ""
    wait_s: float = Field(default=0.0, description="what the server is told to wait in each request")
    work_s: float = Field(default=0.0, description="of a CPU, about what each request takes")
    warm_path: str = "/"
    rate: int | None = None
    entries: list[str] = Field(default=[], description="to which it applies; empty: to all of the plan")

    def applies(self, entry_id: str) -> bool:
        """Whether an entry is asked so, under whatever condition."""
        return not self.entries or plain(entry_id) in self.entries


class Program(Data):
    """A scenario's own cases, connection counts and times, beside the plan's."""

    cases: list[Case]
    tiers: list[str]
    duration_s: float = Field(description="of load in a cell; of one window where there are several")
    windows: int = Field(default=1, description="in a row on a server alone")
    dropped: int = Field(default=0, description="of the first of these; only in runs of older versions")
    thread_each: bool = Field(default=False, description="a wrk thread for each connection")
    rest_s: float | None = Field(default=None, description="before the last look at a block's server; null: the plan's")
    repeats: int = Field(default=1, description="of what a cell consists of, where that is no window of load")
    calibrated: bool = Field(default=False, description="paths or rates that a run finds out first are filled in")
    capacity_rps: float | None = Field(default=None, description="that rates are shares of")

    def cells(self, entries: Iterable[str]) -> int:
        """Of one round."""
        return len(self.tiers) * sum(case.applies(entry) for entry in entries for case in self.cases)


class RunFacts(Measured):
    """Which run it is, when it was made, with which code and where; `finished_at` is null until it has ended."""

    id: str
    started_at: str
    finished_at: str | None = None
    commit: str | None
    dirty: bool | None
    harness: str
    host: HostFacts
    environment: dict[str, dict[str, str]] = Field(
        default={},
        description="by entry or program, the variables that it was started with; in braces what differs by start",
    )
    builds: dict[str, str] = Field(
        default={}, description="by server or program, the hash of the sources that were measured"
    )


class Target(Data):
    """A server that already runs: where, and as which process, if that is known."""

    url: str
    pid: int | None = None
    address: str | None = Field(
        default=None, description="the IP address that is loaded and read; null in runs of older versions"
    )


class PlanFacts(Data):
    """The plan a run carries out; with the seed it gives the order of every round."""

    entries: list[str]
    scenarios: list[str]
    tiers: list[str]
    rounds: int
    rounds_of: dict[str, int] = Field(default={}, description="by scenario, where it has other rounds than the rest")
    precision: float | None = Field(
        default=None, description="half-width that named pairs of throughput shall have, for which rounds are added"
    )
    budget_s: float | None = Field(default=None, description="what the run may take with the rounds that are added")
    seed: int
    profile: dict[str, float]
    condition: Condition
    variations: dict[str, Condition] = Field(
        default={}, description="further conditions, under which each entry is measured too, as `ENTRY@NAME`"
    )
    natives: list[str] = Field(
        default=[], description="entries without a JVM, of which a condition that changes only the JVM is not measured"
    )
    settings: dict[str, list[str]] = Field(
        default={},
        description="by entry, the settings that it reads: a condition that changes only others is not measured; "
        "empty in older runs, and where no condition varies",
    )
    twins: list[str] = Field(default=[], description="entries measured a second time a round as `ENTRY.again`: A/A")
    twin_scenarios: list[str] = []
    design: str = Field(default="rounds", description="how a server's entries are set against each other")
    targets: dict[str, Target] = Field(
        default={}, description="of the entries, those that are servers which something else started"
    )
    guests: list[str] = Field(
        default=[], description="entries from outside the zoo, targets among them; each is compared with all others"
    )
    programs: dict[str, Program] = Field(
        default={}, description="by scenario, where it has cases and connection counts of its own instead of the tiers"
    )

    @model_validator(mode="before")
    @classmethod
    def _without_turns(cls, data: Any) -> Any:  # noqa: ANN401 (whatever is validated)
        """Leave out the numbers of turns, and the run that suggested them, which plans of older runs contain."""
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if name not in ("turns", "turns_of")}

    def rounds_in(self, scenario: str) -> int:
        return self.rounds_of.get(scenario, self.rounds)

    @property
    def further(self) -> list[str]:
        """The entries under further conditions, each under those that change something of it."""
        return [varied(entry, name) for entry in self.entries for name in self.variations if self.concerns(entry, name)]

    def concerns(self, entry: str, name: str) -> bool:
        """True where the condition of that name changes something of the entry."""
        changed = self.variations[name]
        if changed.differs_in_jvm(self.condition):
            return entry not in self.natives
        unlike, read = changed.settings_unlike(self.condition), self.settings.get(entry)
        return not unlike or read is None or not set(read).isdisjoint(unlike)

    @property
    def twin_cells(self) -> int:
        return sum(self._cells(name, self.twins) * self.rounds_in(name) for name in self.twin_scenarios)

    @property
    def cells(self) -> int:
        """Cells of all rounds, A/A included."""
        everyone = [*self.entries, *self.further]
        own = sum(self._cells(name, everyone) * self.rounds_in(name) for name in self.scenarios)
        return own + self.twin_cells

    @property
    def counts(self) -> list[str]:
        """All connection counts that are asked for, as tiers; at a constant rate there are as many as come."""
        plain = self.tiers if any(name not in self.programs for name in self.scenarios) else []
        own = (
            name
            for program in self.programs.values()
            for name in program.tiers
            if not any(case.rate for case in program.cases)
        )
        return list(dict.fromkeys([*plain, *own]))

    def _cells(self, scenario: str, entries: list[str]) -> int:
        program = self.programs.get(scenario)
        return program.cells(entries) if program else len(entries) * len(self.tiers)


class Run(RunFacts):
    """`run.json`: what was to be measured, where, with what."""

    protocol: int = PROTOCOL
    plan: PlanFacts

    @property
    def cores(self) -> str:
        """How many processors the machine has, and whose they are."""
        apart = self.plan.condition.cores
        return f"{self.host.processors}, {apart}" if apart else self.host.shared("server and generator")


def schema() -> dict[str, Any]:
    """JSON schema of `run.json` and of one line of `records.ndjson`."""
    return {"run": Run.model_json_schema(), "record": Record.model_json_schema()}


SOAK_PROTOCOL = 1
"""Version of this measurement's protocol."""


class Mark(Data):
    """One look at a server at rest. `requests` and `errors` are those of the load since the mark before."""

    at_s: float = Field(description="since the soak began")
    requests: int
    errors: int
    rss_kb: int
    threads: int
    descriptors: int
    heap_kb: int | None = Field(description="in use right after a full collection; null where there is no JVM")


class Soak(RunFacts):
    """A soak as a whole; `finished_at` is null while it goes on, or when it was interrupted."""

    kind: Literal["soak"] = "soak"
    protocol: int = SOAK_PROTOCOL
    jdk: str | None
    minutes: float
    builds: dict[str, str] = Field(description="the hash of each server's sources")
    marks: dict[str, list[Mark]] = Field(description="by entry")
    ended: dict[str, str] = Field(default={}, description="why an entry that did not last ended")


JVM_PROTOCOL = 2
"""Version of this measurement's protocol.

Since version 2 the JVM starts with variables that the harness chose, and compiles in the foreground where parked
threads are weighed.
"""


class JvmRecord(Measured):
    """What one set of flags gave; a figure a start."""

    kind: Literal["jvm"] = "jvm"
    protocol: int = JVM_PROTOCOL
    case: str = Field(description="the flags, or `default`; and whether a monitor read the JVM's beans over JMX")
    flags: list[str]
    watched: bool
    start_and_end_s: list[float] = Field(description="from fork to exit")
    rss_kb: list[int] = Field(description="after 5 s of sleep, or of being watched")
    peak_kb: list[int]
    anon_kb: list[int]
    parked_kb: list[float] = Field(
        default=[], description="live heap that each of a million parked virtual threads takes; then all else is empty"
    )


class JvmRun(RunFacts):
    """`run.json`: where and with what."""

    kind: Literal["jvm"] = "jvm"
    protocol: int = JVM_PROTOCOL
    jdk: str


def jvm_schema() -> dict[str, Any]:
    """JSON schema of `run.json` and of one line of `records.ndjson`."""
    return {"run": JvmRun.model_json_schema(), "record": JvmRecord.model_json_schema()}
