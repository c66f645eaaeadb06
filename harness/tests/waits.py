"""Waits that end when something is observed, instead of after the time it should have taken."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PATIENCE_S = 60.0
"""Seconds after which a wait gives up. Even a busy machine is faster."""


class Enough(Exception):
    """Exception that a test raises in `on_tick` once it has seen what it waited for."""


def comes_true(condition: Callable[[], object]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def until(condition: Callable[[], object]) -> None:
    assert comes_true(condition), f"still not so after {PATIENCE_S:.0f} s"


def stopping(pids: Callable[[], Iterable[int]], enough: Callable[[], object]) -> Callable[[float], None]:
    """Return an `on_tick` that makes wrk end its load as soon as `enough` returns true.

    Ctrl-C makes wrk end and report. wrk handles it only while its threads run, and may miss one that comes just before
    it sleeps, so each tick sends it again.
    """

    def on_tick(elapsed: float) -> None:
        if enough():
            for pid in pids():
                if _listens_to_ctrl_c(pid):
                    os.kill(pid, signal.SIGINT)

    return on_tick


def _listens_to_ctrl_c(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return False  # it has ended
    caught = re.search(r"^SigCgt:\t([0-9a-f]+)$", status, re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (signal.SIGINT - 1) & 1)
