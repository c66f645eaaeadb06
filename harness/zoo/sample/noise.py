"""Noise: the machine's other work while a cell ran."""

import hashlib
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

import psutil

from zoo.core.samples import Noise
from zoo.host.cgroup import group_folders
from zoo.host.files import read_text
from zoo.sample.cgroup import Periods, quota_periods, throttled_share
from zoo.sample.proc import PROC, TICKS, parse_stat

CANARY_BLOCK = bytes(1 << 20)
CANARY_BLOCKS = 80
RESOURCES = ("cpu", "memory", "io")


@dataclass(frozen=True)
class CpuTimes:
    """Clock ticks, summed over all processors."""

    total: int
    busy: int
    interrupt: int
    steal: int


@dataclass(frozen=True)
class HostCounters:
    """The host's counters at one moment."""

    at: float
    cpu: CpuTimes | None
    pressure_us: dict[str, int | None]
    own_cpu_s: float
    softirq_s: float
    quotas: Mapping[str, Periods] = field(default_factory=dict)


def parse_cpu(stat: str) -> CpuTimes | None:
    """Parse the `cpu` line of /proc/stat; its user time already includes guest time."""
    found = re.search(r"^cpu +([0-9 ]+)$", stat, re.MULTILINE | re.ASCII)
    fields = [int(field) for field in found.group(1).split()] if found else []
    if len(fields) < 4:
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = (fields + [0] * 4)[:8]
    interrupt = irq + softirq
    busy = user + nice + system + interrupt
    return CpuTimes(busy + idle + iowait + steal, busy, interrupt, steal)


def parse_pressure(text: str) -> int | None:
    """Return the total in the `some` line of a pressure file, in microseconds."""
    found = re.search(r"^some .*\btotal=([0-9]+)", text, re.MULTILINE | re.ASCII)
    return int(found.group(1)) if found else None


def take_reading(groups: Iterable[str] = ()) -> HostCounters:
    return HostCounters(
        at=time.monotonic(),
        cpu=parse_cpu(read_text("/proc/stat")),
        pressure_us={name: parse_pressure(read_text(f"/proc/pressure/{name}")) for name in RESOURCES},
        own_cpu_s=time.process_time(),
        softirq_s=softirq_seconds(),
        quotas=quota_periods(groups),
    )


@cache
def _softirq_threads() -> list[int]:
    """Return the pids of the kernel threads `ksoftirqd/N`; none if /proc does not show them."""
    return [p.pid for p in psutil.process_iter(["name"]) if (p.info["name"] or "").startswith("ksoftirqd/")]


def softirq_seconds() -> float:
    """Return the CPU seconds of the kernel's packet handling outside of any process."""
    stats = [parse_stat(read_text(f"{PROC}/{pid}/stat")) for pid in _softirq_threads()]
    return sum(stat.cpu_ticks for stat in stats if stat) / TICKS


def noise_between(
    first: HostCounters, last: HostCounters, known_cpu_s: float | None, runnable: float | None, cores: int | None
) -> Noise:
    """Return the noise between two readings.

    `known_cpu_s` is the CPU time of the server, the generator and the harness, or None if the server's is not known.
    """
    elapsed = last.at - first.at
    shares = _shares(first.cpu, last.cpu)
    foreign = None
    if shares and elapsed > 0 and cores and known_cpu_s is not None:
        foreign = min(1.0, max(0.0, shares[0] - known_cpu_s / (elapsed * cores)))
    return Noise(
        elapsed_s=elapsed,
        busy_share=shares[0] if shares else None,
        interrupt_share=shares[1] if shares else None,
        steal_share=shares[2] if shares else None,
        foreign_share=foreign,
        runnable_mean=runnable,
        pressure_cpu=_rate(first, last, "cpu"),
        pressure_memory=_rate(first, last, "memory"),
        pressure_io=_rate(first, last, "io"),
        throttled_share=throttled_share(first.quotas, last.quotas),
    )


def _shares(first: CpuTimes | None, last: CpuTimes | None) -> tuple[float, float, float] | None:
    if first is None or last is None or last.total <= first.total:
        return None
    total = last.total - first.total
    parts = (last.busy - first.busy, last.interrupt - first.interrupt, last.steal - first.steal)
    busy, interrupt, steal = (min(1.0, max(0.0, part / total)) for part in parts)
    return busy, interrupt, steal


def _rate(first: HostCounters, last: HostCounters, name: str) -> float | None:
    before, after = first.pressure_us.get(name), last.pressure_us.get(name)
    elapsed = last.at - first.at
    if before is None or after is None or elapsed <= 0:
        return None
    return max(0, after - before) / elapsed


class NoiseProbe:
    """A recording of noise around a cell, which starts with its construction.

    `groups` are the folders of the server's control groups, whose CPU quotas count. The groups of this process always
    count, because the generator is in them.
    """

    def __init__(self, groups: Iterable[str] = ()) -> None:
        self._groups = dict.fromkeys([*group_folders("cpu"), *groups])
        self._first = take_reading(self._groups)

    def stop(self, known_cpu_s: float | None = 0.0, runnable: float | None = None, /) -> Noise:
        """Stop and return the noise; `known_cpu_s` is the CPU time of server and generator since the start.

        The CPU time of the harness, which is this process, is added here.
        """
        last = take_reading(self._groups)
        own = last.own_cpu_s - self._first.own_cpu_s
        kernel = last.softirq_s - self._first.softirq_s
        known = None if known_cpu_s is None else known_cpu_s + own + kernel
        return noise_between(self._first, last, known, runnable, os.cpu_count())


def canary() -> float:
    """Return the seconds for a fixed piece of work (SHA-256 over 80 MiB); more than usual means a slower machine."""
    started = time.perf_counter()
    digest = hashlib.sha256()
    for _ in range(CANARY_BLOCKS):
        digest.update(CANARY_BLOCK)
    digest.digest()
    return time.perf_counter() - started
