"""The data model of `run.json`: what is measured, where and with what, including soaks and bare JVMs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from zoo.core.condition import Condition
from zoo.core.data import Data, VersionedData
from zoo.core.entry_id import aa_id, base_id, is_aa, with_condition, without_aa
from zoo.core.host_facts import HostFacts
from zoo.core.record import PROTOCOL, Record


class Case(Data):
    """One form of a scenario's request.

    `path` is the request target, and `rate` the requests per second if they are fixed. Values that need calibration are
    empty or None until it is done.
    """

    name: str = Field(default="", pattern=r"^[a-z0-9.+-]*$")
    path: str = ""
    wait_s: float = Field(default=0.0, description="the wait that each request specifies")
    work_s: float = Field(default=0.0, description="approximate CPU time of each request")
    warm_path: str = "/"
    rate: int | None = None
    entries: list[str] = Field(default=[], description="entries to which it applies; empty for all of the plan")
    twins: list[str] | None = Field(
        default=None, description=("those of them that are measured twice; null for those of the plan")
    )
    tiers: list[str] = Field(
        default=[], description=("connection counts at which it is measured; empty for all of the program")
    )

    def applies(self, entry_id: str) -> bool:
        """Return True if the case applies to an entry, under any condition."""
        if self.twins is not None and is_aa(entry_id):
            return without_aa(entry_id) in self.twins
        return not self.entries or base_id(entry_id) in self.entries


class Program(Data):
    """A scenario's own cases, connection counts and times, in addition to those of the plan."""

    cases: list[Case]
    tiers: list[str]
    duration_s: float = Field(description="seconds of load in a cell, or in one window if there are several")
    windows: int = Field(default=1, description="consecutive windows on a server that is measured alone")
    dropped: int = Field(default=0, description=("number of the first windows that are dropped; only in earlier runs"))
    thread_each: bool = Field(default=False, description="one wrk thread per connection")
    rest_s: float | None = Field(
        default=None, description=("rest before the last sample of a block's server; null for the value of the plan")
    )
    repeats: int = Field(default=1, description=("repetitions in a cell, if it does not consist of windows of load"))
    calibrated: bool = Field(default=False, description=("paths or rates that are determined at the start of the run"))
    capacity_rps: float | None = Field(default=None, description="the capacity of which rates are shares")


class RunFacts(VersionedData):
    """The identity of a run: its id, times, code and host. `finished_at` is null until the run has ended."""

    id: str
    started_at: str
    finished_at: str | None = None
    commit: str | None
    dirty: bool | None
    harness: str
    host: HostFacts
    environment: dict[str, dict[str, str]] = Field(
        default={},
        description="environment of each entry or program at start; braces mark what differs between starts",
    )
    builds: dict[str, str] = Field(default={}, description="hash of the measured sources, by server or program")


class Target(Data):
    """A server that already runs: its URL, and its process if that is known."""

    url: str
    pid: int | None = None
    address: str | None = Field(default=None, description="IP address that is loaded and read; null in earlier runs")


class LaterRounds(Data):
    """Limits of the rounds after `after`: some entries at some connection counts, in scenarios of throughput."""

    after: int
    entries: list[str]
    tiers: list[str]


