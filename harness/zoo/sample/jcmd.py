"""What a JVM answers to the jcmd of its own JDK."""

from __future__ import annotations

import subprocess
from pathlib import Path

from zoo.sample.proc import PROC

LIMIT_S = 10.0


def said(pid: int, *words: str) -> str | None:
    """What `jcmd PID words` prints; None where it does not work, or the process is no JVM with a jcmd beside it."""
    try:
        jcmd = Path(f"{PROC}/{pid}/exe").resolve(strict=True).with_name("jcmd")
        done = subprocess.run([jcmd, str(pid), *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
