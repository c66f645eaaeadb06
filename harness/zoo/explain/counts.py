"""Counts of a server under load, parsed from the tools' output. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zoo.core.samples import ThreadTimes, is_jit_compiler
from zoo.explain.stacks import Stack

SUMMARY_LINE = re.compile(
    r"^ *[0-9.]+ +[0-9.]+ +[0-9]+ +(?P<calls>[0-9]+)(?: +[0-9]+)? +(?P<name>[a-z_0-9]+)$", re.MULTILINE
)
GC_THREAD = re.compile(r"^(GC Thread|G1 |ParGC|Z(Driver|Worker|Director)|Shenandoah|VM Thread$)")
"""Names of threads that collect garbage. The VM thread does so itself under the Serial collector."""

PINNED = re.compile(r"^ *jdk\.VirtualThreadPinned +([0-9]+)", re.MULTILINE)
SCHEDULER = {name: re.compile(rf"\b{name} = ([0-9]+)") for name in ("size", "steals")}


def parse_strace_summary(text: str) -> dict[str, int]:
    """Return the number of calls by system call, from what `strace -c` prints."""
    return {found["name"]: int(found["calls"]) for found in SUMMARY_LINE.finditer(text) if found["name"] != "total"}


def parse_pinned(summary: str) -> int | None:
    """Return how often a virtual thread was pinned, from what `jfr summary` prints; None without such a line."""
    found = PINNED.search(summary)
    return int(found[1]) if found else None


def parse_allocations(events: str) -> int | None:
    """Return the bytes that all threads allocated during a recording, or None without such events.

    `events` is what `jfr print --json` prints of the ThreadAllocationStatistics: for each thread its bytes so far, at
    the start and at the end. A thread that started or ended meanwhile has only one figure and counts as 0. Virtual
    threads are part of their carriers.
    """
    by_thread: defaultdict[int, list[int]] = defaultdict(list)
    for event in json.loads(events or "{}").get("recording", {}).get("events", []):
        values = event["values"]
        if thread := values["thread"]:
            by_thread[thread["osThreadId"]].append(values["allocated"])
    return sum(max(seen) - min(seen) for seen in by_thread.values()) if by_thread else None


@dataclass(frozen=True)
class Scheduler:
    """Carrier threads of virtual threads, and the tasks that they have stolen from each other since the start."""

    carriers: int
    steals: int


def parse_scheduler(text: str) -> Scheduler | None:
    """Parse what `jcmd PID Thread.vthread_scheduler` prints (JDK 24 and later); None without virtual threads."""
    found = {name: pattern.search(text) for name, pattern in SCHEDULER.items()}
    size, steals = found["size"], found["steals"]
    return Scheduler(int(size[1]), int(steals[1])) if size and steals else None


def contended_classes(stacks: Mapping[Stack, float]) -> Counter[str]:
    """Return the number of contended acquisitions by class of lock, from async-profiler's profile of locks."""
    found: Counter[str] = Counter()
    for stack, times in stacks.items():
        found[stack[-1].replace("/", ".")] += int(times)
    return found


@dataclass(frozen=True)
class UseByKind:
    """CPU time and run-queue wait of a server's threads between two readings, in seconds.

    `requests_wait_s` covers all threads but those of the JIT compiler and the garbage collector.
    """

    cpu_s: float
    gc_s: float
    jit_s: float
    requests_wait_s: float
    jit_wait_s: float


def use_by_kind(before: Sequence[ThreadTimes], after: Sequence[ThreadTimes]) -> UseByKind | None:
    """Return the use between two readings; None if the kernel has no such times.

    A thread that started in between counts from 0, and one that ended in between is missing.
    """
    if not before or not after:
        return None
    earlier = {(each.id, each.name): each for each in before}
    cpu = {"gc": 0.0, "jit": 0.0, "requests": 0.0}
    wait = dict(cpu)
    for each in after:
        kind = "jit" if is_jit_compiler(each.name) else "gc" if GC_THREAD.match(each.name) else "requests"
        first = earlier.get((each.id, each.name))
        cpu[kind] += each.cpu_s - (first.cpu_s if first else 0.0)
        wait[kind] += each.waited_s - (first.waited_s if first else 0.0)
    return UseByKind(sum(cpu.values()), cpu["gc"], cpu["jit"], wait["requests"], wait["jit"])
