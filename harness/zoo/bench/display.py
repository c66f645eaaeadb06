"""The display of a run, and the live figures of a load; the display for a terminal is in `zoo.cli.display`."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from zoo.core.record import Record
from zoo.host.files import read_text
from zoo.sample.proc import parse_statm

EVERY_S = 1.0


class Display:
    """A display of what runs, how far it is and how long it will take. This one shows nothing."""

    def line(self, text: str) -> None:
        """Print a line."""

    def status(self, what: str) -> AbstractContextManager[object]:
        """Show the current activity for as long as the context lasts."""
        return nullcontext()

    def progress(self, seconds: float, cells: int = 0) -> AbstractContextManager[object]:
        """Show the time left of these seconds, and the number of the current cell, for as long as the context lasts."""
        return nullcontext()

    def reached(self, seconds: float) -> None:
        """Count this many seconds of the estimate as done, however long they took."""

    def phase(self, where: str, what: str) -> None:
        """Show the current step, and the server it applies to."""

    def live(self, figures: str) -> None:
        """Show the current figures of this phase's load."""

    def record(self, record: Record) -> None:
        """Show a finished cell."""


class LiveFigures:
    """Requests per second of one load and the memory of its server, read from /proc and not stored.

    A figure is None if it cannot be read.
    wrk prints nothing until it ends, but the kernel counts the bytes that its processes read. `answer_bytes` is the
    length of a response with its headers, or None while it is not known.
    """

    rps: float | None = None
    rss_mb: float | None = None

    def __init__(self, generator: Callable[[], list[int]], server: int | None, answer_bytes: float | None) -> None:
        self._generator = generator
        self._server = server
        self._answer_bytes = answer_bytes
        self._last: tuple[float, dict[int, int]] | None = None

    def read(self, elapsed: float) -> bool:
        """Update the figures once a second; return False if it is too early for that."""
        if self._last is not None and elapsed - self._last[0] < EVERY_S:
            return False
        before, self._last = self._last, (elapsed, {pid: n for pid in self._generator() if (n := bytes_read(pid))})
        if before is None:
            return False
        self.rps, self.rss_mb = self._rate(before, self._last), self._memory()
        return True

    def __str__(self) -> str:
        """Return the figures, for example `51,234 req/s, 78 MB`."""
        rate = None if self.rps is None else f"{self.rps:,.0f} req/s"
        memory = None if self.rss_mb is None else f"{self.rss_mb:,.0f} MB"
        return ", ".join(filter(None, [rate, memory]))

    def _rate(self, first: tuple[float, dict[int, int]], last: tuple[float, dict[int, int]]) -> float | None:
        shared = first[1].keys() & last[1].keys()
        if not shared or not self._answer_bytes:
            return None
        return sum(last[1][pid] - first[1][pid] for pid in shared) / self._answer_bytes / (last[0] - first[0])

    def _memory(self) -> float | None:
        kb = parse_statm(read_text(f"/proc/{self._server}/statm")) if self._server else None
        return None if kb is None else kb / 1024


def bytes_read(pid: int) -> int | None:
    """Return the number of bytes that a process and its threads have read from files and sockets."""
    found = re.search(r"^rchar: (\d+)$", read_text(f"/proc/{pid}/io"), re.MULTILINE)
    return int(found[1]) if found else None
