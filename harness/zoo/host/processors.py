"""The processors that this process may use: their cores, and which of them its children get."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.model.cores import PhysicalCore, numbers

TOPOLOGY = Path("/sys/devices/system/cpu")
AFFINITY = hasattr(os, "sched_getaffinity")
"""False on macOS, where containers run in a machine of their own and processes are not placed."""

ALLOWED = frozenset(os.sched_getaffinity(0) if AFFINITY else range(os.cpu_count() or 1))
"""Those this process was started with; a control group's cpuset is in it."""


def cores(allowed: Collection[int] = ALLOWED, folder: Path = TOPOLOGY) -> list[PhysicalCore]:
    """The physical cores of these processors; where the kernel tells nothing, each is a core of its own."""
    found: dict[tuple[int, ...], int] = {}
    for processor in sorted(allowed):
        told = folder / f"cpu{processor}" / "topology"
        siblings = _read(told / "thread_siblings_list")
        together = {*(numbers(siblings) if siblings else ()), processor}
        package = _read(told / "physical_package_id")
        found[tuple(sorted(together & set(allowed)))] = int(package) if package else 0
    return [PhysicalCore(package, processors) for processors, package in found.items()]


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
    except OSError:
        return ""
