"""The limits that control groups put on this process (versions 1 and 2)."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from zoo.model.host import CgroupLimits

# Version 1 writes "no limit" as the largest multiple of the page size.
UNLIMITED_FROM = 1 << 60

MOUNTS = "/proc/self/mountinfo"

N = TypeVar("N", int, float)
Reader = Callable[[str], str | None]
"""Returns a file's text, or None where there is no such file."""


@dataclass(frozen=True)
class Mount:
    """A mounted hierarchy of control groups; `controllers` is empty for version 2."""

    root: str
    point: str
    controllers: frozenset[str]


def read_text(path: str | Path) -> str:
    """Return a file's text; empty where it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def parse_amount(text: str | None) -> int | None:
    """Return the number in a limit file; `max`, -1 and version 1's huge number are no limit."""
    word = (text or "").strip()
    if not (word.isascii() and word.isdigit()):
        return None
    number = int(word)
    return number if number < UNLIMITED_FROM else None


def parse_cpu_max(text: str | None) -> float | None:
    """Version 2's `cpu.max`: `quota period` or `max period`."""
    words = (text or "").split()
    return _cpus(words[0], words[1]) if len(words) == 2 else None


def read_cgroup(read: Reader = read_text) -> CgroupLimits:
    """Return the limits in force on this process: the tightest from its group up to the root that is visible."""

    def amounts(controller: str, *names: str) -> list[int | None]:
        return [parse_amount(read(f"{folder}/{name}")) for folder in levels(controller, read=read) for name in names]

    cpus: list[float | None] = []
    for folder in levels("cpu", read=read):
        quota, period = read(f"{folder}/cpu.cfs_quota_us"), read(f"{folder}/cpu.cfs_period_us")
        cpus += [parse_cpu_max(read(f"{folder}/cpu.max")), _cpus(quota or "", period or "")]
    memory = _least(amounts("memory", "memory.max", "memory.limit_in_bytes"))
    return CgroupLimits(
        version=_version(_mounts(read)),
        memory_kb=None if memory is None else memory // 1024,
        cpus=_least(cpus),
        pids=_least(amounts("pids", "pids.max")),
    )


def levels(controller: str, pid: int | None = None, read: Reader = read_text) -> list[str]:
    """List the folders of a process's group and of its visible parents, the group first; this process without `pid`."""
    lines = [line.split(":", 2) for line in (read(f"/proc/{pid or 'self'}/cgroup") or "").splitlines()]
    # version 2 has no controllers on its line, and so the empty name
    paths = {name: words[2] for words in lines if len(words) == 3 for name in words[1].split(",")}
    folders: list[str] = []
    for mount in _mounts(read):
        name = controller if mount.controllers else ""
        if name not in paths or (mount.controllers and controller not in mount.controllers):
            continue
        inside = PurePosixPath(paths[name])
        # In a container the path may be the host's, while the mount shows only the container's part.
        if inside.is_relative_to(mount.root):
            inside = inside.relative_to(mount.root)
        parts = [part for part in inside.parts if part not in ("/", "..")]
        folders += ["/".join([mount.point, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return folders


def _mounts(read: Reader) -> list[Mount]:
    found = []
    for line in (read(MOUNTS) or "").splitlines():
        before, _, after = line.partition(" - ")
        left, right = before.split(), after.split()
        if len(left) < 5 or len(right) < 3 or right[0] not in ("cgroup", "cgroup2"):
            continue
        options = frozenset(right[2].split(",")) if right[0] == "cgroup" else frozenset()
        found.append(Mount(_unescape(left[3]), _unescape(left[4]), options))
    return found


def _version(mounts: list[Mount]) -> str | None:
    """Return `v1`, `v2`, or `hybrid`: controllers under version 1, version 2 mounted next to them."""
    v1 = any(mount.controllers & {"memory", "cpu", "pids"} for mount in mounts)
    v2 = any(not mount.controllers for mount in mounts)
    return "hybrid" if v1 and v2 else "v1" if v1 else "v2" if v2 else None


def _cpus(quota: str, period: str) -> float | None:
    amount, per = parse_amount(quota), parse_amount(period)
    return amount / per if amount and per else None


def _least(values: Sequence[N | None]) -> N | None:
    return min((value for value in values if value is not None), default=None)


def _unescape(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), path)


def usable_cpus(limits: CgroupLimits) -> float | None:
    """Return the CPUs this process may use, by affinity and by quota."""
    return _least([float(len(os.sched_getaffinity(0))), limits.cpus])
