"""Memory, CPU and threads of a process and its children."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict

PROC = os.environ.get("ZOO_PROC", "/proc")
"""Where the processes are seen: a container that watches those of its host has the host's /proc elsewhere."""
psutil.PROCFS_PATH = PROC
PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024
TICKS = os.sysconf("SC_CLK_TCK")
DEAD = ("Z", "X", "x")


class Snapshot(BaseModel):
    """Sums over a process and its living children; None where it is not known.

    `cpu_s` contains children that have ended and were waited for. `hwm_kb` is None for several processes: their peaks
    need not have been at the same time. What begins with `thread_`, `heap_` or `lock_` only a JVM tells that was
    started for it, of itself alone.
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
    """The fields of /proc/PID/stat that matter."""

    state: str
    parent: int
    cpu_ticks: int
    threads: int


def parse_stat(text: str) -> Stat | None:
    """The command's name may hold spaces and parentheses: fields are counted from the last one."""
    fields = text.rpartition(")")[2].split()
    if len(fields) < 18:
        return None
    try:
        return Stat(fields[0], int(fields[1]), sum(int(field) for field in fields[11:15]), int(fields[17]))
    except ValueError:
        return None


def parse_statm(text: str) -> int | None:
    """Resident kB."""
    fields = text.split()
    return int(fields[1]) * PAGE_KB if len(fields) > 1 and fields[1].isdecimal() else None


def parse_fields(text: str) -> dict[str, int]:
    """`Name: number` lines of status and smaps_rollup."""
    found = re.findall(r"^(\w+):[ \t]+([0-9]+)(?: kB)?[ \t]*$", text, re.MULTILINE | re.ASCII)
    return {name: int(number) for name, number in found}


def snapshot(pid: int, deep: bool = False) -> Snapshot:
    """Raises ProcessLookupError when the process has ended.

    `deep` adds PSS and the anonymous part, about 9 ms a GiB, and belongs at the ends of a phase.
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
    """The process, then its living children and theirs. Looks at every process of the host: a few ms."""
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return [pid]


def reset_peak(pid: int) -> bool:
    """Sets VmHWM to what is resident now; False where that is not possible."""
    done = [_write(f"{PROC}/{member}/clear_refs", "5") for member in tree(pid)]
    return all(done)


def _read_one(pid: int, deep: bool) -> Snapshot | None:
    folder = f"{PROC}/{pid}"
    stat = parse_stat(read(f"{folder}/stat"))
    rss_kb = parse_statm(read(f"{folder}/statm"))
    if stat is None or rss_kb is None or stat.state in DEAD:
        return None
    rollup = parse_fields(read(f"{folder}/smaps_rollup")) if deep else {}
    return Snapshot(
        processes=1,
        rss_kb=rss_kb,
        cpu_s=stat.cpu_ticks / TICKS,
        threads=stat.threads,
        hwm_kb=parse_fields(read(f"{folder}/status")).get("VmHWM"),
        pss_kb=rollup.get("Pss"),
        anon_kb=rollup.get("Anonymous"),
    )


def _add(first: Snapshot, second: Snapshot) -> Snapshot:
    """A part that is not known of one leaves the other's."""
    total = first.model_dump()
    for name, value in second.model_dump().items():
        if value is not None:
            total[name] = value if total[name] is None else total[name] + value
    return Snapshot(**{**total, "hwm_kb": None})


def read(path: str) -> str:
    """A file's text; empty where it is gone or closed to us."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return _all(handle).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(handle)


def _all(handle: int) -> bytes:
    """A file of /proc gives its end as an empty read; most fit into the first."""
    parts = []
    while part := os.read(handle, 65_536):
        parts.append(part)
    return b"".join(parts)


def _write(path: str, text: str) -> bool:
    try:
        Path(path).write_text(text, encoding="ascii")
    except OSError:
        return False
    return True
