"""All figures of a measured cell, as a line of `records.ndjson` has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pydantic import Field, computed_field

from zoo.model.data import Data
from zoo.model.flag import Flag
from zoo.model.samples import Noise
from zoo.model.trial_results import Held


class Connections(Data):
    """How many were asked for, how many this host allowed, and what stood in the way."""

    requested: int
    actual: int
    limited_by: str | None = None
    established: int | None = Field(default=None, description="seen in mid-run; null where not observed")
    lingering: int | None = Field(default=None, description="TIME_WAIT sockets when the window began")
    left_open: int | None = Field(
        default=None, description="of the tier before, not closed by the server when the window began"
    )
    reopened: int | None = Field(
        default=None,
        description="connections accepted in the windows beyond those asked for; null where they cannot be counted",
    )


class ErrorCounts(Data):
    """wrk's counts; `status` are answers above 399, `timeout` replies later than the limit."""

    connect: int
    read: int
    write: int
    status: int
    timeout: int

    @property
    def broken(self) -> int:
        """Requests whose connection failed, which are not among those that were answered."""
        return self.read + self.write

    @property
    def total(self) -> int:
        return self.connect + self.broken + self.status + self.timeout

    @classmethod
    def added(cls, parts: Iterable[ErrorCounts]) -> ErrorCounts:
        sums = Counter[str]()
        for part in parts:
            sums.update(part.model_dump())
        return cls.model_validate(sums)


class Latency(Data):
    """Of the good responses, in microseconds; null where fewer than 100 samples lie beyond the quantile.

    The generator's histogram holds the errors too, at most 1% of it. A figure is null where it could be more than 2%
    off, whichever responses these were.
    All null on an emulated host.
    """

    samples: int
    mean_us: float | None
    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None
    max_us: int | None


class GeneratorUse(Data):
    """What one of several generator hosts did; what lies between it and the server was measured before the load."""

    host: str = Field(description="the engine's name as a person gave it")
    connections: int
    requests: int
    cpu_s: float
    busiest_thread: float
    began_s: float = Field(description="after the first of them, at most")
    round_trip_us: float
    bandwidth_mb_s: float


class Load(Data):
    """What the generator did and saw in the window. What depends on speed is null on an emulated host."""

    generator: str
    version: str
    path: str
    delay_s: float = Field(description="what the scenario asks the server to wait")
    duration_s: float
    timeout_s: float
    runtime_s: float = Field(description="the generator's own run time")
    connect_s: float = Field(description="of it, until all connections were open; 0 where it is too short to see")
    threads: int
    shards: int = Field(default=1, description="generator processes; more than 1 only in earlier records")
    requests: int
    goodput: int = Field(description="requests - bad statuses - timeouts")
    goodput_rps: float | None = Field(description="goodput / (runtime - connect)")
    bytes: int
    errors: ErrorCounts
    latency: Latency
    little: float = Field(description="goodput x mean latency / connections, at most about 1")
    served: float | None = Field(description="with a wait: goodput / (connections x whole cycles of the mean latency)")
    ceiling_rps: float | None = Field(
        default=None,
        description="threads / delay of a pool; those that were seen where it came to fewer than it may have",
    )
    cpu_s: float | None
    busiest_thread: float | None = Field(description="share of a core")
    histogram: str | None = Field(description="file below the run's folder")
    generators: list[GeneratorUse] = Field(default=[], description="where hosts of their own sent")


class Turn(Data):
    """One window of load among those of all servers alive at once; `place` counts these from 0."""

    place: int
    loaded_s: float
    goodput: int
    cpu_s: float | None = Field(description="the server's, in this window; null where its process is not known")
    generator_cpu_s: float
    p50_us: int | None
    p99_us: int | None
    foreign_share: float | None


class Memory(Data):
    """Of the server, in kB; socket memory is the kernel's, outside RSS."""

    rss_idle_kb: int
    rss_before_kb: int
    rss_peak_kb: int = Field(description="the highest of the samples")
    rss_after_kb: int
    rss_rested_kb: int | None = Field(default=None, description="after the rest that ends a block")
    pss_after_kb: int | None
    anon_after_kb: int | None
    hwm_kb: int | None = Field(
        description="the kernel's high-water mark of resident memory since the cell began; null where it could not be "
        "reset, and for several processes"
    )
    socket_before_kb: int | None
    socket_peak_kb: int | None
    heap_used_kb: int | None
    heap_committed_kb: int | None
    heap_max_kb: int | None
    thread_reserved_kb: int | None = Field(
        default=None, description="of platform threads, where the JVM tracks native memory; not resident"
    )
    thread_committed_kb: int | None = None
    heap_by_jcmd_kb: int | None = Field(
        default=None, description="in use, where the JVM tracks native memory; also of one that has no thread to answer"
    )
    direct_used_kb: int | None = Field(
        default=None, description="direct buffers, where a JVM tells: in use, or waiting for its collector"
    )

    @computed_field  # type: ignore[prop-decorator]
    @property
    def peak_kb(self) -> int:
        """The peak of resident memory: the kernel's high-water mark, which sees what lies between two samples.

        Without a mark it is the highest sample. A sample above the mark counts too: the kernel counts pages per CPU, so
        the mark may lag behind by a few hundred kB.
        """
        return max(self.rss_peak_kb, self.hwm_kb or 0)

    @property
    def peak_mb(self) -> float:
        return self.peak_kb / 1024


