"""The processors that this process may use: their cores, and which of them its children get."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from zoo.host.cgroup import read_text
from zoo.model.host import PhysicalCore, numbers

TOPOLOGY = Path("/sys/devices/system/cpu")
LIST = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")
"""Numbers and ranges, as the kernel writes them: `0-3,8`."""

INTEL_KINDS = ("cpu_core", "cpu_atom", "cpu_lowpower")
"""Below /sys/devices, the fastest first."""

SPEEDS = ("cpu_capacity", "cpufreq/cpuinfo_max_freq")
"""Files of a processor: what the scheduler takes it to be capable of (ARM, newer kernels on x86), its highest clock."""

SAME_KIND = 0.85
"""Cores of one kind differ by less: favoured cores of desktops reach about 1.1 times the clock of the others."""

ALLOWED = frozenset(os.sched_getaffinity(0))
"""Those this process was started with; a control group's cpuset is in it."""


def cores(allowed: Collection[int] = ALLOWED, folder: Path = TOPOLOGY) -> list[PhysicalCore]:
    """Return the physical cores of these processors; each is its own core where the kernel does not tell."""
    found: list[PhysicalCore] = []
    kinds = _kinds(allowed, folder)
    left = set(allowed)
    for processor in sorted(allowed):
        if processor not in left:  # a sibling of one before
            continue
        topology = folder / f"cpu{processor}" / "topology"
        siblings, package = (
            read_text(topology / name).strip() for name in ("thread_siblings_list", "physical_package_id")
        )
        together = {processor, *(numbers(siblings) if LIST.fullmatch(siblings) else ())} & left
        left -= together
        socket = int(package) if package.isdecimal() else 0
        found.append(PhysicalCore(socket, tuple(sorted(together)), kinds[processor]))
    return found


def _kinds(allowed: Collection[int], folder: Path) -> Mapping[int, int]:
    """Rank the kind of core of each processor, 0 the fastest, by the first source that tells several apart."""
    sources = (
        _by_intel(folder.parents[1]),
        *(_by_speed({p: read_text(folder / f"cpu{p}" / name).strip() for p in allowed}) for name in SPEEDS),
    )
    for ranks in sources:
        kinds = sorted({ranks[processor] for processor in allowed}) if ranks.keys() >= set(allowed) else []
        if len(kinds) > 1:
            return {processor: kinds.index(ranks[processor]) for processor in allowed}
    return dict.fromkeys(allowed, 0)


def _by_intel(devices: Path) -> dict[int, int]:
    """Intel's hybrid processors have a device for each kind of core, with the list of its processors."""
    lists = [read_text(devices / name / "cpus").strip() for name in INTEL_KINDS]
    return {p: rank for rank, text in enumerate(lists) if LIST.fullmatch(text) for p in numbers(text)}


def _by_speed(speeds: Mapping[int, str]) -> dict[int, int]:
    """Sort processors by a number; one far below the next is of another kind. Empty where one has no number."""
    if not all(text.isdecimal() for text in speeds.values()):
        return {}
    ranks: dict[int, int] = {}
    rank, last = 0, 0
    for processor, speed in sorted(((p, int(text)) for p, text in speeds.items()), key=lambda pair: -pair[1]):
        rank += speed < SAME_KIND * last
        ranks[processor], last = rank, speed
    return ranks


@contextmanager
def cpu_affinity(processors: Collection[int] | None) -> Iterator[None]:
    """Run the processes and threads that this thread starts meanwhile on these processors; None changes nothing."""
    if processors is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
