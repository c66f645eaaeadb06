"""What is stored of a soak: servers loaded for a long time, looked at again and again while they rest."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from zoo.model.data import Data
from zoo.model.run_facts import RunFacts

PROTOCOL = 1
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
    protocol: int = PROTOCOL
    jdk: str | None
    minutes: float
    builds: dict[str, str] = Field(description="the hash of each server's sources")
    marks: dict[str, list[Mark]] = Field(description="by entry")
    ended: dict[str, str] = Field(default={}, description="why an entry that did not last ended")
