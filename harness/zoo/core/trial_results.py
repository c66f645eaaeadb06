"""The results of scenarios whose cells are more than windows of wrk, each with a `summary` in a few words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from zoo.core.data import Data


class ReleasedMemory(Data):
    """A server's memory in kB some seconds after it released its connections."""

    after_s: float
    rss_kb: int
    anon_kb: int | None
    heap_used_kb: int | None
    heap_committed_kb: int | None


class HeldMemory(Data):
    """A server's memory in kB with all connections held, from one sample in mid-window, and before the window."""

    anon_before_kb: int | None
    heap_before_kb: int | None = Field(description="in use, including garbage, as in the other fields")
    established: int | None
    rss_kb: int
    anon_kb: int | None
    pss_kb: int | None
    heap_used_kb: int | None
    heap_committed_kb: int | None
    released: ReleasedMemory | None = Field(default=None, description="after the last connection count of a block")


class RampResult(Data):
    """A burst of one request per connection on a server at rest. Times are in seconds after the first request."""

    kind: Literal["ramp"] = "ramp"
    delay_s: float
    connections: int
    duration_s: float
    window_s: float
    windows: list[int] = Field(description="good responses in each window")
    t95_s: float | None = Field(description="null if never reached; no response can arrive before the delay")
    plateau: float | None = Field(description=("responses per second from t95 on, as a share of connections / delay"))
    late: float | None = Field(description="the same, over the whole delays in the last third")
    kept: bool = Field(description="the plateau is at least 95%")
    answered: int
    failed: dict[str, int]
    threads_t: list[float] = Field(description="when the OS threads were counted")
    threads: list[int]
    cpu_s: float = Field(description="the generator's")
    version: str
    answers: str = Field(description="path below the run's folder: arrival time of each good response")

    @property
    def summary(self) -> str:
        if self.t95_s is None:
            return f"95% never served within {self.duration_s:g} s"
        return f"95% served after {self.t95_s:.1f} s"


class Quantiles(Data):
    """Latency of all requests from the time at which each was due.

    A quantile is null if fewer than 100 requests lie beyond it, or if it falls on a request without a response.
    """

    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None


class IdlePool(Data):
    """The cost of fast requests to a server whose pool was filled once and is idle otherwise."""

    connections: int
    threads: int = Field(description="OS threads of the process during the load")
    answers: int
    cpu_us: float | None = Field(description="the server's CPU time per answer")


class PoolSizeResult(Data):
    """Requests that were sent at once, one per connection, and all wait.

    A request was served in the first wait if its answer came less than two delays after the first request was sent, so
    that no thread can have served two. Quantiles count a request without an answer as slower than every answer.
    """

    kind: Literal["pool-size"] = "pool-size"
    delay_s: float
    timeout_s: float
    requests: int
    pool: int | None = Field(description="threads that take requests; null: a pool that sizes itself, or no pool")
    served_first: int
    served: int = Field(description="until the timeout")
    failed: dict[str, int]
    latency: Quantiles
    grown_s: float | None = Field(description="until 99 % of those served in the first wait had a thread")
    threads: int | None = Field(description="most OS threads of the process")
    rss_kb: int | None = Field(description="of the server in one sample while the requests wait, as the next two")
    heap_kb: int | None = Field(
        description="in use, with garbage and allocation buffers that need not be resident; null without a JVM"
    )
    stacks_kb: int | None = Field(description="resident stacks and structures of platform threads")
    stopped_by: str = Field(default="", description="the limit that was reached")
    fix: str = Field(default="", description="the setting that raises it")
    hello: IdlePool | None = Field(description="null: the server did not survive it")
    cpu_s: float | None = Field(description="the generator's")
    version: str
    answers: str | None = Field(description="file below the run's folder: latencies of the good answers in µs")

    @property
    def summary(self) -> str:
        why = f", {self.stopped_by}" if self.stopped_by else ""
        return f"{self.served_first:,} of {self.requests:,} served in the first wait{why}"


class HeapTrial(Data):
    """One heap size that was tried; `why` says why it did not work."""

    mb: int
    worked: bool
    why: str = ""


