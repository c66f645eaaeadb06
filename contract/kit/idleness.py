"""Time in which a process does nothing. A busy machine makes a process slow, but its threads then wait for a core."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

SAMPLE_S = 0.05
MOST_S = 0.2
"""Seconds that two samples vouch for; if the machine delays a sample for longer, the process may have worked."""

SLEEPING, ENDED = "SI", "ZX"


class Idleness(threading.Thread):
    """Adds up the seconds in which all threads of a process of this host sleep, until the process ends."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._tasks = Path(f"/proc/{pid}/task")
        self.seconds = 0.0

    def run(self) -> None:
        sampled, slept = time.monotonic(), False
        while not (states := self._states()) <= set(ENDED):
            now, sleeps = time.monotonic(), states <= set(SLEEPING)
            if slept and sleeps:
                self.seconds += min(now - sampled, MOST_S)
            sampled, slept = now, sleeps
            time.sleep(SAMPLE_S)

    def _states(self) -> set[str]:
        """Return the states of the threads, as in proc(5); empty if the process is gone."""
        found = set()
        with suppress(OSError):  # the process has ended
            for task in list(self._tasks.iterdir()):
                with suppress(OSError):  # the thread has ended
                    stat = (task / "stat").read_text(encoding="utf-8", errors="replace")
                    found.add(stat.rpartition(")")[2].split()[0])
        return found
