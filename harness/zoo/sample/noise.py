"""What else the machine did while a cell ran."""

import hashlib
import os
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

import psutil

from zoo.host.cgroup import levels
from zoo.model.samples import Noise
from zoo.sample.cgroup import Periods, quota_periods, throttled_share
from zoo.sample.proc import PROC, TICKS, parse_stat, read

CANARY_BLOCK = bytes(1 << 20)
CANARY_BLOCKS = 80
RESOURCES = ("cpu", "memory", "io")


@dataclass(frozen=True)
class CpuTimes:
    """Ticks of all processors together."""

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
    """The `cpu` line of /proc/stat; guest time is within user time already."""
    found = re.search(r"^cpu +([0-9 ]+)$", stat, re.MULTILINE | re.ASCII)
    fields = [int(field) for field in found.group(1).split()] if found else []
    if len(fields) < 4:
        return None
    user, nice, system, idle, iowait, irq, softirq, steal = (fields + [0] * 4)[:8]
    interrupt = irq + softirq
    busy = user + nice + system + interrupt
    return CpuTimes(busy + idle + iowait + steal, busy, interrupt, steal)


def parse_pressure(text: str) -> int | None:
    """The `some` line's total of a pressure file, in microseconds."""
    found = re.search(r"^some .*\btotal=([0-9]+)", text, re.MULTILINE | re.ASCII)
    return int(found.group(1)) if found else None


def take_reading(groups: Iterable[str] = ()) -> HostCounters:
    return HostCounters(
        at=time.monotonic(),
        cpu=parse_cpu(read("/proc/stat")),
        pressure_us={name: parse_pressure(read(f"/proc/pressure/{name}")) for name in RESOURCES},
        own_cpu_s=time.process_time(),
        softirq_s=softirq_seconds(),
        quotas=quota_periods(groups),
    )


@cache
def _softirq_threads() -> list[int]:
    """The kernel's threads `ksoftirqd/N`; none where /proc does not show them."""
    return [p.pid for p in psutil.process_iter(["name"]) if (p.info["name"] or "").startswith("ksoftirqd/")]


def softirq_seconds() -> float:
    """CPU time of the kernel's packet handling outside of any process."""
    stats = [parse_stat(read(f"{PROC}/{pid}/stat")) for pid in _softirq_threads()]
    return sum(stat.cpu_ticks for stat in stats if stat) / TICKS


def between(
    first: HostCounters, last: HostCounters, known_cpu_s: float | None, runnable: float | None, cores: int | None
) -> Noise:
    """What happened from one reading to the next; `known_cpu_s` is what server, generator and harness used, None where
    the server's part is not known."""
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
    """Brackets a cell. `groups`: the folders of the server's control groups whose CPU quotas count.

    The groups of this process always count: the generator is in them.
    """

    def __init__(self, groups: Iterable[str] = ()) -> None:
        self._groups = dict.fromkeys([*levels("cpu"), *groups])
        self._first: HostCounters | None = None

    def start(self) -> "NoiseProbe":
        self._first = take_reading(self._groups)
        return self

    def stop(
        self, server_cpu_s: float | None = 0.0, generator_cpu_s: float = 0.0, runnable: float | None = None
    ) -> Noise:
        """Given the CPU time of the parts since `start`; the harness is this process."""
        if self._first is None:
            raise RuntimeError("stop without start")
        last = take_reading(self._groups)
        own = last.own_cpu_s - self._first.own_cpu_s
        kernel = last.softirq_s - self._first.softirq_s
        known = None if server_cpu_s is None else server_cpu_s + generator_cpu_s + own + kernel
        return between(self._first, last, known, runnable, os.cpu_count())


def canary() -> float:
    """Seconds for a fixed piece of work (SHA-256 over 80 MiB): longer than usual means a slower machine."""
    started = time.perf_counter()
    digest = hashlib.sha256()
    for _ in range(CANARY_BLOCKS):
        digest.update(CANARY_BLOCK)
    digest.digest()
    return time.perf_counter() - started
