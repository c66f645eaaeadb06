"""The data model of a run of the JVM with no server."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from zoo.model.data import Measured
from zoo.model.run_facts import RunFacts

PROTOCOL = 2
"""Version of this measurement's protocol.

Since version 2 the JVM starts with variables that the harness chose, and compiles in the foreground where parked
threads are weighed.
"""


class JvmRecord(Measured):
    """What one set of flags gave; a figure a start."""

    kind: Literal["jvm"] = "jvm"
    protocol: int = PROTOCOL
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
    protocol: int = PROTOCOL
    jdk: str


def schema() -> dict[str, Any]:
    """JSON schema of `run.json` and of one line of `records.ndjson`."""
    return {"run": JvmRun.model_json_schema(), "record": JvmRecord.model_json_schema()}
