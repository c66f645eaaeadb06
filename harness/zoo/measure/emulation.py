"""Removes from a measurement what an emulated host cannot tell: all that depends on speed. Pure."""

from __future__ import annotations

from zoo.model.flag import Flag
from zoo.model.measurement import Latency, Measurement
from zoo.model.noise import Noise

SPEED_COLUMNS = frozenset({"cpu_s", "own_cpu_s", "runnable"})
"""Of the samples."""

SPEED_FLAGS = frozenset(
    {
        *(Flag.GENERATOR_SATURATED, Flag.SHARED_CORES, Flag.WARMUP_SHORT, Flag.FOREIGN_CPU),
        *(Flag.NEAR_REFERENCE, Flag.LITTLE_WORK, Flag.THROTTLED, Flag.STOLEN),
    }
)


def timeless(seen: Measurement) -> Measurement:
    """Without throughput, latency, CPU time and noise; counts, memory, threads and the kernel's counters stay."""
    latency = Latency(
        samples=seen.load.latency.samples,
        mean_us=None,
        p50_us=None,
        p90_us=None,
        p99_us=None,
        p999_us=None,
        max_us=None,
    )
    no_cpu = {"cpu_s": None, "cpu_s_per_million": None}
    load = {"goodput_rps": None, "latency": latency, "cpu_s": None, "busiest_thread": None, "histogram": None}
    return seen.model_copy(
        update={
            "load": seen.load.model_copy(update=load),
            "windows": [],
            "work": seen.work and seen.work.model_copy(update={**no_cpu, "gc_time_ms": None}),
            "warmup": seen.warmup.model_copy(update={"window_rps": []}),
            "noise": Noise(elapsed_s=seen.noise.elapsed_s),
            "canary_s": None,
            "sampling": seen.sampling.model_copy(update={"cpu_share": None}),
            "server": seen.server and seen.server.model_copy(update={"ready_s": None}),
            "flags": [flag for flag in seen.flags if flag not in SPEED_FLAGS],
        }
    )
