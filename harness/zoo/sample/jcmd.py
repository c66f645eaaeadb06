"""What a JVM answers to the jcmd of its own JDK."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from zoo.sample.proc import PROC

LIMIT_S = 10.0
FLAG_LINE = re.compile(r"^ *\w+ (\w+) *= (.*?) *\{[^{}]*\} \{[^{}]*\}$", re.MULTILINE)


def started_with(pid: int, flag: bytes) -> bool:
    """Whether this stands in the process's command line."""
    try:
        return flag in Path(f"{PROC}/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def command_line(pid: int) -> list[str] | None:
    """Return the words that a process was started with; None where they cannot be read."""
    try:
        text = Path(f"{PROC}/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return words(text)


def words(text: str) -> list[str] | None:
    """Return the words of a `/proc/PID/cmdline`; None of an empty one, as that of a process that has ended."""
    return text.rstrip("\0").split("\0") if text else None


def parse_flags(text: str) -> dict[str, str] | None:
    """Return value by name from what `jcmd PID VM.flags -all` prints; None of a JVM that prints something else."""
    return dict(FLAG_LINE.findall(text)) or None


def parallelism(text: str) -> int | None:
    """Return the carriers from what `jcmd PID Thread.vthread_scheduler` prints, which JDK 24 and later do."""
    found = re.search(r"\bparallelism = (\d+)", text)
    return int(found[1]) if found else None


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
