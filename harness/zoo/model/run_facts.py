"""What every kind of run tells of itself in its `run.json`."""

from __future__ import annotations

from pydantic import Field

from zoo.model.data import Measured
from zoo.model.host import HostFacts


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
