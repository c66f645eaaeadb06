"""The processors that this process may use: their cores, and which of them its children get."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.model.cores import PhysicalCore, numbers

TOPOLOGY = Path("/sys/devices/system/cpu")
LIST = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")
"""Numbers and ranges, as the kernel writes them: `0-3,8`."""

AFFINITY = hasattr(os, "sched_getaffinity")
"""False on macOS, where containers run in a machine of their own and processes are not placed."""

ALLOWED = frozenset(os.sched_getaffinity(0) if AFFINITY else range(os.cpu_count() or 1))
"""Those this process was started with; a control group's cpuset is in it."""


def cores(allowed: Collection[int] = ALLOWED, folder: Path = TOPOLOGY) -> list[PhysicalCore]:
    """The physical cores of these processors; where the kernel tells nothing of use, each is a core of its own."""
    found: list[PhysicalCore] = []
    left = set(allowed)
    for processor in sorted(allowed):
        if processor not in left:  # a sibling of one before
            continue
        told = folder / f"cpu{processor}" / "topology"
        siblings, package = _read(told / "thread_siblings_list"), _read(told / "physical_package_id")
        together = {processor, *(numbers(siblings) if LIST.fullmatch(siblings) else ())} & left
        left -= together
        found.append(PhysicalCore(int(package) if package.isdecimal() else 0, tuple(sorted(together))))
    return found


@contextmanager
def placed(processors: Collection[int] | None) -> Iterator[None]:
    """Processes and threads that this thread starts meanwhile run on these processors; None changes nothing."""
    if processors is None or not AFFINITY:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