class HeapResult(Data):
    """The smallest heap with which all connections are held and served."""

    kind: Literal["heap"] = "heap"
    connections: int
    delay_s: float
    smallest_mb: int | None = Field(description="null if even the largest heap tried was too small")
    steady: bool = Field(description="false if a heap that was enough is not larger than every one that was not")
    trials: list[HeapTrial] = Field(description="in the order in which they were made")

    @property
    def summary(self) -> str:
        if self.smallest_mb is None:
            return f"not even -Xmx{max(t.mb for t in self.trials)}m is enough"
        return f"-Xmx{self.smallest_mb}m is enough, after {len(self.trials)} trials"


class ScaleStep(Data):
    """One connection count at which all connections were held and served."""

    connections: int
    rss_kb: int = Field(description="in mid-window")
    answers: int


class ScaleResult(Data):
    """A series of connection counts on one server, each twice the one before."""

    kind: Literal["scale"] = "scale"
    delay_s: float
    addresses: int = Field(description="loopback addresses over which the load was spread")
    steps: list[ScaleStep]
    stopped_by: str

    @property
    def reached(self) -> int:
        """Return the highest connection count that was held; 0 if there is none."""
        return max((step.connections for step in self.steps), default=0)

    @property
    def summary(self) -> str:
        return f"{self.reached:,} held, then {self.stopped_by}"


class Lag(Data):
    """Delay between the time at which requests were due and the time at which they were sent."""

    p50_us: int
    p99_us: int
    max_us: int


class OpenResult(Data):
    """A constant arrival rate.

    `behind` says why the generator did not reach it; the figures then mean nothing.
    """

    kind: Literal["open"] = "open"
    rate: int = Field(description="requests per second")
    share: float | None = Field(default=None, description="share of the capacity, if the rate is one")
    capacity_rps: float | None = Field(default=None, description=("capacity of the slowest entry with this generator"))
    delay_s: float
    duration_s: float
    timeout_s: float
    keep_alive: bool
    due: int
    sent: int
    ok: int
    ok_share: float = Field(description="share of the requests sent")
    total_s: float = Field(description="from the first request to the last response or failure")
    ok_per_s: float = Field(description="over the total duration")
    failures: dict[str, int]
    lag: Lag
    late_limit_us: int
    behind: str | None
    latency: Quantiles
    cpu_s: float = Field(description="the generator's")
    version: str
    histogram: str = Field(description="path below the run's folder: latencies of the good responses")

    @property
    def summary(self) -> str:
        if self.behind:
            return f"no figures: {self.behind}"
        return f"{100 * self.ok_share:.1f}% OK at {self.rate:,}/s, {self.ok_per_s:,.0f} OK/s"


class AbResult(Data):
    """A fixed number of requests by ApacheBench, over kept-alive HTTP/1.0 connections."""

    kind: Literal["ab"] = "ab"
    requests: int
    complete: int
    failed: int
    non_2xx: int
    write_errors: int
    kept_alive: int
    flawless: bool
    requests_per_s: float
    runtime_s: float
    percentiles_us: list[int] = Field(description="0 to 100: the fastest, the percentiles and the slowest")
    cpu_s: float = Field(description="the generator's")
    version: str

    @property
    def summary(self) -> str:
        bad = self.failed + self.non_2xx + self.write_errors
        return f"{self.requests_per_s:,.0f} req/s, {bad:,} of {self.requests:,} bad"


class SlowReadersResult(Data):
    """Small requests next to clients that read nothing of a large response."""

    kind: Literal["slow-readers"] = "slow-readers"
    readers: int
    patience_s: float = Field(description="a response that begins later counts as unanswered")
    requests: int
    answered: int
    p50_us: int | None = Field(description="until a response begins; null if more than half were unanswered")
    cpu_s: float = Field(description="the generator's")

    @property
    def summary(self) -> str:
        return f"{self.answered:,} of {self.requests:,} answered within {self.patience_s:g} s"


