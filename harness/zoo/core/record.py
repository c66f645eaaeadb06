"""The data model of a line of `records.ndjson`: the result of one cell in one round."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import Any, Protocol, TypeVar

from pydantic import Field, model_validator

from zoo.core.condition import Condition
from zoo.core.data import Data, VersionedData
from zoo.core.errors import informative_lines
from zoo.core.flag import Flag
from zoo.core.measurement import Connections, Kernel, Measurement, Memory, Sampling, ServerFacts, Warmup, Work
from zoo.core.samples import Noise
from zoo.core.trial_results import Result

_ERROR = re.compile(r"Error|Exception|panicked|fatal")


class Failure(Data):
    """The reason why a cell has no figures."""

    kind: str
    message: str
    log_tail: str = ""

    @property
    def text(self) -> str:
        """Return the message. If the program ended by itself, add the error from its log."""
        error = last_error(self.log_tail) if self.kind in ("crashed", "not_started") else ""
        return f"{self.message}: {error}" if error and error not in self.message else self.message


def last_error(log: str) -> str:
    """Return the last line that names an error as a JVM or a Rust program does; empty if there is none."""
    return next((line for line in reversed(informative_lines(log)) if _ERROR.search(line)), "")


PROTOCOL = 6
"""Version of the measurement protocol; runs of different protocols are not comparable.

Since version 6, a server is in the same session as the generator. The kernel may divide the processors between
sessions (autogroup), so with separate ones, a server that shares its cores had more context switches and latency.

Since version 5, servers start with environment variables that the harness chose and stored, and inherit none from the
caller's shell. A load with more than 1% bad responses fails, and latency covers the good responses only.
"""


RecordKey = tuple[str, str, str, int]
"""The key of a record: entry, scenario with case, connection count, round."""

UNKNOWN = "unknown"
"""The thread model of a server that something else started."""


class Trial(Data):
    """The result of a cell that is more than a plain wrk window, and the readings taken during it."""

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


class Record(VersionedData):
    """The result of one cell in one round: a measurement, a trial or a failure."""

    protocol: int = PROTOCOL
    entry: str
    model: str
    scenario: str
    case: str = Field(default="", description="form of the scenario's request, if it has several")
    tier: str
    condition: Condition
    round: int
    position: int = Field(description="position of the entry in the order of the round, from 0")
    together: list[str] = Field(default=[], description="entries that ran side by side, in alternating windows")
    started_at: str
    measurement: Measurement | None = None
    trial: Trial | None = None
    failure: Failure | None = None

    @model_validator(mode="before")
    @classmethod
    def _fail_unusable_measurement(cls, data: Any) -> Any:  # noqa: ANN401 (unvalidated input)
        """Turn an unusable measurement into a failure, so that no report, comparison or export shows it.

        Runs of older versions contain such measurements.
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
    def _drop_swarm_high_water_marks(cls, data: Any) -> Any:  # noqa: ANN401 (unvalidated input)
        """Remove high-water marks of servers on a swarm, because they count from the server's start.

        Runs of older versions contain such marks.
        """
        condition = data.get("condition") if isinstance(data, dict) else None
        if not isinstance(condition, dict) or condition.get("runtime") != "swarm":
            return data
        parts = {name: part for name in ("measurement", "trial") if (part := data.get(name)) and part.get("memory")}
        unmarked = {name: {**part, "memory": {**part["memory"], "hwm_kb": None}} for name, part in parts.items()}
        return {**data, **unmarked}

    @property
    def workload(self) -> str:
        """Return the scenario with its case; different cases are different loads."""
        return workload_name(self.scenario, self.case)

    @property
    def key(self) -> RecordKey:
        return (self.entry, self.workload, self.tier, self.round)

    @property
    def memory(self) -> Memory | None:
        """Return the server's memory from the measurement or the trial; None if its process is not known."""
        seen = self.measurement or self.trial
        return seen.memory if seen else None


class _HasKey(Protocol):
    """A record of a cell and round, from any kind of run."""

    @property
    def key(self) -> Hashable: ...


_HasKeyT = TypeVar("_HasKeyT", bound=_HasKey)


def newest_records(records: Iterable[_HasKeyT]) -> list[_HasKeyT]:
    """Return the newest record for each cell and round.

    A cell has several records if it was measured again, after its own failure or next to an entry that failed.
    """
    return list({record.key: record for record in records}.values())


def workload_name(scenario: str, case: str) -> str:
    """Return the scenario with its case, such as `cpu 0.5ms+2ms`, or the scenario alone if it has only one case."""
    return f"{scenario} {case}" if case else scenario


def file_stem(entry: str, workload: str) -> str:
    return f"{entry.replace(':', '-')}-{workload.replace(' ', '-')}"
