"""All figures of a measured cell, as a line of `records.ndjson` stores them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pydantic import Field, computed_field

from zoo.core.data import Data
from zoo.core.flag import Flag
from zoo.core.samples import Noise
from zoo.core.trial_results import HeldMemory


class Connections(Data):
    """The number of connections requested, the number this host allowed, and the limit in between."""

    requested: int
    actual: int
    limited_by: str | None = None
    established: int | None = Field(
        default=None, description=("seen in the middle of the window; null if not observed")
    )
    lingering: int | None = Field(default=None, description="TIME_WAIT sockets when the window began")
    left_open: int | None = Field(
        default=None,
        description=(
            "connections of the previous connection count that the server had not closed when the window began"
        ),
    )
    reopened: int | None = Field(
        default=None,
        description=("connections accepted in the windows beyond the requested number; null if they cannot be counted"),
    )


class ErrorCounts(Data):
    """wrk's counts of errors. `status` counts responses above 399, `timeout` those later than the limit."""

    connect: int
    read: int
    write: int
    status: int
    timeout: int

    @property
    def broken(self) -> int:
        """Return the number of requests whose connection failed; they are not among those with a response."""
        return self.read + self.write

    @property
    def total(self) -> int:
        return self.connect + self.broken + self.status + self.timeout

    @classmethod
    def sum(cls, parts: Iterable[ErrorCounts]) -> ErrorCounts:
        sums = Counter[str]()
        for part in parts:
            sums.update(part.model_dump())
        return cls.model_validate(sums)


class Latency(Data):
    """Latency of the good responses, in microseconds; null if fewer than 100 samples lie beyond the quantile.

    The generator's histogram includes the errors, which are at most 1% of it. A figure is null if it could be more than
    2% off, whichever responses failed. All figures are null on an emulated host.
    """

    samples: int
    mean_us: float | None
    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None
    max_us: int | None


class GeneratorUse(Data):
    """The load from one of several generator hosts. Its link to the server was measured before the load."""

    host: str = Field(description="the engine's name, as given by the user")
    connections: int
    requests: int
    cpu_s: float
    busiest_thread: float
    began_s: float = Field(description="upper limit, after the first of them")
    round_trip_us: float
    bandwidth_mb_s: float


class Load(Data):
    """The generator's load and results in the window. Figures that depend on speed are null on an emulated host."""

    generator: str
    version: str
    path: str
    delay_s: float = Field(description="the wait that the scenario requests")
    duration_s: float
    timeout_s: float
    runtime_s: float = Field(description="the generator's own run time")
    connect_s: float = Field(
        description=("the part of it before all connections were open; 0 if it is too short to observe")
    )
    threads: int
    shards: int = Field(default=1, description="generator processes; more than 1 only in earlier records")
    requests: int
    goodput: int = Field(description="requests - bad statuses - timeouts")
    goodput_rps: float | None = Field(description="goodput / (runtime - connect)")
    bytes: int
    errors: ErrorCounts
    latency: Latency
    little: float = Field(description="goodput x mean latency / connections, at most about 1")
    served: float | None = Field(
        description=("for requests that wait: goodput / (connections x whole cycles of the mean latency)")
    )
    ceiling_rps: float | None = Field(
        default=None,
        description="threads / delay of a pool, with the observed threads if there were fewer than allowed",
    )
    cpu_s: float | None
    busiest_thread: float | None = Field(description="share of a core")
    histogram: str | None = Field(description="path below the run's folder")
    generators: list[GeneratorUse] = Field(default=[], description="if several hosts sent the load")


class LoadWindow(Data):
    """One window of load on servers that run side by side; `place` is its position among all their windows, from 0."""

    place: int
    loaded_s: float
    goodput: int
    cpu_s: float | None = Field(description="of the server, in this window; null if its process is unknown")
    generator_cpu_s: float
    p50_us: int | None
    p99_us: int | None
    foreign_share: float | None


class Memory(Data):
    """Memory of the server, in kB. Socket memory belongs to the kernel and is not part of RSS."""

    rss_idle_kb: int
    rss_before_kb: int
    rss_peak_kb: int = Field(description="highest of the samples")
    rss_after_kb: int
    rss_rested_kb: int | None = Field(default=None, description="after the rest at the end of a block")
    pss_after_kb: int | None
    anon_after_kb: int | None
    hwm_kb: int | None = Field(
        description=(
            "the kernel's high-water mark of resident memory since the cell began; null if "
            "it could not be reset, and for several processes"
        )
    )
    socket_before_kb: int | None
    socket_peak_kb: int | None
    heap_used_kb: int | None
    heap_committed_kb: int | None
    heap_max_kb: int | None
    thread_reserved_kb: int | None = Field(
        default=None, description="of platform threads, if the JVM tracks native memory; not resident"
    )
    thread_committed_kb: int | None = None
    heap_by_jcmd_kb: int | None = Field(
        default=None, description=("in use, if the JVM tracks native memory; known even if no thread is free to answer")
    )
    direct_used_kb: int | None = Field(
        default=None, description="direct buffers, if the JVM reports them: in use or not yet collected"
    )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def peak_kb(self) -> int:
        """Return the peak of resident memory: the kernel's high-water mark, which includes peaks between two samples.

        Without a mark it is the highest sample. A sample above the mark counts, because the kernel counts pages per CPU
        and the mark may lag behind by a few hundred kB.
        """
        return max(self.rss_peak_kb, self.hwm_kb or 0)

    @property
    def peak_mb(self) -> float:
        return self.peak_kb / 1024


