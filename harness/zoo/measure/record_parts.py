"""Readings turned into the parts of a record. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

from zoo.catalog.manifest import Model
from zoo.load.base import Errors, LoadOutcome
from zoo.model.histogram import Histogram, merge
from zoo.model.measurement import ContainerUse, GeneratorUse, Kernel, Latency, Memory, ServerFacts, Work
from zoo.model.noise import Noise
from zoo.model.samples import Samples, Switches
from zoo.model.trial_results import Held, Released
from zoo.runtime.base import Apart
from zoo.sample.cgroup import CgroupUse
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot
from zoo.sample.requests import Info


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
    """Windows with the same load taken together: counts and times add up, histograms are merged."""
    first = outcomes[0]

    def added(read: Callable[[LoadOutcome], float]) -> float:
        return sum(read(o) for o in outcomes)

    return replace(
        first,
        requests=int(added(lambda o: o.requests)),
        goodput=int(added(lambda o: o.goodput)),
        bytes=int(added(lambda o: o.bytes)),
        runtime_s=added(lambda o: o.runtime_s),
        errors=Errors(**{f.name: sum(getattr(o.errors, f.name) for o in outcomes) for f in fields(Errors)}),
        histogram=merge(o.histogram for o in outcomes),
        corrected=merge(o.corrected for o in outcomes),
        cpu_s=added(lambda o: o.cpu_s),
        busiest_thread=max(o.busiest_thread for o in outcomes),
        generators=_generators(outcomes),
    )


def generator_share(outcome: LoadOutcome, apart: Apart | None) -> float | None:
    """CPU time of the generator over that of its own processors; None where it shares them."""
    return None if apart is None else outcome.cpu_s / (outcome.runtime_s * apart.processors)


def link_share(outcome: LoadOutcome) -> float | None:
    """Of what the links between several hosts and the server let through, what the answers took; None without them."""
    links = sum(one.bandwidth_mb_s for one in outcome.generators)
    return outcome.bytes / 1e6 / outcome.runtime_s / links if links else None


def _generators(outcomes: Sequence[LoadOutcome]) -> tuple[GeneratorUse, ...]:
    """By host: counts and times add up."""
    return tuple(
        parts[0].model_copy(
            update={
                "requests": sum(part.requests for part in parts),
                "cpu_s": sum(part.cpu_s for part in parts),
                "busiest_thread": max(part.busiest_thread for part in parts),
                "began_s": max(part.began_s for part in parts),
            }
        )
        for parts in zip(*(outcome.generators for outcome in outcomes), strict=True)
    )


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
    """None where one of them does not know."""
    known = [p.model_dump() for p in parts if p is not None]
    if len(known) < len(parts):
        return None
    columns = {name: [part[name] for part in known] for name in Switches.model_fields}
    return Switches.model_validate({name: None if None in values else sum(values) for name, values in columns.items()})


def mean_noise(parts: Sequence[Noise]) -> Noise:
    """Means over windows, weighted by their lengths; None where one of them does not know."""
    elapsed = sum(p.elapsed_s for p in parts)
    means: dict[str, float | None] = {}
    for name in Noise.model_fields:
        values = [getattr(p, name) for p in parts]
        known = elapsed > 0 and None not in values
        means[name] = sum(v * p.elapsed_s for v, p in zip(values, parts, strict=True)) / elapsed if known else None
    return Noise.model_validate({**means, "elapsed_s": elapsed})


def kernel(before: TcpCounters | None, after: TcpCounters | None) -> Kernel | None:
    if before is None or after is None:
        return None
    return Kernel(**after.since(before).model_dump(include=set(Kernel.model_fields)))


def _kb(number: int | None) -> int | None:
    return None if number is None else number // 1024


def memory(
    idle_kb: int | None,
    before: Snapshot | None,
    samples: Samples,
    deep: Snapshot | None,
    rested: int | None,
    info: Info | None,
) -> Memory | None:
    """None where the process is not known."""
    if idle_kb is None or before is None or deep is None:
        return None
    socket = [kb for kb in samples.tcp_mem_kb if kb is not None]
    return Memory(
        rss_idle_kb=idle_kb,
        rss_before_kb=before.rss_kb,
        rss_peak_kb=max([*samples.rss_kb, before.rss_kb, deep.rss_kb]),
        rss_after_kb=deep.rss_kb,
        rss_rested_kb=rested,
        pss_after_kb=deep.pss_kb,
        anon_after_kb=deep.anon_kb,
        hwm_kb=deep.hwm_kb,
        socket_before_kb=socket[0] if socket else None,
        socket_peak_kb=max(socket, default=None),
        heap_used_kb=_kb(info.heap_used) if info else deep.heap_used_kb,
        heap_committed_kb=_kb(info.heap_committed) if info else None,
        heap_max_kb=_kb(info.heap_max) if info else None,
        thread_reserved_kb=deep.thread_reserved_kb,
        thread_committed_kb=deep.thread_committed_kb,
        heap_by_jcmd_kb=deep.heap_used_kb,
        direct_used_kb=_kb(info.direct_used) if info else None,
    )


def held(
    before: Snapshot, info_before: Info | None, established: int | None, seen: Snapshot, info: Info | None
) -> Held:
    """Before the window and in mid-window."""
    return Held(
        anon_before_kb=before.anon_kb,
        heap_before_kb=_kb(info_before.heap_used) if info_before else None,
        established=established,
        rss_kb=seen.rss_kb,
        anon_kb=seen.anon_kb,
        pss_kb=seen.pss_kb,
        heap_used_kb=_kb(info.heap_used) if info else None,
        heap_committed_kb=_kb(info.heap_committed) if info else None,
    )


def released(after_s: float, seen: Snapshot, info: Info | None) -> Released:
    """At rest again."""
    return Released(
        after_s=after_s,
        rss_kb=seen.rss_kb,
        anon_kb=seen.anon_kb,
        heap_used_kb=_kb(info.heap_used) if info else None,
        heap_committed_kb=_kb(info.heap_committed) if info else None,
    )


def container(before: CgroupUse | None, after: CgroupUse | None) -> ContainerUse | None:
    if before is None or after is None:
        return None

    def spent(start: float | None, end: float | None) -> float | None:
        return None if start is None or end is None else end - start

    return ContainerUse(
        version=after.version,
        cpu_s=spent(before.cpu_s, after.cpu_s),
        throttled_s=spent(before.throttled_s, after.throttled_s),
        memory_kb=after.memory_kb,
        memory_peak_kb=after.memory_peak_kb,
        anon_kb=after.anon_kb,
        socket_kb=after.socket_kb,
    )


def work(
    cpu_s: float | None,
    goodput: int,
    samples: Samples,
    before: Snapshot | None,
    after: Snapshot | None,
    info_before: Info | None,
    info_after: Info | None,
) -> Work | None:
    """None where the process is not known."""
    if cpu_s is None or before is None or after is None:
        return None
    switches = samples.switches
    gc_count = gc_time_ms = None
    if info_before and info_after:
        gc_count = info_after.gc_count - info_before.gc_count
        gc_time_ms = info_after.gc_time_ms - info_before.gc_time_ms
    return Work(
        cpu_s=cpu_s,
        cpu_s_per_million=cpu_s / goodput * 1e6 if goodput else None,
        threads_peak=max([*samples.threads, before.threads, after.threads]),
        voluntary_switches=None if switches is None else switches.voluntary,
        involuntary_switches=None if switches is None else switches.involuntary,
        switches_missed=None if switches is None else switches.missed,
        threads_ended=None if switches is None else switches.ended,
        migrations=None if switches is None else switches.migrations,
        lock_waits=after.lock_waits,
        gc_count=gc_count,
        gc_time_ms=gc_time_ms,
    )


def server(info: Info | None, ready_s: float | None) -> ServerFacts | None:
    if info is None:
        return None
    return ServerFacts(
        framework=info.framework,
        framework_version=info.framework_version,
        runtime=info.runtime,
        runtime_version=info.runtime_version,
        thread=info.thread,
        virtual=info.virtual,
        gc=info.gc,
        limits=info.limits.model_dump(),
        transport=info.transport,
        ready_s=ready_s,
    )


def pool(info: Info | None, seen: Sequence[int] = ()) -> int | None:
    """The threads that requests wait on: those a pool may have, or those it was seen to come to where these are fewer.

    None without such a pool.
    """
    if info is None or Model(info.model) is not Model.PLATFORM_THREAD:
        return None
    return min((most for most in (info.limits.max_threads, max(seen, default=None)) if most), default=None)
