"""Waits for what is to be seen, instead of for a time in which it should have come."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PATIENCE_S = 60.0
"""What has not come by then does not come, on however busy a machine."""


class Enough(Exception):
    """Raised in `on_tick` by a test that has seen what it waited for."""


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
    """An `on_tick` that has wrk end its load as soon as there is enough of it.

    Ctrl-C makes wrk end and report. It listens to it only when its threads run, and may miss one just before it
    sleeps, so it is told again at each tick.
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
