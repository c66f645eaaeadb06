"""Readings of a server and its machine around a load, and the parts of a record that they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from zoo.catalog.manifest import Model
from zoo.load.base import LoadOutcome
from zoo.model.flag import Flag
from zoo.model.histogram import Histogram, merge
from zoo.model.measurement import (
    ContainerUse,
    ErrorCounts,
    GeneratorUse,
    Kernel,
    Latency,
    Measurement,
    Memory,
    Sampling,
    ServerFacts,
    Work,
)
from zoo.model.samples import Noise, Samples, Switches
from zoo.model.trial_results import Held
from zoo.runtime.base import Hosted
from zoo.sample.instruments import known
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot
from zoo.sample.requests import Info
from zoo.store.run_folder import Store

SPEED_COLUMNS = frozenset({"cpu_s", "own_cpu_s", "runnable"})
"""Columns of the samples that say nothing on an emulated host."""

SPEED_FLAGS = frozenset(
    {
        *(Flag.GENERATOR_SATURATED, Flag.SHARED_CORES, Flag.WARMUP_SHORT, Flag.FOREIGN_CPU),
        *(Flag.NEAR_REFERENCE, Flag.LITTLE_WORK, Flag.THROTTLED, Flag.STOLEN),
    }
)


class Sampled:
    """A context in which a server is loaded: samples of it, its CPU time, and what else the machine did.

    The caller sets `generator_cpu_s`. After a load that failed there are `samples` alone. The end of the context raises
    ProcessLookupError when the server has ended. `cpu_s` is the server's, None where its process is not known.
    """

    samples: Samples
    noise: Noise
    cpu_s: float | None

    def __init__(self, hosted: Hosted) -> None:
        self._tools, self._pid = hosted.instruments, hosted.pid
        self._elsewhere = hosted.apart is not None and hosted.apart.elsewhere
        self.generator_cpu_s = 0.0

    def __enter__(self) -> Self:
        self._before = self._tools.snapshot(self._pid)
        self._noise = self._tools.noise(self._pid)
        self._sampler = self._tools.sample(self._pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.samples = self._sampler.stop()
        if error is not None:
            return
        before, after = self._before, self._tools.snapshot(self._pid)
        self.cpu_s = None if before is None or after is None else after.cpu_s - before.cpu_s
        own_generator_s = 0.0 if self._elsewhere else self.generator_cpu_s
        self.noise = self._noise.stop(self.cpu_s, own_generator_s, runnable=self.samples.mean_runnable)


class Readings:
    """Memory, counters and `/info` of a server before its first load and after its last.

    `deep`: read what takes longer before the load, too. ProcessLookupError when the server has ended.
    """

    def __init__(self, hosted: Hosted, *, deep: bool = False) -> None:
        self._tools, self._pid, self._url = hosted.instruments, hosted.pid, hosted.url
        self._mark_reset = self._tools.count_anew(self._pid)
        self.info_before = self._tools.info(self._url)
        self.before = self._tools.snapshot(self._pid, deep=deep)
        self._group_before = self._tools.cgroup(self._pid)
        self._counters = self._tools.counters(self._pid)

    def end(self) -> None:
        self._group = self._tools.cgroup(self._pid)
        after = self._tools.snapshot(self._pid, deep=True)
        # a mark that could not be reset is that of the server's whole life
        self._after = after if after is None or self._mark_reset else after.model_copy(update={"hwm_kb": None})
        self._counted = self._tools.counters(self._pid)
        self.info = self._tools.info(self._url)

    @property
    def kernel(self) -> Kernel | None:
        return kernel(self._counters, self._counted)

    @property
    def container(self) -> ContainerUse | None:
        before, after = self._group_before, self._group
        if before is None or after is None:
            return None
        first, last = before.model_dump(), after.model_dump()
        for name in ("cpu_s", "throttled_s"):
            last[name] = None if first[name] is None or last[name] is None else last[name] - first[name]
        return ContainerUse(**last)

    def memory(self, idle_kb: int | None, samples: Samples, rested_kb: int | None = None) -> Memory | None:
        return memory(idle_kb, self.before, samples, self._after, rested_kb, self.info)

    def work(self, cpu_s: float | None, good: int, samples: Samples) -> Work | None:
        """The work of all loads together; `good` is the number of their good responses."""
        return work(cpu_s, good, samples, (self.before, self._after), (self.info_before, self.info))

    def held(self, established: int | None, seen: Snapshot, info: Info | None) -> Held:
        """Memory before the window and in mid-window."""
        before = known(self.before).anon_kb
        heap_before = _in_kb(self.info_before)["heap_used_kb"]
        return Held(
            anon_before_kb=before, heap_before_kb=heap_before, established=established, **held_kb(seen, info, "pss_kb")
        )


def latency(histogram: Histogram, bad: int = 0) -> Latency:
    """Return the latency of the good responses; null where the bad ones among them leave it uncertain."""

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


def total(outcomes: Sequence[LoadOutcome]) -> LoadOutcome:
    """Take windows with the same load together: counts and times add up, histograms are merged."""
    added = ("requests", "goodput", "bytes", "runtime_s", "cpu_s")
    sums: dict[str, Any] = {name: sum(getattr(o, name) for o in outcomes) for name in added}
    return replace(
        outcomes[0],
        errors=ErrorCounts.added(o.errors for o in outcomes),
        histogram=merge(o.histogram for o in outcomes),
        corrected=merge(o.corrected for o in outcomes),
        busiest_thread=max(o.busiest_thread for o in outcomes),
        generators=tuple(map(_total_use, zip(*(o.generators for o in outcomes), strict=True))),
        **sums,
    )


def _total_use(parts: Sequence[GeneratorUse]) -> GeneratorUse:
    """Take the windows of one generator host together."""
    added = {name: sum(getattr(part, name) for part in parts) for name in ("requests", "cpu_s")}
    highest = {name: max(getattr(part, name) for part in parts) for name in ("busiest_thread", "began_s")}
    return parts[0].model_copy(update={**added, **highest})


def joined(parts: Sequence[Samples]) -> Samples:
    """Samples of windows one after the other, on one time line without the pauses between them."""
    columns = [name for name, value in parts[0].model_dump().items() if isinstance(value, list) and name != "t"]
    starts = [sum(p.elapsed_s for p in parts[:i]) for i in range(len(parts))]
    return Samples(
        hz=parts[0].hz,
        elapsed_s=sum(p.elapsed_s for p in parts),
        own_cpu_s=sum(p.own_cpu_s for p in parts),
        vanished=any(p.vanished for p in parts),
        t=[round(start + t, 4) for start, part in zip(starts, parts, strict=True) for t in part.t],
        switches=_summed([p.switches for p in parts]),
        **{name: [value for part in parts for value in getattr(part, name)] for name in columns},
    )


def _summed(parts: Sequence[Switches | None]) -> Switches | None:
    """The sums of all windows; None where one of them was not counted."""
    known_parts = [p for p in parts if p is not None]
    if len(known_parts) < len(parts):
        return None
    columns = {name: [getattr(part, name) for part in known_parts] for name in Switches.model_fields}
    return Switches.model_validate({name: None if None in values else sum(values) for name, values in columns.items()})


def mean_noise(parts: Sequence[Noise]) -> Noise:
    """Means over windows, weighted by their lengths; None where one of them does not know."""
    elapsed = sum(p.elapsed_s for p in parts)
    means: dict[str, float | None] = {}
    for name in Noise.model_fields:
        values = [getattr(p, name) for p in parts]
        complete = elapsed > 0 and None not in values
        means[name] = sum(v * p.elapsed_s for v, p in zip(values, parts, strict=True)) / elapsed if complete else None
    return Noise.model_validate({**means, "elapsed_s": elapsed})


def kernel(before: TcpCounters | None, after: TcpCounters | None) -> Kernel | None:
    if before is None or after is None:
        return None
    return Kernel(**after.since(before).model_dump(include=set(Kernel.model_fields)))


def memory(
    idle_kb: int | None,
    before: Snapshot | None,
    samples: Samples,
    after: Snapshot | None,
    rested_kb: int | None,
    info: Info | None,
) -> Memory | None:
    """The server's memory; None where its process is not known."""
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