class StartupResult(Data):
    """Starts of an entry, each measured from the start of its process or container to the first good response."""

    kind: Literal["startup"] = "startup"
    way: str = Field(description="`default`, `cds` (class-data sharing) or `aot` (ahead-of-time cache)")
    first_answer_s: list[float] = Field(description="one start each, in order")
    rss_kb: list[int] = Field(description="after a rest of `rest_s`, for the first starts")
    anon_kb: list[int]
    rest_s: float
    archive_kb: int | None

    @property
    def summary(self) -> str:
        ordered = sorted(self.first_answer_s)
        return f"first answer after {1000 * ordered[len(ordered) // 2]:,.0f} ms, {len(ordered)} starts"


class ThreadUse(Data):
    """Sums over threads of one kind since the load began, at several times."""

    t: list[float]
    cpu_s: list[float]
    waited_s: list[float] = Field(description="in the run queue, ready to run but without a processor")


class ColdResult(Data):
    """A load on a server that has just started, from the moment it listens."""

    kind: Literal["cold"] = "cold"
    way: str = Field(description="`default` or `aot` (ahead-of-time cache)")
    connections: int
    duration_s: float
    delay_s: float = Field(description="between the line that says the server listens and the load")
    seconds: list[int] = Field(description="responses in each second of the load")
    steady_rps: float = Field(description="of the same process, after a warm-up")
    t95_s: float | None = Field(description="until 95% of the steady rate; null if never reached")
    compiler: ThreadUse | None = Field(description="threads of the JIT compiler; null without a JVM")
    request: ThreadUse | None = Field(
        description="OS threads that run requests: those of the pool, or the carriers of virtual threads"
    )
    cpu_s: float = Field(description="the generator's")
    version: str

    @property
    def summary(self) -> str:
        if self.t95_s is None:
            return f"95% of {self.steady_rps:,.0f} req/s not reached within {self.duration_s:g} s"
        return f"95% of {self.steady_rps:,.0f} req/s after {self.t95_s:g} s"


class JdbcResult(Data):
    """The result of one JMH fork."""

    kind: Literal["jdbc"] = "jdbc"
    ops_per_s: float = Field(description="mean of the fork's iterations")
    iterations: list[float] = Field(description="operations per second of each")
    max_connections: int = Field(description="as reported by the server")
    connections: int = Field(description=("connections of the pool; fewer than requested if the server allows fewer"))
    pinned_events: int = Field(description="jdk.VirtualThreadPinned, without a threshold")
    pinned_ms: float
    threads_peak: int
    memory_peak_kb: int | None = Field(description="resident memory of the benchmark's JVM")
    gc_count: int
    gc_time_ms: int
    client_cpu_us: float = Field(description="CPU time per operation of the benchmark's JVM")
    database_cpu_us: float | None = Field(
        description=("CPU time per operation of the server; null for an external server")
    )
    round_trip_ms: float = Field(description="to the server directly, median of 51")
    added_ms: float = Field(description="measured round trip through the slow wire, minus the direct one")
    bound_ops_per_s: float | None = Field(
        description=("threads or connections taken ÷ wait; null if nothing limits it")
    )
    server: str = Field(description="name and version of the database, and the origin of its programs")
    jvm: str
    jvm_args: list[str]
    jmh: str
    raw: str = Field(description="JMH's own JSON, path below the run's folder")

    @property
    def summary(self) -> str:
        bound = "" if self.bound_ops_per_s is None else f" (limit {self.bound_ops_per_s:,.0f})"
        return f"{self.ops_per_s:,.0f} ops/s{bound}"


class FloodResult(Data):
    """The outcome of running all tasks at once, observed from outside the JVM. A crash is a valid result."""

    kind: Literal["jdbc-flood"] = "jdbc-flood"
    pool: int
    server: str
    added_ms: float
    heap: str
    memory_limit_mb: int = Field(description="resident memory at which the JVM is killed")
    outcome: str
    seconds: float
    peak_rss_kb: int
    peak_threads: int
    log_tail: str

    @property
    def summary(self) -> str:
        return f"{self.outcome}, {self.peak_rss_kb / 1024:,.0f} MB, {self.peak_threads:,} threads"


Result = Annotated[
    RampResult
    | PoolSizeResult
    | HeapResult
    | ScaleResult
    | OpenResult
    | AbResult
    | SlowReadersResult
    | StartupResult
    | ColdResult
    | JdbcResult
    | FloodResult,
    Field(discriminator="kind"),
]
