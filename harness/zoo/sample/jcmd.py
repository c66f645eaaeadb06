"""What a JVM reports to the tools of its own JDK: its flags, its memory, and how often threads waited for a lock.

Native memory and lock waits are read only from JVMs that were started for it with -XX:NativeMemoryTracking or
-XX:FlightRecorderOptions: a recording costs time, and jcmd starts a thread that
the next window would see.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from zoo.host import run_lock
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


NMT_FLAG = b"-XX:NativeMemoryTracking="
THREADS = re.compile(r"^-\s+Thread \(reserved=(\d+)KB, committed=(\d+)KB\)", re.MULTILINE)
HEAPS = re.compile(
    r"^ *(?:garbage-first heap|PSYoungGen|ParOldGen|DefNew|def new generation|Tenured|tenured generation) .*?"
    r"\bused (\d+)K",
    re.MULTILINE | re.IGNORECASE,
)


class ThreadMemory(NamedTuple):
    """Of all platform threads, mostly their stacks: address space set aside, and what of it is in use."""

    reserved_kb: int
    committed_kb: int


def read_native_memory(pid: int) -> dict[str, int | None]:
    """Fields of a snapshot: none where the process is no JVM that keeps account of it, or its JDK has no jcmd beside
    it; without those of threads where jcmd does not say them in a way known here."""
    if not started_with(pid, NMT_FLAG):
        return {}
    summary, heap = said(pid, "VM.native_memory", "summary"), said(pid, "GC.heap_info")
    if summary is None or heap is None:
        return {}
    threads = parse_native_memory(summary)
    known = {"thread_reserved_kb": threads.reserved_kb, "thread_committed_kb": threads.committed_kb} if threads else {}
    return {**known, "heap_used_kb": heap_used(heap)}


def parse_native_memory(summary: str) -> ThreadMemory | None:
    """From what `jcmd PID VM.native_memory summary` prints."""
    found = THREADS.search(summary)
    return ThreadMemory(int(found[1]), int(found[2])) if found else None


def heap_used(info: str) -> int | None:
    """kB in all generations, from what `jcmd PID GC.heap_info` prints; None of another collector than G1, Serial and
    Parallel."""
    found = HEAPS.findall(info)
    return sum(map(int, found)) if found else None


JFR_FLAG = b"-XX:FlightRecorderOptions"
RECORDING = "name=zoo-lock-waits"
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


def count_lock_waits(pid: int) -> None:
    """Count from now on; nothing where the JVM was not started for it."""
    if started_with(pid, JFR_FLAG):
        said(pid, "JFR.stop", RECORDING)
        said(pid, "JFR.start", RECORDING, "settings=none", "dumponexit=false", *SETTINGS)


def read_lock_waits(pid: int) -> int | None:
    """Since `count_lock_waits`; None where nothing was recorded."""
    if not started_with(pid, JFR_FLAG):
        return None
    with run_lock.scratch_folder("jfr") as folder:
        written = Path(folder, "recording.jfr")
        told = said(pid, "JFR.dump", RECORDING, f"filename={written}")
        return _waits(pid, written) if told is not None and written.exists() else None


def _waits(pid: int, recording: Path) -> int | None:
    """None where its JDK has no `jfr`, or that cannot read the recording."""
    jfr = beside(pid, "jfr")
    if jfr is None:
        return None
    words = [str(jfr), "print", "--events", ",".join(EVENTS), str(recording)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as printing:
        assert printing.stdout is not None
        found = parse_lock_waits(printing.stdout)
    return found if printing.returncode == 0 else None


def parse_lock_waits(printed: Iterable[str]) -> int:
    """How many are among the lines of `jfr print`."""
    return sum(WAIT.match(line) is not None for line in printed)
