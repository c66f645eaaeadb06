"""What the control group of a container used: CPU and memory, versions 1 and 2.

Inside a container /sys/fs/cgroup shows its own group, so the same files are read from the host, through the
container's root, as from a process that joined its PID namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from zoo.host.cgroup import parse_amount
from zoo.sample.proc import PROC, read

NANO, MICRO = 1e9, 1e6


class CgroupUse(BaseModel):
    """Sums over all processes of the group since it was made; None where the kernel does not tell.

    `memory_kb` contains the page cache and the kernel's memory (`socket_kb` among it), so it is not RSS.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str
    cpu_s: float | None = None
    memory_kb: int | None = None
    memory_peak_kb: int | None = None
    anon_kb: int | None = None
    socket_kb: int | None = None
    throttled_s: float | None = None


def container_use(pid: int) -> CgroupUse | None:
    """Of the container whose root `pid` has; None where its files are closed to us."""
    return use(f"{PROC}/{pid}/root/sys/fs/cgroup")


def use(root: str) -> CgroupUse | None:
    """`root` is where the control groups are mounted."""
    return _second(root) if read(f"{root}/cgroup.controllers") or read(f"{root}/cpu.stat") else _first(root)


def parse_keys(text: str) -> dict[str, int]:
    """`name number` lines, as of memory.stat and cpu.stat."""
    pairs = (line.split() for line in text.splitlines())
    return {words[0]: int(words[1]) for words in pairs if len(words) == 2 and words[1].isdecimal()}


@dataclass(frozen=True)
class Periods:
    """Periods of a group's CPU quota in which it had work, and those in which the quota stopped it."""

    all: int
    throttled: int


def quota_periods(folders: Iterable[str], read: Callable[[str], str | None] = read) -> dict[str, Periods]:
    """Count the periods so far of each group that has a counter for them, by folder."""
    counters = {folder: parse_keys(read(f"{folder}/cpu.stat") or "") for folder in folders}
    return {
        folder: Periods(counted["nr_periods"], counted["nr_throttled"])
        for folder, counted in counters.items()
        if {"nr_periods", "nr_throttled"} <= counted.keys()
    }


def throttled_share(before: Mapping[str, Periods], after: Mapping[str, Periods]) -> float | None:
    """Return the highest share of periods in which the quota of one of these groups stopped it.

    A parent's quota does not show in the counters of the groups below it, so each level counts. None where no level
    has counters.
    """
    spans = [
        Periods(after[folder].all - first.all, after[folder].throttled - first.throttled)
        for folder, first in before.items()
        if folder in after
    ]
    return max((min(1.0, span.throttled / span.all) if span.all > 0 else 0.0 for span in spans), default=None)


def _second(root: str) -> CgroupUse | None:
    cpu, memory = parse_keys(read(f"{root}/cpu.stat")), parse_keys(read(f"{root}/memory.stat"))
    return CgroupUse(
        version="v2",
        cpu_s=_over(cpu.get("usage_usec"), MICRO),
        memory_kb=_kb(parse_amount(read(f"{root}/memory.current"))),
        memory_peak_kb=_kb(parse_amount(read(f"{root}/memory.peak"))),
        anon_kb=_kb(memory.get("anon")),
        socket_kb=_kb(memory.get("sock")),
        throttled_s=_over(cpu.get("throttled_usec"), MICRO),
    )


def _first(root: str) -> CgroupUse | None:
    cpu = parse_amount(read(f"{root}/cpuacct/cpuacct.usage"))
    current = parse_amount(read(f"{root}/memory/memory.usage_in_bytes"))
    if cpu is None and current is None:
        return None
    memory = parse_keys(read(f"{root}/memory/memory.stat"))
    return CgroupUse(
        version="v1",
        cpu_s=_over(cpu, NANO),
        memory_kb=_kb(current),
        memory_peak_kb=_kb(parse_amount(read(f"{root}/memory/memory.max_usage_in_bytes"))),
        anon_kb=_kb(memory.get("rss")),
        socket_kb=_kb(parse_amount(read(f"{root}/memory/memory.kmem.tcp.usage_in_bytes"))),
        throttled_s=_over(parse_keys(read(f"{root}/cpu/cpu.stat")).get("throttled_time"), NANO),
    )


def _kb(number: int | None) -> int | None:
    return None if number is None else number // 1024


def _over(number: int | None, unit: float) -> float | None:
    return None if number is None else number / unit
