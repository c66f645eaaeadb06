"""The data model of `run.json`: what was to be measured, where, with what."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from zoo.model.condition import Condition
from zoo.model.data import Data
from zoo.model.entry_id import varied
from zoo.model.program import Program
from zoo.model.record import PROTOCOL, Record
from zoo.model.run_facts import RunFacts


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
