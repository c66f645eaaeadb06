"""What a JVM answers to the jcmd of its own JDK."""

from __future__ import annotations

import subprocess
from pathlib import Path

from zoo.sample.proc import PROC

LIMIT_S = 10.0


def started_with(pid: int, flag: bytes) -> bool:
    """Whether this stands in the process's command line."""
    try:
        return flag in Path(f"{PROC}/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def beside(pid: int, tool: str) -> Path | None:
    """A tool of the JDK that the process runs on; None where it has none."""
    try:
        found = Path(f"{PROC}/{pid}/exe").resolve(strict=True).with_name(tool)
    except OSError:
        return None
    return found if found.exists() else None


def said(pid: int, *words: str) -> str | None:
    """What `jcmd PID words` prints; None where it does not work, or the process is no JVM with a jcmd beside it."""
    jcmd = beside(pid, "jcmd")
    if jcmd is None:
        return None
    try:
        done = subprocess.run([jcmd, str(pid), *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
