"""The limits that control groups (versions 1 and 2) set for this process."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar

from zoo.core.host_facts import CgroupLimits
from zoo.host.files import read_text

# Version 1 writes "no limit" as the largest multiple of the page size.
UNLIMITED_FROM = 1 << 60

MOUNTS = "/proc/self/mountinfo"

N = TypeVar("N", int, float)
Reader = Callable[[str], str | None]
"""A function that returns a file's text, or None if there is no such file."""


@dataclass(frozen=True)
class Mount:
    """A mounted hierarchy of control groups; `controllers` is empty for version 2."""

    root: str
    point: str
    controllers: frozenset[str]


def parse_amount(text: str | None) -> int | None:
    """Return the number in a limit file; None for no limit: `max`, -1 and version 1's huge number."""
    word = (text or "").strip()
    if not (word.isascii() and word.isdigit()):
        return None
    number = int(word)
    return number if number < UNLIMITED_FROM else None


def parse_cpu_max(text: str | None) -> float | None:
    """Return the CPUs allowed by version 2's `cpu.max`, which is `quota period` or `max period`; None for no limit."""
    words = (text or "").split()
    return _quota_cpus(words[0], words[1]) if len(words) == 2 else None


def read_cgroup(read: Reader = read_text) -> CgroupLimits:
    """Return the limits in force for this process: the tightest from its group up to the visible root."""

    def amounts(controller: str, *names: str) -> list[int | None]:
        return [
            parse_amount(read(f"{folder}/{name}")) for folder in group_folders(controller, read=read) for name in names
        ]

    cpus: list[float | None] = []
    for folder in group_folders("cpu", read=read):
        quota, period = read(f"{folder}/cpu.cfs_quota_us"), read(f"{folder}/cpu.cfs_period_us")
        cpus += [parse_cpu_max(read(f"{folder}/cpu.max")), _quota_cpus(quota or "", period or "")]
    memory = _minimum(amounts("memory", "memory.max", "memory.limit_in_bytes"))
    return CgroupLimits(
        version=_version(_mounts(read)),
        memory_kb=None if memory is None else memory // 1024,
        cpus=_minimum(cpus),
        pids=_minimum(amounts("pids", "pids.max")),
    )


def group_folders(controller: str, pid: int | None = None, read: Reader = read_text) -> list[str]:
    """List the folders of a process's group and of its visible parents, the group first.

    Without `pid`, use this process.
    """
    lines = [line.split(":", 2) for line in (read(f"/proc/{pid or 'self'}/cgroup") or "").splitlines()]
    # version 2 lists no controllers on its line, which gives the empty name
    paths = {name: words[2] for words in lines if len(words) == 3 for name in words[1].split(",")}
    folders: list[str] = []
    for mount in _mounts(read):
        name = controller if mount.controllers else ""
        if name not in paths or (mount.controllers and controller not in mount.controllers):
            continue
        inside = PurePosixPath(paths[name])
        # In a container, the path may be the host's, while the mount shows only the container's part of it.
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
    """Return `v1`, `v2`, or `hybrid` if controllers use version 1 and version 2 is mounted next to them."""
    v1 = any(mount.controllers & {"memory", "cpu", "pids"} for mount in mounts)
    v2 = any(not mount.controllers for mount in mounts)
    return "hybrid" if v1 and v2 else "v1" if v1 else "v2" if v2 else None


def _quota_cpus(quota: str, period: str) -> float | None:
    amount, per = parse_amount(quota), parse_amount(period)
    return amount / per if amount and per else None


def _minimum(values: Sequence[N | None]) -> N | None:
    return min((value for value in values if value is not None), default=None)


def _unescape(path: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), path)


def usable_cpus(limits: CgroupLimits) -> float | None:
    """Return the number of CPUs that this process may use: the lower of affinity and quota."""
    return _minimum([float(len(os.sched_getaffinity(0))), limits.cpus])
