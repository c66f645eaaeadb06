"""The results of scenarios whose cells are more than windows of wrk; `told` is one in a few words."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from zoo.model.data import Data


class Released(Data):
    """A server's memory in kB some seconds after it released its connections."""

    after_s: float
    rss_kb: int
    anon_kb: int | None
    heap_used_kb: int | None
    heap_committed_kb: int | None


class Held(Data):
    """A server's memory in kB while all connections were held, seen once in mid-window, and before the window."""

    anon_before_kb: int | None
    heap_before_kb: int | None = Field(description="in use, garbage included, as in the others")
    established: int | None
    rss_kb: int
    anon_kb: int | None
    pss_kb: int | None
    heap_used_kb: int | None
    heap_committed_kb: int | None
    released: Released | None = Field(default=None, description="after the last tier of a block")


class RampResult(Data):
    """All of C connections at once on a server at rest. Times in seconds after the first request."""

    kind: Literal["ramp"] = "ramp"
    delay_s: float
    connections: int
    duration_s: float
    window_s: float
    windows: list[int] = Field(description="good answers in each window")
    t95_s: float | None = Field(description="null: never reached; no answer can come before the delay")
    plateau: float | None = Field(description="answers a second from t95 on, as a share of connections / delay")
    late: float | None = Field(description="the same over the whole delays in the last third")
    kept: bool = Field(description="the plateau is at least 95 %")
    answered: int
    failed: dict[str, int]
    threads_t: list[float] = Field(description="when the OS threads were counted")
    threads: list[int]
    cpu_s: float = Field(description="the generator's")
    version: str
    answers: str = Field(description="file below the run's folder: when each good answer was there")

    @property
    def told(self) -> str:
        if self.t95_s is None:
            return f"95 % never served within {self.duration_s:g} s"
        return f"95 % served after {self.t95_s:.1f} s"


class HeapTrial(Data):
    """One heap that was tried; `why` it did not work."""

    mb: int
    worked: bool
    why: str = ""


class HeapResult(Data):
    """The smallest heap with which all connections are held and served."""

    kind: Literal["heap"] = "heap"
    connections: int
    delay_s: float
    smallest_mb: int | None = Field(description="null: the largest that was tried does not do")
    steady: bool = Field(description="false when one did that is not larger than every one that did not")
    trials: list[HeapTrial] = Field(description="in the order they were made")

    @property
    def told(self) -> str:
        if self.smallest_mb is None:
            return f"not even -Xmx{max(t.mb for t in self.trials)}m does"
        return f"-Xmx{self.smallest_mb}m does, after {len(self.trials)} trials"


class ScaleStep(Data):
    """So many connections that were all held and served."""

    connections: int
    rss_kb: int = Field(description="in mid-window")
    answers: int


class ScaleResult(Data):
    """Twice as many connections each time, on one server."""

    kind: Literal["scale"] = "scale"
    delay_s: float
    addresses: int = Field(description="of loopback that the load was spread over")
    steps: list[ScaleStep]
    stopped_by: str

    @property
    def reached(self) -> int:
        """The most that were held; 0 for none."""
        return max((step.connections for step in self.steps), default=0)

    @property
    def told(self) -> str:
        return f"{self.reached:,} held, then {self.stopped_by}"


class Lag(Data):
    """How long after they were due requests were sent."""

    p50_us: int
    p99_us: int
    max_us: int


class Quantiles(Data):
    """Over all requests, from when each was due; null: fewer than 100 lie beyond it, or it is one without an answer."""

    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None


class OpenResult(Data):
    """A constant arrival rate. `behind` says why the generator did not make it: such figures say nothing."""

    kind: Literal["open"] = "open"
    rate: int = Field(description="requests a second")
    share: float | None = Field(default=None, description="of the capacity that the rate is, where it is one")
    capacity_rps: float | None = Field(default=None, description="of the slowest entry under this generator")
    delay_s: float
    duration_s: float
    timeout_s: float
    keep_alive: bool
    due: int
    sent: int
    ok: int
    ok_share: float = Field(description="of those sent")
    total_s: float = Field(description="from the first request to the last answer or failure")
    ok_per_s: float = Field(description="over the total duration")
    failures: dict[str, int]
    lag: Lag
    late_limit_us: int
    behind: str | None
    latency: Quantiles
    cpu_s: float = Field(description="the generator's")
    version: str
    histogram: str = Field(description="file below the run's folder: latencies of the good answers")

    @property
    def told(self) -> str:
        if self.behind:
            return f"no data: {self.behind}"
        return f"{100 * self.ok_share:.1f} % OK at {self.rate:,}/s, {self.ok_per_s:,.0f} OK/s"


class AbResult(Data):
    """So many requests by ApacheBench, over kept-alive HTTP/1.0 connections."""

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
    percentiles_us: list[int] = Field(description="0 to 100: the fastest, the percentiles, the slowest")
    cpu_s: float = Field(description="the generator's")
    version: str

    @property
    def told(self) -> str:
        bad = self.failed + self.non_2xx + self.write_errors
        return f"{self.requests_per_s:,.0f} req/s, {bad:,} of {self.requests:,} bad"


class StartupResult(Data):
    """Starts of an entry, each from the start of its process (its container) to the first good answer."""

    kind: Literal["startup"] = "startup"
    way: str = Field(description="`default`, `cds` (class-data sharing) or `aot` (ahead-of-time cache)")
    first_answer_s: list[float] = Field(description="a start each, in order")
    rss_kb: list[int] = Field(description="after a rest of `rest_s`, of the first starts")
    anon_kb: list[int]
    rest_s: float
    archive_kb: int | None

    @property
    def told(self) -> str:
        ordered = sorted(self.first_answer_s)
        return f"first answer after {1000 * ordered[len(ordered) // 2]:,.0f} ms, {len(ordered)} starts"


Result = Annotated[
    RampResult | HeapResult | ScaleResult | OpenResult | AbResult | StartupResult, Field(discriminator="kind")
]
