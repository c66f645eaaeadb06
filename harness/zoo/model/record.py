"""The data model of a line of `records.ndjson`: what one cell gave in one round."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any, Protocol, TypeVar

from pydantic import Field, model_validator

from zoo.model.condition import Condition
from zoo.model.data import Data, Measured
from zoo.model.errors import telling
from zoo.model.flag import Flag
from zoo.model.measurement import Connections, Kernel, Measurement, Memory, Sampling, ServerFacts, Warmup, Work
from zoo.model.samples import Noise
from zoo.model.trial_results import Result

_ERROR = re.compile(r"Error|Exception|panicked|fatal")


class Failure(Data):
    """Why a cell has no figures."""

    kind: str
    message: str
    log_tail: str = ""

    @property
    def text(self) -> str:
        """What happened; of a program that ended by itself, the error that it left in its log too."""
        error = last_error(self.log_tail) if self.kind in ("crashed", "not_started") else ""
        return f"{self.message}: {error}" if error and error not in self.message else self.message


def last_error(log: str) -> str:
    """The last line that names an error as a JVM or a Rust program does; empty where none does."""
    return next((line for line in reversed(telling(log)) if _ERROR.search(line)), "")


PROTOCOL = 5
"""Version of the measurement protocol; runs of different protocols are not comparable.

Since version 5 servers start with variables that the harness chose and stored, and none of the caller's shell. A load
with more than 1% bad responses fails, and latency is that of the good ones.
"""


UNKNOWN = "unknown"
"""The thread model of a server that something else started."""


class Trial(Data):
    """What a cell gave that is no plain wrk window: its result, and what was read around it."""

    result: Result
    connections: Connections | None = None
    memory: Memory | None = None
    work: Work | None = None
    warmup: Warmup | None = None
    noise: Noise | None = None
    kernel: Kernel | None = None
    canary_s: float | None = None
    sampling: Sampling | None = None
    server: ServerFacts | None = None
    flags: list[Flag] = []


class Record(Measured):
    """What one cell gave in one round: a measurement, a trial or a failure."""

    protocol: int = PROTOCOL
    entry: str
    model: str
    scenario: str
    case: str = Field(default="", description="which form of the scenario's request, where it has several")
    tier: str
    condition: Condition
    round: int
    position: int = Field(description="place of the entry in the round's order, from 0")
    together: list[str] = Field(default=[], description="the entries that were alive at once, their windows in turns")
    started_at: str
    measurement: Measurement | None = None
    trial: Trial | None = None
    failure: Failure | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_unusable_figures(cls, data: Any) -> Any:  # noqa: ANN401 (whatever is validated)
        """Turn a measurement that is not to be used into a failure, so that no report, comparison or export shows it.

        Runs of older versions hold such measurements.
        """
        measured = data.get("measurement") if isinstance(data, dict) else None
        if measured is None:
            return data
        flags = measured.flags if isinstance(measured, Measurement) else measured.get("flags", [])
        why = next((flag for flag in Flag if flag.unusable and flag in flags), None)
        if why is None:
            return data
        return {**data, "measurement": None, "failure": Failure(kind=why.value, message=why.text)}

    @model_validator(mode="before")
    @classmethod
    def _without_marks_of_whole_lives(cls, data: Any) -> Any:  # noqa: ANN401 (whatever is validated)
        """Leave out high-water marks of servers on a swarm, which count from the server's start.

        Runs of older versions hold such marks.
        """
        condition = data.get("condition") if isinstance(data, dict) else None
        if not isinstance(condition, dict) or condition.get("runtime") != "swarm":
            return data
        parts = {name: part for name in ("measurement", "trial") if (part := data.get(name)) and part.get("memory")}
        unmarked = {name: {**part, "memory": {**part["memory"], "hwm_kb": None}} for name, part in parts.items()}
        return {**data, **unmarked}

    @property
    def asked(self) -> str:
        """The scenario with its case: cells that differ in it are different loads."""
        return asked(self.scenario, self.case)

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.entry, self.asked, self.tier, self.round)

    @property
    def memory(self) -> Memory | None:
        """The server's memory, in a measurement or a trial; None where its process is not known."""
        seen = self.measurement or self.trial
        return seen.memory if seen else None


class _Keyed(Protocol):
    """A record of a cell and round, of whatever kind of run."""

    @property
    def key(self) -> Hashable: ...


_KeyedT = TypeVar("_KeyedT", bound=_Keyed)


def newest_records(records: Iterable[_KeyedT]) -> list[_KeyedT]:
    """Of records of one cell and round the last, which was measured anew: after a failure, or beside one that had."""
    return list({record.key: record for record in records}.values())


def asked(scenario: str, case: str) -> str:
    """`cpu 0.5ms+2ms`; the scenario alone where it has but one case."""
    return f"{scenario} {case}" if case else scenario


def stem(entry: str, asked: str) -> str:
    return f"{entry.replace(':', '-')}-{asked.replace(' ', '-')}"
