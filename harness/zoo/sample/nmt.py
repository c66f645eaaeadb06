"""What a JVM says of its own memory to jcmd, where it was started with -XX:NativeMemoryTracking.

Other JVMs are not asked: jcmd starts a thread in them, which the next window would see.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from zoo.sample import jcmd

FLAG = b"-XX:NativeMemoryTracking="
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


def told(pid: int) -> dict[str, int | None]:
    """Fields of a snapshot: none where the process is no JVM that keeps account of it, or its JDK has no jcmd beside
    it; without those of threads where jcmd does not say them in a way known here."""
    if not jcmd.started_with(pid, FLAG):
        return {}
    summary, heap = jcmd.said(pid, "VM.native_memory", "summary"), jcmd.said(pid, "GC.heap_info")
    if summary is None or heap is None:
        return {}
    threads = parse(summary)
    known = {"thread_reserved_kb": threads.reserved_kb, "thread_committed_kb": threads.committed_kb} if threads else {}
    return {**known, "heap_used_kb": heap_used(heap)}


def parse(summary: str) -> ThreadMemory | None:
    """From what `jcmd PID VM.native_memory summary` prints."""
    found = THREADS.search(summary)
    return ThreadMemory(int(found[1]), int(found[2])) if found else None


def heap_used(info: str) -> int | None:
    """kB in all generations, from what `jcmd PID GC.heap_info` prints; None of another collector than G1, Serial and
    Parallel."""
    found = HEAPS.findall(info)
    return sum(map(int, found)) if found else None
