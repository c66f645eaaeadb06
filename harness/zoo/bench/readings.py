"""Readings of a server before its first load and after its last, and the parts of a record made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zoo.core.flag import Flag
from zoo.core.histogram import Histogram
from zoo.core.manifest import Model
from zoo.core.measurement import (
    ContainerUse,
    Kernel,
    Latency,
    Measurement,
    Memory,
    Sampling,
    ServerFacts,
    Work,
)
from zoo.core.run_folder import Store
from zoo.core.samples import Noise, Samples
from zoo.core.trial_results import HeldMemory
from zoo.runtime.base import HostedServer
from zoo.sample.instruments import require_process
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot
from zoo.sample.requests import Info

SPEED_COLUMNS = frozenset({"cpu_s", "own_cpu_s", "runnable"})
"""Columns of the samples that are meaningless on an emulated host."""

SPEED_FLAGS = frozenset(
    {
        *(Flag.GENERATOR_SATURATED, Flag.SHARED_CORES, Flag.WARMUP_SHORT, Flag.FOREIGN_CPU),
        *(Flag.NEAR_REFERENCE, Flag.LITTLE_WORK, Flag.THROTTLED, Flag.STOLEN),
    }
)


@dataclass
class Readings:
    """Memory, counters and `/info` of a server before its first load and after its last.

    Values are None if the process is not known or, for those after the load, until `end`.
    """

    info_before: Info | None
    before: Snapshot | None
    group_before: ContainerUse | None = None
    counters_before: TcpCounters | None = None
    is_peak_reset: bool = True
    group: ContainerUse | None = None
    after: Snapshot | None = None
    counters: TcpCounters | None = None
    info: Info | None = None

    @classmethod
    def begin(cls, hosted: HostedServer, *, deep: bool = False) -> Readings:
        """Read a server before its first load; raise ProcessLookupError if it has ended.

        With `deep`, the slower readings are taken now too, not only by `end`.
        """
        tools, pid = hosted.instruments, hosted.pid
        is_peak_reset = tools.reset_counters(pid)
        info, process = tools.info(hosted.url), tools.snapshot(pid, deep=deep)
        return cls(info, process, tools.cgroup(pid), tools.counters(pid), is_peak_reset)

    def end(self, hosted: HostedServer) -> None:
        """Read the server after its last load; raise ProcessLookupError if it has ended."""
        tools, pid = hosted.instruments, hosted.pid
        self.group = tools.cgroup(pid)
        after = tools.snapshot(pid, deep=True)
        # a high-water mark that could not be reset covers the server's whole life
        self.after = after if after is None or self.is_peak_reset else after.model_copy(update={"hwm_kb": None})
        self.counters = tools.counters(pid)
        self.info = tools.info(hosted.url)

    @property
    def kernel(self) -> Kernel | None:
        if self.counters_before is None or self.counters is None:
            return None
        return Kernel(**self.counters.since(self.counters_before).model_dump(include=set(Kernel.model_fields)))

    @property
    def container(self) -> ContainerUse | None:
        if self.group_before is None or self.group is None:
            return None
        first, last = self.group_before.model_dump(), self.group.model_dump()
        for name in ("cpu_s", "throttled_s"):
            last[name] = None if first[name] is None or last[name] is None else last[name] - first[name]
        return ContainerUse(**last)

    def memory(self, idle_kb: int | None, samples: Samples, rested_kb: int | None = None) -> Memory | None:
        """Return the server's memory; None if its process is not known."""
        before, after, info = self.before, self.after, self.info
        if idle_kb is None or before is None or after is None:
            return None
        socket = [kb for kb in samples.tcp_mem_kb if kb is not None]
        return Memory(
            rss_idle_kb=idle_kb,
            rss_before_kb=before.rss_kb,
            rss_peak_kb=max([*samples.rss_kb, before.rss_kb, after.rss_kb]),
            rss_after_kb=after.rss_kb,
            rss_rested_kb=rested_kb,
            pss_after_kb=after.pss_kb,
            anon_after_kb=after.anon_kb,
            hwm_kb=after.hwm_kb,
            socket_before_kb=socket[0] if socket else None,
            socket_peak_kb=max(socket, default=None),
            **_in_kb(info) if info else {**_in_kb(None), "heap_used_kb": after.heap_used_kb},
            thread_reserved_kb=after.thread_reserved_kb,
            thread_committed_kb=after.thread_committed_kb,
            heap_by_jcmd_kb=after.heap_used_kb,
        )

    def work(self, cpu_s: float | None, good: int, samples: Samples) -> Work | None:
        """Return the server's work for `good` good responses; None if its process is not known."""
        before, after, first, last = self.before, self.after, self.info_before, self.info
        if cpu_s is None or before is None or after is None:
            return None
        switches: dict[str, int | None] = samples.switches.model_dump() if samples.switches else {}
        return Work(
            cpu_s=cpu_s,
            cpu_s_per_million=cpu_s / good * 1e6 if good else None,
            threads_peak=max([*samples.threads, before.threads, after.threads]),
            voluntary_switches=switches.get("voluntary"),
            involuntary_switches=switches.get("involuntary"),
            switches_missed=switches.get("missed"),
            threads_ended=switches.get("ended"),
            migrations=switches.get("migrations"),
            lock_waits=after.lock_waits,
            gc_count=last.gc_count - first.gc_count if first and last else None,
            gc_time_ms=last.gc_time_ms - first.gc_time_ms if first and last else None,
        )

    def held_memory(self, established: int | None, seen: Snapshot, info: Info | None) -> HeldMemory:
        """Return the memory before the window and in the middle of it."""
        before = require_process(self.before).anon_kb
        heap_before = _in_kb(self.info_before)["heap_used_kb"]
        return HeldMemory(
            anon_before_kb=before,
            heap_before_kb=heap_before,
            established=established,
            **current_memory(seen, info, "pss_kb"),
        )


