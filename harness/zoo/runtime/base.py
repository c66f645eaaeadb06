"""What every runtime offers: start an entry, say where to send and what to sample, stop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.catalog import Entry


class RuntimeFailure(Exception):
    """A server that did not start, crashed or would not stop; carries its log's last lines."""

    def __init__(self, kind: str, message: str, log_tail: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.log_tail = log_tail


@dataclass(frozen=True)
class Launch:
    """One start of an entry: its port, where its log goes, and what differs from the defaults."""

    entry: Entry
    port: int
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: tuple[str, ...] = ()


class Hosted(Protocol):
    """A started server."""

    @property
    def url(self) -> str: ...
    @property
    def pid(self) -> int: ...
    @property
    def ready_s(self) -> float:
        """Seconds from start to the line that says it listens."""
        ...

    def alive(self) -> bool: ...
    def log_tail(self, lines: int = 20) -> str: ...
    def stop(self, grace_s: float = 15.0) -> int | None:
        """End it and give its exit code; None when it had to be killed."""
        ...


class Runtime(Protocol):
    """Starts entries."""

    name: str

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> Hosted: ...
