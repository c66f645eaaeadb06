"""Carries out a command of `zoo` as a process of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo import COMMAND
from zoo.host.interrupts import interruptible

INTERRUPTED = 130


def run(words: Sequence[str], env: Mapping[str, str], root: Path) -> int:
    """Its exit code. Ctrl-C and SIGTERM end it, and are waited for: it has servers of its own to stop.

    It has a process group of its own, so that Ctrl-C in a terminal reaches it once and through this process alone.
    """
    command = [*COMMAND, *words]
    child = subprocess.Popen(command, cwd=root, env={**os.environ, **env}, stdin=subprocess.DEVNULL, process_group=0)
    with interruptible():
        try:
            return child.wait()
        except KeyboardInterrupt:
            child.terminate()
            child.wait()
            return INTERRUPTED
