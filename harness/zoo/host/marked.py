"""Finds and ends processes by a variable of their environment, also when whoever started them is gone."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

RUN = "ZOO_LOCK"
"""A variable that every process of a run gets, with the lock that the run holds."""


def mark() -> dict[str, str]:
    """Return the variable by which what this process starts is found again; none where it holds no lock."""
    return {RUN: os.environ[RUN]} if RUN in os.environ else {}


def end(mark: str, within_s: float = 5.0) -> list[str]:
    """SIGKILL to what has a variable that begins so (`NAME=value`), where this kernel runs it and lets us; their names.

    Returns when it is gone.
    """
    deadline = time.monotonic() + within_s
    ended: dict[int, str] = {}
    while (found := _signalled(mark.encode())) and time.monotonic() < deadline:
        ended |= found
        time.sleep(0.05)
    return sorted(ended.values())


def _signalled(mark: bytes) -> dict[int, str]:
    """Names by number. By a handle: the number may be another process's by then."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            handle = os.pidfd_open(int(folder.name))
            try:
                if any(word.startswith(mark) for word in (folder / "environ").read_bytes().split(b"\0")):
                    name = (folder / "comm").read_text(encoding="utf-8", errors="replace").strip()
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    found[int(folder.name)] = name
            finally:
                os.close(handle)
    return found
