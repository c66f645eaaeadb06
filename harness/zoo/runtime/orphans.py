"""Containers that outlive their engine: their processes are found by a mark in their environment, and ended."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

MARK = "ZOO_CONTAINER"
"""A variable that every container of a run gets, with its name; names begin with the run's own random word."""


def end(names: str, within_s: float = 5.0) -> None:
    """SIGKILL to what runs in containers whose names begin so, where this kernel runs it and lets us.

    Returns when it is gone; with processes of others it has nothing to do, as no other has the mark.
    """
    deadline = time.monotonic() + within_s
    while _signalled(f"{MARK}={names}".encode()) and time.monotonic() < deadline:
        time.sleep(0.05)


def _signalled(mark: bytes) -> bool:
    """Whether there was one to signal. By a handle: the number may be another process's by then."""
    found = False
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            handle = os.pidfd_open(int(folder.name))
            try:
                if any(word.startswith(mark) for word in (folder / "environ").read_bytes().split(b"\0")):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    found = True
            finally:
                os.close(handle)
    return found
