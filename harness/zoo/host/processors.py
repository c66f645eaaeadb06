"""The processors that this process may use: their cores, and the affinity of its children."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from zoo.core.host_facts import PhysicalCore, parse_ranges
from zoo.host.files import read_text

TOPOLOGY = Path("/sys/devices/system/cpu")
LIST = re.compile(r"\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*")
"""The kernel's format for numbers and ranges: `0-3,8`."""

INTEL_KINDS = ("cpu_core", "cpu_atom", "cpu_lowpower")
"""Folders below /sys/devices, fastest kind of core first."""

SPEEDS = ("cpu_capacity", "cpufreq/cpuinfo_max_freq")
"""Files of a processor: its capacity as the scheduler sees it (ARM, newer kernels on x86), and its highest clock."""

SAME_KIND = 0.85
"""Speed ratio below which a core is of another kind.

Cores of one kind differ by less: the favoured cores of desktops reach about 1.1 times the clock of the others.
"""

ALLOWED = frozenset(os.sched_getaffinity(0))
"""Processors that this process was started with, already limited by the control group's cpuset."""


def physical_cores(allowed: Collection[int] = ALLOWED, folder: Path = TOPOLOGY) -> list[PhysicalCore]:
    """Return the physical cores of these processors; each counts as a core if the kernel does not report siblings."""
    found: list[PhysicalCore] = []
    kinds = _core_kinds(allowed, folder)
    left = set(allowed)
    for processor in sorted(allowed):
        if processor not in left:  # a sibling of an earlier one
            continue
        topology = folder / f"cpu{processor}" / "topology"
        siblings, package = (
            read_text(topology / name).strip() for name in ("thread_siblings_list", "physical_package_id")
        )
        together = {processor, *(parse_ranges(siblings) if LIST.fullmatch(siblings) else ())} & left
        left -= together
        socket = int(package) if package.isdecimal() else 0
        found.append(PhysicalCore(socket, tuple(sorted(together)), kinds[processor]))
    return found


def _core_kinds(allowed: Collection[int], folder: Path) -> Mapping[int, int]:
    """Rank each processor by its kind of core, 0 for the fastest, using the first source that shows several kinds."""
    sources = (
        _rank_by_device(folder.parents[1]),
        *(_rank_by_speed({p: read_text(folder / f"cpu{p}" / name).strip() for p in allowed}) for name in SPEEDS),
    )
    for ranks in sources:
        kinds = sorted({ranks[processor] for processor in allowed}) if ranks.keys() >= set(allowed) else []
        if len(kinds) > 1:
            return {processor: kinds.index(ranks[processor]) for processor in allowed}
    return dict.fromkeys(allowed, 0)


def _rank_by_device(devices: Path) -> dict[int, int]:
    """Rank processors by Intel's devices: hybrid processors have one for each kind of core, with its processors."""
    lists = [read_text(devices / name / "cpus").strip() for name in INTEL_KINDS]
    return {p: rank for rank, text in enumerate(lists) if LIST.fullmatch(text) for p in parse_ranges(text)}


def _rank_by_speed(speeds: Mapping[int, str]) -> dict[int, int]:
    """Rank processors by speed; one far below the next faster is of another kind. Empty if one has no number."""
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
    """Pin the processes and threads that this thread starts in the context to these processors; None does nothing."""
    if processors is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
