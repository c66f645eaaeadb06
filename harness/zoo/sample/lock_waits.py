"""How often threads waited for a lock, as JFR counts it in a JVM that was started with -XX:FlightRecorderOptions.

Other JVMs are not asked: a recording costs them time, and jcmd starts a thread in them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from zoo.host import run_lock
from zoo.sample import jcmd

FLAG = b"-XX:FlightRecorderOptions"
NAME = "name=zoo-lock-waits"
EVENTS = ("jdk.JavaMonitorEnter", "jdk.ThreadPark")
SETTINGS = [
    f"+{event}#{setting}" for event in EVENTS for setting in ("enabled=true", "threshold=0ns", "stackTrace=false")
]
WAIT = re.compile(
    r"^jdk\.JavaMonitorEnter \{"
    r"|^ +parkedClass = java\.util\.concurrent\.locks\.(?:Reentrant|ReentrantReadWrite|Stamped)Lock\b"
)
"""A wait for a monitor, or for one of the library's locks. A thread that waits for work parks on a condition, which is
of another class."""


def begin(pid: int) -> None:
    """Count from now on; nothing where the JVM was not started for it."""
    if jcmd.started_with(pid, FLAG):
        jcmd.said(pid, "JFR.stop", NAME)
        jcmd.said(pid, "JFR.start", NAME, "settings=none", "dumponexit=false", *SETTINGS)


def counted(pid: int) -> int | None:
    """Since `begin`; None where nothing was recorded."""
    if not jcmd.started_with(pid, FLAG):
        return None
    with run_lock.scratch_folder("jfr") as folder:
        written = Path(folder, "recording.jfr")
        told = jcmd.said(pid, "JFR.dump", NAME, f"filename={written}")
        return _waits(pid, written) if told is not None and written.exists() else None


def _waits(pid: int, recording: Path) -> int | None:
    """None where its JDK has no `jfr`, or that cannot read the recording."""
    jfr = jcmd.beside(pid, "jfr")
    if jfr is None:
        return None
    words = [str(jfr), "print", "--events", ",".join(EVENTS), str(recording)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as printing:
        assert printing.stdout is not None
        found = waits(printing.stdout)
    return found if printing.returncode == 0 else None


def waits(printed: Iterable[str]) -> int:
    """How many are among the lines of `jfr print`."""
    return sum(WAIT.match(line) is not None for line in printed)