class Work(Data):
    """What the server spent in the window."""

    cpu_s: float | None = Field(description="null on an emulated host")
    cpu_s_per_million: float | None = Field(description="CPU-seconds per million good answers")
    threads_peak: int
    voluntary_switches: int | None = Field(
        description="of all threads, as far as they were seen; without switches_missed by how much the sum over living "
        "threads rose, too few where some ended"
    )
    involuntary_switches: int | None
    switches_missed: int | None = Field(
        default=None,
        description="what threads that ended may have done after they were last looked at: at their rate in the "
        "interval before, or since they began where there was none",
    )
    threads_ended: int | None = Field(default=None, description="platform threads, of those that were seen")
    migrations: int | None = Field(default=None, description="of threads from one CPU to another")
    lock_waits: int | None = Field(
        default=None,
        description="of threads for a lock, in all windows, also one that is dropped, where the JVM records them "
        "(-XX:FlightRecorderOptions)",
    )
    gc_count: int | None
    gc_time_ms: int | None


class ContainerUse(Data):
    """What the container's control group says; its memory contains page cache and kernel memory."""

    version: str
    cpu_s: float | None = Field(description="in the window, beside the sum over processes in `work`")
    throttled_s: float | None = Field(description="in the window, held back by the CPU limit")
    memory_kb: int | None
    memory_peak_kb: int | None = Field(description="since the container started")
    anon_kb: int | None
    socket_kb: int | None


class Pace(Data):
    """How fast a machine of unknown speed is, in connections a second."""

    opened: float
    served: float = Field(description="given their answer, when all ask at once")


class Warmup(Data):
    """Windows of load before the measured one; `reached` is null for a fixed, brief one."""

    seconds: float
    connections: int
    gentle: int = Field(default=0, description="the first windows, which had few connections for a JVM's compiler")
    window_rps: list[float]
    reached: bool | None
    pace: Pace | None = Field(default=None, description="on an emulated host, what its waits and windows are scaled to")


class Sampling(Data):
    """The sampler's own cost and where its samples are."""

    sampler: str = Field(
        default="host",
        description="`host`: read from this host's /proc; `agent`: by a process that joined the server's PID namespace",
    )
    hz: float
    cpu_share: float | None
    samples: str


class ServerFacts(Data):
    """What the server said of itself when probed."""

    framework: str
    framework_version: str
    runtime: str
    runtime_version: str
    thread: str
    virtual: bool
    gc: list[str]
    limits: dict[str, int | None]
    transport: str | None = Field(default=None, description="how it reads and writes, such as `epoll`; null: not told")
    ready_s: float | None = Field(description="null where something else started it, or on an emulated host")


class Kernel(Data):
    """Counters of the network stack over the window."""

    listen_overflows: int
    listen_drops: int
    req_q_full_drop: int
    req_q_full_cookies: int


class Measurement(Data):
    """All figures of a measured cell."""

    connections: Connections
    load: Load
    windows: list[Turn] = []
    memory: Memory | None = Field(description="null where the server's process is not known")
    held: Held | None = None
    work: Work | None = Field(description="null where the server's process is not known")
    container: ContainerUse | None = None
    warmup: Warmup
    noise: Noise
    kernel: Kernel | None
    canary_s: float | None
    sampling: Sampling
    server: ServerFacts | None = Field(description="null where the server does not answer /info as the contract says")
    flags: list[Flag]

    @property
    def timed(self) -> bool:
        """False of an emulated host, whose time says nothing."""
        return self.load.goodput_rps is not None

    @property
    def rss_peak_mb(self) -> float | None:
        return self.memory.peak_mb if self.memory else None

    @property
    def threads_peak(self) -> int | None:
        return self.work.threads_peak if self.work else None

    @property
    def jvm(self) -> bool:
        """True where the server told of a heap."""
        return self.memory is not None and self.memory.heap_used_kb is not None
