"""The display of a session's steps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from zoo.measure.live_figures import Beat
from zoo.model.record import Record


class Reporter(Protocol):
    """Shows each step of a session."""

    def phase(self, where: str, what: str) -> None: ...
    def tick(self, seconds: float) -> None:
        """Count so many more seconds of the estimate as done."""
        ...

    def reached(self, seconds: float) -> None:
        """Count so much of the estimate as done in all, however long it took."""
        ...

    def live(self, beat: Beat) -> None:
        """Show what the load of this phase does now."""
        ...

    def record(self, record: Record) -> None: ...


Follow = Callable[[float], AbstractContextManager[Reporter]]
"""Begins to follow a run of so many seconds."""
