"""Time, as a session needs it."""

from __future__ import annotations

import time
from typing import Protocol

from zoo.host import run_metadata


class Clock(Protocol):
    """Replaced in tests."""

    def rest(self, seconds: float) -> None: ...
    def seconds(self) -> float:
        """Since some moment, and never back."""
        ...

    def now(self) -> str:
        """ISO 8601, in UTC."""
        ...


class RealClock:
    """This machine's."""

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def seconds(self) -> float:
        return time.monotonic()

    def now(self) -> str:
        return run_metadata.now()
