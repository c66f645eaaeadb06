"""What a plan says of a scenario with cases of its own."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from zoo.model.data import Data
from zoo.model.entry_id import plain


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
