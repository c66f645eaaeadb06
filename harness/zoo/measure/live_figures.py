"""Live figures of a load, read from /proc while it runs: shown on the terminal, not stored."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from zoo.sample.proc import parse_statm

EVERY_S = 1.0


@dataclass(frozen=True)
class Beat:
    """None where it cannot be read."""

    rps: float | None
    rss_mb: float | None

    @property
    def text(self) -> str:
        """`51,234 req/s, 78 MB`"""
        rate = None if self.rps is None else f"{self.rps:,.0f} req/s"
        memory = None if self.rss_mb is None else f"{self.rss_mb:,.0f} MB"
        return ", ".join(filter(None, [rate, memory]))


class Pulse:
    """Follows one load: wrk is silent until its end, but the kernel counts the bytes that its processes read.

    `answer_bytes` is the length of an answer with its head, None while it is not known.
    """

    def __init__(self, generator: Callable[[], list[int]], server: int | None, answer_bytes: float | None) -> None:
        self._generator = generator
        self._server = server
        self._answer_bytes = answer_bytes
        self._last: tuple[float, dict[int, int]] | None = None

    def look(self, elapsed: float) -> Beat | None:
        """Once a second what happened in it; None at other times."""
        if self._last is not None and elapsed - self._last[0] < EVERY_S:
            return None
        before, self._last = self._last, (elapsed, {pid: n for pid in self._generator() if (n := bytes_read(pid))})
        return None if before is None else Beat(self._rate(before, self._last), self._memory())

    def _rate(self, first: tuple[float, dict[int, int]], last: tuple[float, dict[int, int]]) -> float | None:
        shared = first[1].keys() & last[1].keys()
        if not shared or not self._answer_bytes:
            return None
        return sum(last[1][pid] - first[1][pid] for pid in shared) / self._answer_bytes / (last[0] - first[0])

    def _memory(self) -> float | None:
        kb = parse_statm(_text(f"/proc/{self._server}/statm")) if self._server else None
        return None if kb is None else kb / 1024


def bytes_read(pid: int) -> int | None:
    """By a process and its threads, from files and sockets."""
    found = re.search(r"^rchar: (\d+)$", _text(f"/proc/{pid}/io"), re.MULTILINE)
    return int(found[1]) if found else None


def _text(path: str) -> str:
    """Empty where it may not be read, or when the process is gone."""
    try:
        return Path(path).read_text(encoding="ascii")
    except OSError:
        return ""
