"""What a session tells of its steps to whoever shows them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from zoo.measure.live_figures import Beat
from zoo.model.record import Record


class Reporter(Protocol):
    """Told of each step of a session."""

    def phase(self, where: str, what: str) -> None: ...
    def tick(self, seconds: float) -> None:
        """So many seconds of the estimate are done since the last call."""
        ...

    def live(self, beat: Beat) -> None:
        """What the load of this phase does now."""
        ...

    def record(self, record: Record) -> None: ...


class Follower(Reporter, Protocol):
    """A reporter that knows how long all of it takes."""

    def reached(self, seconds: float) -> None:
        """So much of the estimate is behind, however long it took."""
        ...


Follow = Callable[[float], AbstractContextManager[Follower]]
"""Begins to follow a run of so many seconds."""
