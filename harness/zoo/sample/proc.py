"""Memory, CPU and threads of a process and its children."""

import os
import re
from dataclasses import dataclass
from typing import NamedTuple

import psutil
from pydantic import BaseModel, ConfigDict

from zoo.host.files import read_text

PROC = os.environ.get("ZOO_PROC", "/proc")
"""Path of the /proc that shows the processes: a container that watches its host's processes mounts it elsewhere."""
psutil.PROCFS_PATH = PROC
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
TICKS = os.sysconf("SC_CLK_TCK")
DEAD = ("Z", "X", "x")


class Usage(NamedTuple):
    """Current resource use of one process."""

    rss_kb: int
    cpu_s: float
    threads: int


class Snapshot(BaseModel):
    """Sums over a process and its living children; None for values that are not known.

    `cpu_s` includes children that have ended and were waited for. `hwm_kb` is None for several processes, because their
    peaks may have been at different times. Fields that begin with `thread_`, `heap_` or `lock_` come only from a JVM
    that was started for them, and cover that JVM alone.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    processes: int
    rss_kb: int
    cpu_s: float
    threads: int
    hwm_kb: int | None = None
    pss_kb: int | None = None
    anon_kb: int | None = None
    thread_reserved_kb: int | None = None
    thread_committed_kb: int | None = None
    heap_used_kb: int | None = None
    lock_waits: int | None = None


@dataclass(frozen=True)
class Stat:
    """The relevant fields of /proc/PID/stat."""

    state: str
    parent: int
    cpu_ticks: int
    threads: int


def parse_stat(text: str) -> Stat | None:
    """Parse /proc/PID/stat; None if it is incomplete.

    Fields are counted from the last parenthesis, because the command's name may contain spaces and parentheses.
    """
    fields = text.rpartition(")")[2].split()
    if len(fields) < 18:
        return None
    try:
        return Stat(fields[0], int(fields[1]), sum(int(field) for field in fields[11:15]), int(fields[17]))
    except ValueError:
        return None


def parse_statm(text: str) -> int | None:
    """Return the resident memory in kB from /proc/PID/statm."""
    fields = text.split()
    return int(fields[1]) * PAGE_KB if len(fields) > 1 and fields[1].isdecimal() else None


def parse_fields(text: str) -> dict[str, int]:
    """Parse the `Name: number` lines of status and smaps_rollup."""
    found = re.findall(r"^(\w+):[ \t]+([0-9]+)(?: kB)?[ \t]*$", text, re.MULTILINE | re.ASCII)
    return {name: int(number) for name, number in found}


def snapshot(pid: int, deep: bool = False) -> Snapshot:
    """Read a process and its children; raise ProcessLookupError if the process has ended.

    `deep` adds PSS and anonymous memory. It takes about 9 ms per GiB, so use it only at the ends of a phase.
    """
    total: Snapshot | None = None
    for member in tree(pid):
        one = _read_one(member, deep)
        if one is not None:
            total = _add(total, one) if total else one
        elif member == pid:
            break
    if total is None:
        raise ProcessLookupError(f"process {pid} has ended")
    return total


def tree(pid: int) -> list[int]:
    """Return the process, then its living descendants. This reads every process of the host and takes a few ms."""
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return [pid]


def usage(pid: int) -> Usage | None:
    """Return what a process uses now; None if it has ended, even if nobody has waited for it yet."""
    stat = parse_stat(read_text(f"{PROC}/{pid}/stat"))
    rss_kb = parse_statm(read_text(f"{PROC}/{pid}/statm"))
    if stat is None or rss_kb is None or stat.state in DEAD:
        return None
    return Usage(rss_kb, stat.cpu_ticks / TICKS, stat.threads)


def _read_one(pid: int, deep: bool) -> Snapshot | None:
    used = usage(pid)
    if used is None:
        return None
    rollup = parse_fields(read_text(f"{PROC}/{pid}/smaps_rollup")) if deep else {}
    return Snapshot(
        processes=1,
        **used._asdict(),
        hwm_kb=parse_fields(read_text(f"{PROC}/{pid}/status")).get("VmHWM"),
        pss_kb=rollup.get("Pss"),
        anon_kb=rollup.get("Anonymous"),
    )


def _add(first: Snapshot, second: Snapshot) -> Snapshot:
    """Add two snapshots; a value known for only one of them is kept."""
    total = first.model_dump()
    for name, value in second.model_dump().items():
        if value is not None:
            total[name] = value if total[name] is None else total[name] + value
    return Snapshot(**{**total, "hwm_kb": None})