def latency(histogram: Histogram, bad: int = 0) -> Latency:
    """Return the latency of the good responses; a figure is null if the bad responses make it uncertain."""

    def supported(q: float) -> int | None:
        return histogram.good_quantile(q, bad) if histogram.supports(q) else None

    return Latency(
        samples=max(0, histogram.total - bad),
        mean_us=histogram.good_mean(bad),
        p50_us=supported(0.5),
        p90_us=supported(0.9),
        p99_us=supported(0.99),
        p999_us=supported(0.999),
        max_us=histogram.good_quantile(1.0, bad) if histogram.total else 0,
    )


def current_memory(seen: Snapshot, info: Info | None, *further: str) -> dict[str, Any]:
    """Return a server's current memory in kB: resident, anonymous, the `further` parts, and its heap."""
    heap = {name: kb for name, kb in _in_kb(info).items() if name in ("heap_used_kb", "heap_committed_kb")}
    return {**seen.model_dump(include={"rss_kb", "anon_kb", *further}), **heap}


def server_facts(info: Info | None, ready_s: float | None) -> ServerFacts | None:
    if info is None:
        return None
    return ServerFacts(**info.model_dump(include=set(ServerFacts.model_fields)), ready_s=ready_s)


def sampling(hosted: HostedServer, samples: Samples, store: Store, name: str, *, emulated: bool = False) -> Sampling:
    """Store the samples below `raw/`, without the columns that depend on speed if the host is emulated."""
    columns = samples.model_dump(exclude=set(SPEED_COLUMNS) if emulated else None)
    path = store.write_raw(f"{name}-samples", columns)
    return Sampling(sampler=hosted.instruments.sampler, hz=samples.hz, cpu_share=samples.cost, samples=path)


def pool_size(info: Info | None, seen: Sequence[int] = ()) -> int | None:
    """Return the size of the pool that requests wait for: its limit, or the number of threads seen if that is lower.

    Return None if there is no such pool.
    """
    if info is None or Model(info.model) is not Model.PLATFORM_THREAD:
        return None
    return min((most for most in (info.limits.max_threads, max(seen, default=None)) if most), default=None)


def without_speed(seen: Measurement) -> Measurement:
    """Remove throughput, latency, CPU time and noise, which are meaningless on an emulated host.

    Counts, memory, threads and the kernel's counters stay.
    """
    times = dict.fromkeys(name for name in Latency.model_fields if name != "samples")
    latency_unknown = seen.load.latency.model_copy(update=times)
    load = dict.fromkeys(("goodput_rps", "cpu_s", "busiest_thread", "histogram"))
    no_cpu = dict.fromkeys(("cpu_s", "cpu_s_per_million", "gc_time_ms"))
    return seen.model_copy(
        update={
            "load": seen.load.model_copy(update={**load, "latency": latency_unknown}),
            "windows": [],
            "work": seen.work and seen.work.model_copy(update=no_cpu),
            "warmup": seen.warmup.model_copy(update={"window_rps": []}),
            "noise": Noise(elapsed_s=seen.noise.elapsed_s),
            "canary_s": None,
            "sampling": seen.sampling.model_copy(update={"cpu_share": None}),
            "server": seen.server and seen.server.model_copy(update={"ready_s": None}),
            "flags": [flag for flag in seen.flags if flag not in SPEED_FLAGS],
        }
    )


def _in_kb(info: Info | None) -> dict[str, Any]:
    """Return the heap and the direct buffers that `/info` reports, in kB."""
    sizes = {name: getattr(info, name, None) for name in ("heap_used", "heap_committed", "heap_max", "direct_used")}
    return {f"{name}_kb": None if size is None else size // 1024 for name, size in sizes.items()}