class Work(Data):
    """Resources that the server used in the window: CPU time, threads, context switches, garbage collection."""

    cpu_s: float | None = Field(description="null on an emulated host")
    cpu_s_per_million: float | None = Field(description="CPU-seconds per million good responses")
    threads_peak: int
    voluntary_switches: int | None = Field(
        description=(
            "of all observed threads; without switches_missed, the increase of the sum over "
            "living threads, which is too small if some ended"
        )
    )
    involuntary_switches: int | None
    switches_missed: int | None = Field(
        default=None,
        description=(
            "switches that ended threads may have made after their last observation, at the "
            "rate of their last interval, or since their start if there was none"
        ),
    )
    threads_ended: int | None = Field(default=None, description="observed platform threads")
    migrations: int | None = Field(default=None, description="of threads between CPUs")
    lock_waits: int | None = Field(
        default=None,
        description=(
            "of threads for a lock, in all windows including dropped ones, if the JVM "
            "records them (-XX:FlightRecorderOptions)"
        ),
    )
    gc_count: int | None
    gc_time_ms: int | None


class TaskLimit(Data):
    """A control group's limit of processes and threads, and how many it has refused so far."""

    most: int
    refused: int


class ContainerUse(Data):
    """Figures from the container's control group; its memory includes page cache and kernel memory."""

    version: str
    cpu_s: float | None = Field(description="in the window, in addition to the sum over processes in `work`")
    throttled_s: float | None = Field(description="in the window, paused by the CPU limit")
    memory_kb: int | None
    memory_peak_kb: int | None = Field(description="since the container started")
    anon_kb: int | None
    socket_kb: int | None


class Pace(Data):
    """Speed of a machine whose speed is not known in advance, in connections per second."""

    opened: float
    served: float = Field(description="responses received when all requests start at once")


class Warmup(Data):
    """Windows of load before the measured one. `reached` is null for a fixed, brief warm-up."""

    seconds: float
    connections: int
    gentle: int = Field(
        default=0, description=("the first windows, which had few connections so that a JVM's compiler could work")
    )
    window_rps: list[float]
    reached: bool | None
    pace: Pace | None = Field(
        default=None, description=("on an emulated host, the factor by which waits and windows are scaled")
    )


class Sampling(Data):
    """The sampler's own cost, and the file with its samples."""

    sampler: str = Field(
        default="host",
        description=(
            "`host`: read from this host's /proc; `agent`: read by a process that joined the server's PID namespace"
        ),
    )
    hz: float
    cpu_share: float | None
    samples: str


class ServerFacts(Data):
    """Facts that the server reported about itself on `/info`."""

    framework: str
    framework_version: str
    runtime: str
    runtime_version: str
    thread: str
    virtual: bool
    gc: list[str]
    limits: dict[str, int | None]
    transport: str | None = Field(default=None, description=("I/O mechanism, such as `epoll`; null if not reported"))
    ready_s: float | None = Field(description=("null if the harness did not start the server, or on an emulated host"))


class Kernel(Data):
    """Changes of the network stack's counters over the window."""

    listen_overflows: int
    listen_drops: int
    req_q_full_drop: int
    req_q_full_cookies: int


class Measurement(Data):
    """All figures of a measured cell."""

    connections: Connections
    load: Load
    windows: list[LoadWindow] = []
    memory: Memory | None = Field(description="null if the server's process is unknown")
    held: HeldMemory | None = None
    work: Work | None = Field(description="null if the server's process is unknown")
    container: ContainerUse | None = None
    warmup: Warmup
    noise: Noise
    kernel: Kernel | None
    canary_s: float | None
    sampling: Sampling
    server: ServerFacts | None = Field(
        description=("null if the server does not answer /info according to the contract")
    )
    flags: list[Flag]

    @property
    def is_timed(self) -> bool:
        """Return False for an emulated host, whose times mean nothing."""
        return self.load.goodput_rps is not None

    @property
    def rss_peak_mb(self) -> float | None:
        return self.memory.peak_mb if self.memory else None

    @property
    def threads_peak(self) -> int | None:
        return self.work.threads_peak if self.work else None

    @property
    def is_jvm(self) -> bool:
        """Return True if the server reported a heap."""
        return self.memory is not None and self.memory.heap_used_kb is not None
