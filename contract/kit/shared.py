"""What the tests of one entry share."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from kit.wire import Response, Wire, request


@dataclass
class LongSleep:
    """`/sleep` without a parameter, asked at the server's start and looked at last: its ten seconds cost nothing."""

    took: float = 0.0
    response: Response | None = None
    done: threading.Event = field(default_factory=threading.Event)

    def start(self, port: int) -> None:
        threading.Thread(target=self._ask, args=(port,), daemon=True).start()

    def _ask(self, port: int) -> None:
        asked = time.monotonic()
        try:
            with Wire(port) as wire:
                wire.send(request("/sleep"))
                self.response = wire.read(patience=30)
        except (AssertionError, OSError):
            return
        finally:
            self.took = time.monotonic() - asked
            self.done.set()


@dataclass(frozen=True)
class SmallPool:
    """An entry's process with few threads, and what it told first; only one test at a time asks it."""

    port: int
    threads: int
    backlog: int
    first_info: dict[str, Any]
