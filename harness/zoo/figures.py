"""Readings turned into the parts of a record. Pure."""

from __future__ import annotations

from zoo.histogram import Histogram
from zoo.records import Kernel, Latency, Memory, ServerFacts, Work
from zoo.sample.jvm import Info
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot
from zoo.sample.samples import Samples


def latency(histogram: Histogram) -> Latency:
    def supported(q: float) -> int | None:
        return histogram.quantile(q) if histogram.supports(q) else None

    return Latency(
        samples=histogram.total,
        mean_us=histogram.mean_us or 0.0,
        p50_us=supported(0.5),
        p90_us=supported(0.9),
        p99_us=supported(0.99),
        p999_us=supported(0.999),
        max_us=histogram.max_us or 0,
    )


def kernel(before: TcpCounters | None, after: TcpCounters | None) -> Kernel | None:
    if before is None or after is None:
        return None
    return Kernel(**after.since(before).model_dump())


def _kb(number: int | None) -> int | None:
    return None if number is None else number // 1024


def memory(
    idle_kb: int, before: Snapshot, samples: Samples, deep: Snapshot, rested: int | None, info: Info | None
) -> Memory:
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
        heap_used_kb=_kb(info.heap_used) if info else None,
        heap_committed_kb=_kb(info.heap_committed) if info else None,
        heap_max_kb=_kb(info.heap_max) if info else None,
    )


def work(
    cpu_s: float,
    goodput: int,
    samples: Samples,
    before: Snapshot,
    after: Snapshot,
    info_before: Info | None,
    info_after: Info | None,
) -> Work:
    gc_count = gc_time_ms = None
    if info_before and info_after:
        gc_count = info_after.gc_count - info_before.gc_count
        gc_time_ms = info_after.gc_time_ms - info_before.gc_time_ms
    return Work(
        cpu_s=cpu_s,
        cpu_s_per_million=cpu_s / goodput * 1e6 if goodput else None,
        threads_peak=max([*samples.threads, before.threads, after.threads]),
        voluntary_switches=_increase(before.voluntary_switches, after.voluntary_switches),
        involuntary_switches=_increase(before.involuntary_switches, after.involuntary_switches),
        gc_count=gc_count,
        gc_time_ms=gc_time_ms,
    )


def _increase(before: int | None, after: int | None) -> int | None:
    """Switches of threads that ended are lost, so a falling count is unknown rather than negative."""
    if before is None or after is None or after < before:
        return None
    return after - before


def server(info: Info, ready_s: float) -> ServerFacts:
    return ServerFacts(
        framework=info.framework,
        framework_version=info.framework_version,
        runtime=info.runtime,
        runtime_version=info.runtime_version,
        thread=info.thread,
        virtual=info.virtual,
        gc=info.gc,
        limits=info.limits.model_dump(),
        ready_s=ready_s,
    )