def held_kb(seen: Snapshot, info: Info | None, *further: str) -> dict[str, Any]:
    """What a server holds now, in kB: its memory, `further` parts of it, and its heap."""
    heap = {name: kb for name, kb in _in_kb(info).items() if name in ("heap_used_kb", "heap_committed_kb")}
    return {**seen.model_dump(include={"rss_kb", "anon_kb", *further}), **heap}


def work(
    cpu_s: float | None,
    good: int,
    samples: Samples,
    process: tuple[Snapshot | None, Snapshot | None],
    infos: tuple[Info | None, Info | None],
) -> Work | None:
    """The server's work between two readings of its process and of `/info`; None where its process is not known."""
    (before, after), (info_before, info_after) = process, infos
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
        gc_count=info_after.gc_count - info_before.gc_count if info_before and info_after else None,
        gc_time_ms=info_after.gc_time_ms - info_before.gc_time_ms if info_before and info_after else None,
    )


def server_facts(info: Info | None, ready_s: float | None) -> ServerFacts | None:
    if info is None:
        return None
    told = info.model_dump(include=set(ServerFacts.model_fields))
    return ServerFacts(**told, ready_s=ready_s)


def sampling(hosted: Hosted, samples: Samples, store: Store, name: str, *, emulated: bool = False) -> Sampling:
    """Store the samples below `raw/`; of an emulated host without the columns that depend on speed."""
    columns = samples.model_dump(exclude=set(SPEED_COLUMNS) if emulated else None)
    path = store.write_raw(f"{name}-samples", columns)
    return Sampling(sampler=hosted.instruments.sampler, hz=samples.hz, cpu_share=samples.cost, samples=path)


def pool(info: Info | None, seen: Sequence[int] = ()) -> int | None:
    """Size of the pool that requests wait on: its limit, or the threads that were seen where these are fewer.

    None without such a pool.
    """
    if info is None or Model(info.model) is not Model.PLATFORM_THREAD:
        return None
    return min((most for most in (info.limits.max_threads, max(seen, default=None)) if most), default=None)


def without_speed(seen: Measurement) -> Measurement:
    """Leave out throughput, latency, CPU time and noise, which say nothing on an emulated host.

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
    """The heap and the direct buffers that `/info` tells of, in kB."""
    told = {name: getattr(info, name, None) for name in ("heap_used", "heap_committed", "heap_max", "direct_used")}
    return {f"{name}_kb": None if number is None else number // 1024 for name, number in told.items()}