class PlanFacts(Data):
    """The plan that a run carries out; together with the seed it determines the order of every round."""

    entries: list[str]
    scenarios: list[str]
    tiers: list[str]
    rounds: int
    rounds_of: dict[str, int] = Field(
        default={}, description=("rounds by scenario, if they differ from those of the run")
    )
    later: list[LaterRounds] = Field(
        default=[], description="what rounds that a precision added are limited to; each applies until the next begins"
    )
    precision: float | None = Field(
        default=None,
        description=("requested half-width of the throughput ratio of named pairs, for which rounds are added"),
    )
    budget_s: float | None = Field(default=None, description="time limit of the run including added rounds")
    seed: int
    profile: dict[str, float]
    condition: Condition
    variations: dict[str, Condition] = Field(
        default={}, description="further conditions under which each entry is measured too, as `ENTRY@NAME`"
    )
    natives: list[str] = Field(
        default=[],
        description=("entries without a JVM, which are not measured under conditions that change only the JVM"),
    )
    settings: dict[str, list[str]] = Field(
        default={},
        description=(
            "settings that each entry reads; conditions that change only other settings are "
            "not measured; empty in earlier runs, and if no condition varies"
        ),
    )
    twins: list[str] = Field(
        default=[], description=("entries measured a second time per round as `ENTRY.again` (A/A)")
    )
    twin_scenarios: list[str] = []
    design: str = Field(default="rounds", description="how the entries of a server are compared")
    targets: dict[str, Target] = Field(
        default={}, description="entries that are servers which the harness did not start"
    )
    guests: list[str] = Field(
        default=[], description=("entries from outside the zoo, including targets; each is compared with all others")
    )
    programs: dict[str, Program] = Field(default={}, description="scenarios with their own cases and connection counts")

    @model_validator(mode="before")
    @classmethod
    def _drop_turn_counts(cls, data: Any) -> Any:  # noqa: ANN401 (unvalidated input)
        """Remove the numbers of turns, and the run that suggested them, which plans of older runs contain."""
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in data.items() if name not in ("turns", "turns_of")}

    def rounds_in(self, scenario: str) -> int:
        return self.rounds_of.get(scenario, self.rounds)

    @property
    def common_rounds(self) -> int:
        """Return the number of rounds that every cell has; a precision adds rounds of some cells."""
        return self.later[0].after if self.later else self.rounds

    def limits_of(self, number: int) -> LaterRounds | None:
        """Return what the round of this number is limited to, or None if it measures everything."""
        return next((later for later in reversed(self.later) if number > later.after), None)

    @property
    def varied_entries(self) -> list[str]:
        """Return the entries under additional conditions, each only under those that change something for it."""
        return [
            with_condition(entry, name)
            for entry in self.entries
            for name in self.variations
            if self.affects(entry, name)
        ]

    def affects(self, entry: str, name: str) -> bool:
        """Return True if the condition with this name changes something for the entry."""
        changed = self.variations[name]
        if changed.differs_in_jvm(self.condition):
            return entry not in self.natives
        unlike, read = changed.settings_unlike(self.condition), self.settings.get(entry)
        return not unlike or read is None or not set(read).isdisjoint(unlike)

    @property
    def aa_cells(self) -> int:
        twins = list(map(aa_id, self.twins))
        return sum(self._cells(name, twins) for name in self.twin_scenarios)

    @property
    def cells(self) -> int:
        """Return the number of cells in all rounds, including A/A."""
        everyone = [*self.entries, *self.varied_entries]
        return sum(self._cells(name, everyone) for name in self.scenarios) + self.aa_cells

    @property
    def connection_counts(self) -> list[str]:
        """Return all requested connection counts as tiers; a constant rate does not fix the number of connections."""
        plain = self.tiers if any(name not in self.programs for name in self.scenarios) else []
        own = (
            name
            for program in self.programs.values()
            for name in program.tiers
            if not any(case.rate for case in program.cases)
        )
        return list(dict.fromkeys([*plain, *own]))

    def _cells(self, scenario: str, entries: list[str]) -> int:
        """Return the number of cells of these entries in all rounds of a scenario."""
        program, total = self.programs.get(scenario), 0
        for number in range(1, self.rounds_in(scenario) + 1):
            limits = self.limits_of(number)
            measured = [entry for entry in entries if limits is None or entry in limits.entries]
            cases = [(len(measured), self.tiers)]
            if program:
                cases = [(sum(map(case.applies, measured)), case.tiers or program.tiers) for case in program.cases]
            total += sum(
                count * sum(limits is None or tier in limits.tiers for tier in tiers) for count, tiers in cases
            )
        return total


class Run(RunFacts):
    """The contents of `run.json`: what is measured, where and with what."""

    protocol: int = PROTOCOL
    plan: PlanFacts

    @property
    def cores(self) -> str:
        """Return the machine's number of processors, and which side uses them, in words."""
        split = self.plan.condition.cores
        return f"{self.host.processors}, {split}" if split else self.host.processors_shared_by("server and generator")


def schema() -> dict[str, Any]:
    """Return the JSON schemas of `run.json` and of one line of `records.ndjson`."""
    return {"run": Run.model_json_schema(), "record": Record.model_json_schema()}


SOAK_PROTOCOL = 1
"""Version of this measurement's protocol."""


class SoakSample(Data):
    """One sample of a server at rest. `requests` and `errors` count the load since the previous mark."""

    at_s: float = Field(description="since the soak test began")
    requests: int
    errors: int
    rss_kb: int
    threads: int
    descriptors: int
    heap_kb: int | None = Field(description="in use after a full collection; null without a JVM")


class Soak(RunFacts):
    """A complete soak. `finished_at` is null while the soak runs, or if it was interrupted."""

    kind: Literal["soak"] = "soak"
    protocol: int = SOAK_PROTOCOL
    jdk: str | None
    minutes: float
    builds: dict[str, str] = Field(description="the hash of each server's sources")
    marks: dict[str, list[SoakSample]] = Field(description="by entry")
    ended: dict[str, str] = Field(default={}, description="reason why an entry ended early")


JVM_PROTOCOL = 2
"""Version of this measurement's protocol.

Since version 2, the JVM starts with environment variables that the harness chose. It compiles in the foreground when
the memory of parked threads is measured.
"""


class JvmRecord(VersionedData):
    """The results of one set of flags, with one figure per start."""

    kind: Literal["jvm"] = "jvm"
    protocol: int = JVM_PROTOCOL
    case: str = Field(description="the flags, or `default`, and whether a monitor read the JVM's beans over JMX")
    flags: list[str]
    watched: bool
    start_and_end_s: list[float] = Field(description="from fork to exit")
    rss_kb: list[int] = Field(description="after 5 s of sleep, or of monitoring")
    peak_kb: list[int]
    anon_kb: list[int]
    parked_kb: list[float] = Field(
        default=[],
        description=("live heap per parked virtual thread, with a million of them; the other fields are then empty"),
    )


class JvmRun(RunFacts):
    """The contents of `run.json` for bare JVMs: the host, the code and the JDK."""

    kind: Literal["jvm"] = "jvm"
    protocol: int = JVM_PROTOCOL
    jdk: str


def jvm_schema() -> dict[str, Any]:
    """Return the JSON schemas of `run.json` and of one line of `records.ndjson`."""
    return {"run": JvmRun.model_json_schema(), "record": JvmRecord.model_json_schema()}
