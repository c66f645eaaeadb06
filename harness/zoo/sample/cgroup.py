"""CPU and memory that the control group of a container used, for versions 1 and 2.

Inside a container, /sys/fs/cgroup shows the container's own group. Read through the container's root, the files are
therefore the same from the host and from a process that joined the container's PID namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from zoo.core.measurement import ContainerUse, TaskLimit
from zoo.host.cgroup import group_folders, parse_amount
from zoo.host.files import read_text
from zoo.sample.proc import PROC

NANO, MICRO = 1e9, 1e6


def container_use(pid: int) -> ContainerUse | None:
    """Return what a container has used since it started; None if its files cannot be read.

    `pid` is a process whose root is the container's.
    """
    return read_use(f"{PROC}/{pid}/root/sys/fs/cgroup")


def read_use(root: str) -> ContainerUse | None:
    """Return what the group mounted at `root` has used; a figure is None if the kernel does not report it."""
    return (
        _read_v2(root) if read_text(f"{root}/cgroup.controllers") or read_text(f"{root}/cpu.stat") else _read_v1(root)
    )


def task_limit(pid: int, read: Callable[[str], str | None] = read_text) -> TaskLimit | None:
    """Return the lowest limit of processes and threads among a process's control groups; None if there is none.

    Inside a container the groups are visible only below the container's root.
    """
    inside = f"{PROC}/{pid}/root/sys/fs/cgroup"
    limits = {}
    for folder in (*group_folders("pids", pid, read), inside, f"{inside}/pids"):
        most = parse_amount(read(f"{folder}/pids.max"))
        if most is not None:
            refused = parse_keys(read(f"{folder}/pids.events") or "").get("max", 0)
            limits[most] = TaskLimit(most=most, refused=refused)
    return limits[min(limits)] if limits else None


def parse_keys(text: str) -> dict[str, int]:
    """Parse lines of `name number`, for example those of memory.stat and cpu.stat."""
    pairs = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in pairs if len(words) == 2 and words[1].isdecimal()}


@dataclass(frozen=True)
class Periods:
    """Number of CPU quota periods in which a group had work, and of those in which the quota throttled it."""

    all: int
    throttled: int


def quota_periods(folders: Iterable[str], read: Callable[[str], str | None] = read_text) -> dict[str, Periods]:
    """Return the periods so far of each group that has counters for them, by folder."""
    counters = {folder: parse_keys(read(f"{folder}/cpu.stat") or "") for folder in folders}
    return {
        folder: Periods(counted["nr_periods"], counted["nr_throttled"])
        for folder, counted in counters.items()
        if {"nr_periods", "nr_throttled"} <= counted.keys()
    }


def throttled_share(before: Mapping[str, Periods], after: Mapping[str, Periods]) -> float | None:
    """Return the highest share of throttled periods among these groups; None if none of them has counters.

    A parent's quota does not show in the counters of the groups below it, so every level counts.
    """
    spans = [
        Periods(after[folder].all - first.all, after[folder].throttled - first.throttled)
        for folder, first in before.items()
        if folder in after
    ]
    return max((min(1.0, span.throttled / span.all) if span.all > 0 else 0.0 for span in spans), default=None)


def _read_v2(root: str) -> ContainerUse | None:
    cpu, memory = parse_keys(read_text(f"{root}/cpu.stat")), parse_keys(read_text(f"{root}/memory.stat"))
    return ContainerUse(
        version="v2",
        cpu_s=_divide(cpu.get("usage_usec"), MICRO),
        memory_kb=_kb(parse_amount(read_text(f"{root}/memory.current"))),
        memory_peak_kb=_kb(parse_amount(read_text(f"{root}/memory.peak"))),
        anon_kb=_kb(memory.get("anon")),
        socket_kb=_kb(memory.get("sock")),
        throttled_s=_divide(cpu.get("throttled_usec"), MICRO),
    )


def _read_v1(root: str) -> ContainerUse | None:
    cpu = parse_amount(read_text(f"{root}/cpuacct/cpuacct.usage"))
    current = parse_amount(read_text(f"{root}/memory/memory.usage_in_bytes"))
    if cpu is None and current is None:
        return None
    memory = parse_keys(read_text(f"{root}/memory/memory.stat"))
    return ContainerUse(
        version="v1",
        cpu_s=_divide(cpu, NANO),
        memory_kb=_kb(current),
        memory_peak_kb=_kb(parse_amount(read_text(f"{root}/memory/memory.max_usage_in_bytes"))),
        anon_kb=_kb(memory.get("rss")),
        socket_kb=_kb(parse_amount(read_text(f"{root}/memory/memory.kmem.tcp.usage_in_bytes"))),
        throttled_s=_divide(parse_keys(read_text(f"{root}/cpu/cpu.stat")).get("throttled_time"), NANO),
    )


def _kb(number: int | None) -> int | None:
    return None if number is None else number // 1024


def _divide(number: int | None, unit: float) -> float | None:
    return None if number is None else number / unit
