"""Readings of a JVM through the tools of its JDK: its flags, its memory, and how often threads waited for a lock.

Native memory and lock waits are read only from JVMs that were started with -XX:NativeMemoryTracking or
-XX:FlightRecorderOptions. A recording costs time, and jcmd starts a thread in the JVM that the next window would see.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from zoo.host import run_lock
from zoo.host.files import read_text
from zoo.sample.proc import PROC

LIMIT_S = 20.0
FLAG_LINE = re.compile(r"^ *\w+ (\w+) *= (.*?) *\{[^{}]*\} \{[^{}]*\}$", re.MULTILINE)


def has_flag(pid: int, flag: str) -> bool:
    """Return whether a word of the process's command line begins with `flag`."""
    return any(word.startswith(flag) for word in command_line(pid) or ())


def command_line(pid: int) -> list[str] | None:
    """Return the words of a process's command line; None if it cannot be read."""
    return split_command_line(read_text(f"{PROC}/{pid}/cmdline"))


def split_command_line(text: str) -> list[str] | None:
    """Return the words of a `/proc/PID/cmdline`; None if it is empty, for example after the process has ended."""
    return text.rstrip("\0").split("\0") if text else None


def parse_flags(text: str) -> dict[str, str] | None:
    """Parse what `jcmd PID VM.flags -all` prints into values by name; None if a JVM prints something else."""
    return dict(FLAG_LINE.findall(text)) or None


def parse_parallelism(text: str) -> int | None:
    """Return the number of carrier threads that `jcmd PID Thread.vthread_scheduler` prints (JDK 24 and later)."""
    found = re.search(r"\bparallelism = (\d+)", text)
    return int(found[1]) if found else None


def jdk_tool(pid: int, tool: str) -> Path | None:
    """Return the path of a tool of the JDK that the process runs on; None if that JDK does not have it."""
    try:
        found = Path(f"{PROC}/{pid}/exe").resolve(strict=True).with_name(tool)
    except OSError:
        return None
    return found if found.exists() else None


def run_jcmd(pid: int, *words: str) -> str | None:
    """Return what `jcmd PID words` prints; None if it fails, or if the process is not a JVM whose JDK has jcmd."""
    jcmd = jdk_tool(pid, "jcmd")
    if jcmd is None:
        return None
    try:
        done = subprocess.run([jcmd, str(pid), *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


NMT_FLAG = "-XX:NativeMemoryTracking="
THREADS = re.compile(r"^-\s+Thread \(reserved=(\d+)KB, committed=(\d+)KB\)", re.MULTILINE)
HEAPS = re.compile(
    r"^ *(?:garbage-first heap|PSYoungGen|ParOldGen|DefNew|def new generation|Tenured|tenured generation) .*?"
    r"\bused (\d+)K",
    re.MULTILINE | re.IGNORECASE,
)


def read_native_memory(pid: int) -> dict[str, int | None]:
    """Return the fields of a snapshot that native memory tracking supplies.

    There are none if the process is not a JVM with that tracking, or if its JDK has no jcmd. The fields of threads are
    missing if jcmd prints them in an unknown format.
    """
    if not has_flag(pid, NMT_FLAG):
        return {}
    summary, heap = run_jcmd(pid, "VM.native_memory", "summary"), run_jcmd(pid, "GC.heap_info")
    if summary is None or heap is None:
        return {}
    return {**parse_native_memory(summary), "heap_used_kb": parse_heap_used(heap)}


def parse_native_memory(summary: str) -> dict[str, int]:
    """Parse the memory of platform threads, mostly stacks, from what `jcmd PID VM.native_memory summary` prints."""
    found = THREADS.search(summary)
    return {"thread_reserved_kb": int(found[1]), "thread_committed_kb": int(found[2])} if found else {}


def parse_heap_used(info: str) -> int | None:
    """Return the kB used in all generations, from what `jcmd PID GC.heap_info` prints.

    Return None for collectors other than G1, Serial and Parallel.
    """
    found = HEAPS.findall(info)
    return sum(map(int, found)) if found else None


JFR_FLAG = "-XX:FlightRecorderOptions"
RECORDING = "name=zoo-lock-waits"
EVENTS = ("jdk.JavaMonitorEnter", "jdk.ThreadPark")
SETTINGS = [
    f"+{event}#{setting}" for event in EVENTS for setting in ("enabled=true", "threshold=0ns", "stackTrace=false")
]
WAIT = re.compile(
    r"^jdk\.JavaMonitorEnter \{"
    r"|^ +parkedClass = java\.util\.concurrent\.locks\.(?:Reentrant|ReentrantReadWrite|Stamped)Lock\b"
)
"""Pattern of a wait for a monitor or for one of the class library's locks.

A thread that waits for work parks on a condition, which has another class.
"""


def count_lock_waits(pid: int) -> None:
    """Start counting lock waits; do nothing if the JVM was not started for it."""
    if has_flag(pid, JFR_FLAG):
        run_jcmd(pid, "JFR.stop", RECORDING)
        run_jcmd(pid, "JFR.start", RECORDING, "settings=none", "dumponexit=false", *SETTINGS)


def read_lock_waits(pid: int) -> int | None:
    """Return the number of lock waits since `count_lock_waits`; None if nothing was recorded."""
    if not has_flag(pid, JFR_FLAG):
        return None
    with run_lock.scratch_folder("jfr") as folder:
        written = Path(folder, "recording.jfr")
        printed = run_jcmd(pid, "JFR.dump", RECORDING, f"filename={written}")
        return _count_recorded_waits(pid, written) if printed is not None and written.exists() else None


def _count_recorded_waits(pid: int, recording: Path) -> int | None:
    """Return the lock waits in a recording; None if the process's JDK has no `jfr` or cannot read the recording."""
    jfr = jdk_tool(pid, "jfr")
    if jfr is None:
        return None
    words = [str(jfr), "print", "--events", ",".join(EVENTS), str(recording)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as printing:
        assert printing.stdout is not None
        found = parse_lock_waits(printing.stdout)
    return found if printing.returncode == 0 else None


def parse_lock_waits(printed: Iterable[str]) -> int:
    """Count the lock waits in the lines of `jfr print`."""
    return sum(WAIT.match(line) is not None for line in printed)
