"""The data model of a run: what is written to `run.json` and `records.ndjson`."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from zoo.host.facts import HostFacts
from zoo.results import Held, Program, Result
from zoo.sample.noise import Noise

PROTOCOL = 2
"""Version of the measurement protocol; runs of different protocols are not comparable."""


UNKNOWN = "unknown"
"""The thread model of a server that something else started."""

_ERROR = re.compile(r"Error|Exception|panicked|fatal")


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Flag(StrEnum):
    """What an expert would object to in a cell. Its text says what happened and what to do."""

    CLAMPED = "clamped"
    GENERATOR_SATURATED = "generator_saturated"
    SHARED_CORES = "shared_cores"
    STARVED = "starved"
    POOL_CEILING = "pool_ceiling"
    LITTLE_HIGH = "little_high"
    NOT_ESTABLISHED = "not_established"
    SLOW_CONNECT = "slow_connect"
    LISTEN_DROPS = "listen_drops"
    WARMUP_SHORT = "warmup_short"
    FOREIGN_CPU = "foreign_cpu"
    NEAR_REFERENCE = "near_reference"
    SOCKETS_LINGER = "sockets_linger"
    BAD_ANSWERS = "bad_answers"
    NOT_AT_ONCE = "not_at_once"
    GENERATOR_BEHIND = "generator_behind"
    LITTLE_WORK = "little_work"
    LEFT_OPEN = "left_open"

    @property
    def text(self) -> str:
        return _FLAG_TEXT[self]


_FLAG_TEXT = {
    Flag.CLAMPED: "this host cannot hold the tier; it ran at the largest feasible count (zoo doctor: what to raise)",
    Flag.GENERATOR_SATURATED: "a wrk thread used over 90 % of a core: a lower bound (give the generator more cores)",
    Flag.SHARED_CORES: "server and generator left under 10 % of the shared cores idle: a lower bound, "
    "compare CPU per request",
    Flag.STARVED: "under 90 % of the connections had a request under way: the rest waited in a busy generator, "
    "were starved, hung or never opened",
    Flag.POOL_CEILING: "the pool serves at most threads ÷ delay; the rest waited: the thread model, not an error",
    Flag.LITTLE_HIGH: "goodput × latency is over 110 % of the connections: the histogram is wrong, do not use this",
    Flag.NOT_ESTABLISHED: "fewer than 98 % of the connections were established in mid-run",
    Flag.SLOW_CONNECT: "opening the connections took over half of the window; what was left of it is short",
    Flag.LISTEN_DROPS: "the kernel dropped connection attempts (raise net.core.somaxconn)",
    Flag.WARMUP_SHORT: "throughput had not settled when warm-up ended (the record has its windows)",
    Flag.FOREIGN_CPU: "other programs used over 3 % of the machine (stop them and repeat)",
    Flag.NEAR_REFERENCE: "within 10 % of the bare reference server: generator or kernel may limit it, a lower bound",
    Flag.SOCKETS_LINGER: "over 5,000 sockets of the cell before were still in TIME_WAIT",
    Flag.BAD_ANSWERS: "some answers were errors or cut off; goodput leaves them out",
    Flag.NOT_AT_ONCE: "this emulated host takes longer to read all requests than the longest wait: they were not all "
    "held at the same time (leave it more of the machine)",
    Flag.GENERATOR_BEHIND: "the generator did not keep to the rate it was asked for: no data (the record says why)",
    Flag.LITTLE_WORK: "a request took under half of the CPU time that its case names: calibrated wrongly, "
    "do not use this",
    Flag.LEFT_OPEN: "the server had not closed the connections of the tier before: they took memory and descriptors",
}

LOWER_BOUND = frozenset({Flag.GENERATOR_SATURATED, Flag.SHARED_CORES, Flag.NEAR_REFERENCE})
"""Flags that turn a throughput into a lower bound (method: was it the server that was measured?)."""


class Condition(_Data):
    """What besides entry, scenario and tier identifies a cell."""

    runtime: str = "process"
    network: str = Field(
        default="host",
        description="`private`: in a network namespace of the run's own; `host`: in the host's; "
        "`container`, `vm`: in that of the server's container or guest, which has loopback only; `remote`: beyond "
        "loopback",
    )
    jdk: str | None = None
    jvm_flags: list[str] = []
    env: dict[str, str] = {}
    cpus: float | None = Field(
        default=None, description="a limit of the server's container; of a process: the processors it is given"
    )
    memory: str | None = Field(
        default=None,
        description="limit of the server's container, or all of the guest's memory, as the engine takes it: 512m, 2g",
    )
    accelerator: str | None = Field(
        default=None,
        description="of a guest: `kvm`, its processor is this host's; `tcg`, it is emulated and its time says nothing",
    )

    @property
    def emulated(self) -> bool:
        """True where nothing that depends on speed may be told."""
        return self.accelerator == "tcg"


class Connections(_Data):
    """How many were asked for, how many this host allowed, and what stood in the way."""

    requested: int
    actual: int
    limited_by: str | None = None
    established: int | None = Field(default=None, description="seen in mid-run; null where not observed")
    lingering: int | None = Field(default=None, description="TIME_WAIT sockets when the window began")
    left_open: int | None = Field(
        default=None, description="of the tier before, not closed by the server when the window began"
    )


class ErrorCounts(_Data):
    """wrk's counts; `status` are answers above 399, `timeout` replies later than the limit."""

    connect: int
    read: int
    write: int
    status: int
    timeout: int


class Latency(_Data):
    """From the raw histogram, in microseconds; null where fewer than 100 samples lie beyond the quantile.

    All null on an emulated host.
    """

    samples: int
    mean_us: float | None
    p50_us: int | None
    p90_us: int | None
    p99_us: int | None
    p999_us: int | None
    max_us: int | None


class Load(_Data):
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
    shards: int
    requests: int
    goodput: int = Field(description="requests - bad statuses - timeouts")
    goodput_rps: float | None = Field(description="goodput / (runtime - connect)")
    bytes: int
    errors: ErrorCounts
    latency: Latency
    little: float = Field(description="goodput x mean latency / connections, at most about 1")
    served: float | None = Field(description="with a wait: goodput / (connections x whole cycles)")
    ceiling_rps: float | None = Field(
        default=None,
        description="threads / delay of a pool; those that were seen where it came to fewer than it may have",
    )
    cpu_s: float | None
    busiest_thread: float | None = Field(description="share of a core")
    histogram: str | None = Field(description="file below the run's folder")


class Turn(_Data):
    """One window of load among those of all servers alive at once; `place` counts these from 0."""

    place: int
    loaded_s: float
    goodput: int
    cpu_s: float | None = Field(description="the server's, in this window; null where its process is not known")
    generator_cpu_s: float
    p50_us: int | None
    p99_us: int | None
    foreign_share: float | None


class Memory(_Data):
    """Of the server, in kB; socket memory is the kernel's, outside RSS."""

    rss_idle_kb: int
    rss_before_kb: int
    rss_peak_kb: int
    rss_after_kb: int
    rss_rested_kb: int | None = Field(default=None, description="after the rest that ends a block")
    pss_after_kb: int | None
    anon_after_kb: int | None
    hwm_kb: int | None
    socket_before_kb: int | None
    socket_peak_kb: int | None
    heap_used_kb: int | None
    heap_committed_kb: int | None
    heap_max_kb: int | None
    thread_reserved_kb: int | None = Field(
        default=None, description="of platform threads, where the JVM tracks native memory; not resident"
    )
    thread_committed_kb: int | None = None
    direct_used_kb: int | None = Field(
        default=None, description="direct buffers, where a JVM tells: in use, or waiting for its collector"
    )


class Work(_Data):
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
    gc_count: int | None
    gc_time_ms: int | None


class ContainerUse(_Data):
    """What the container's control group says; its memory contains page cache and kernel memory."""

    version: str
    cpu_s: float | None = Field(description="in the window, beside the sum over processes in `work`")
    throttled_s: float | None = Field(description="in the window, held back by the CPU limit")
    memory_kb: int | None
    memory_peak_kb: int | None = Field(description="since the container started")
    anon_kb: int | None
    socket_kb: int | None


class Pace(_Data):
    """How fast a machine of unknown speed is, in connections a second."""

    opened: float
    served: float = Field(description="given their answer, when all ask at once")


class Warmup(_Data):
    """Windows of load before the measured one; `reached` is null for a fixed, brief one."""

    seconds: float
    connections: int
    gentle: int = Field(default=0, description="the first windows, which had few connections for a JVM's compiler")
    window_rps: list[float]
    reached: bool | None
    pace: Pace | None = Field(default=None, description="on an emulated host, what its waits and windows are scaled to")


class Sampling(_Data):
    """The sampler's own cost and where its samples are."""

    sampler: str = Field(
        default="host",
        description="`host`: read from this host's /proc; `agent`: by a process that joined the server's PID namespace",
    )
    hz: float
    cpu_share: float | None
    samples: str


class Failure(_Data):
    """Why a cell has no figures."""

    kind: str
    message: str
    log_tail: str = ""

    @property
    def text(self) -> str:
        """What happened; of a program that ended by itself, the error that it left in its log too."""
        error = last_error(self.log_tail) if self.kind in ("crashed", "not_started") else ""
        return f"{self.message}: {error}" if error and error not in self.message else self.message


def last_error(log: str) -> str:
    """The last line that names an error as a JVM or a Rust program does; empty where none does."""
    return next((line.strip() for line in reversed(log.splitlines()) if _ERROR.search(line)), "")


class ServerFacts(_Data):
    """What the server said of itself when probed."""

    framework: str
    framework_version: str
    runtime: str
    runtime_version: str
    thread: str
    virtual: bool
    gc: list[str]
    limits: dict[str, int | None]
    ready_s: float | None = Field(description="null where something else started it, or on an emulated host")


class Kernel(_Data):
    """Counters of the network stack over the window."""

    listen_overflows: int
    listen_drops: int
    req_q_full_drop: int
    req_q_full_cookies: int


class Measurement(_Data):
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
        return self.memory.rss_peak_kb / 1024 if self.memory else None

    @property
    def threads_peak(self) -> int | None:
        return self.work.threads_peak if self.work else None

    @property
    def jvm(self) -> bool:
        """True where the server told of a heap."""
        return self.memory is not None and self.memory.heap_used_kb is not None


class Trial(_Data):
    """What a cell gave that is no plain wrk window: its result, and what was read around it."""

    result: Result
    connections: Connections | None = None
    memory: Memory | None = None
    work: Work | None = None
    warmup: Warmup | None = None
    noise: Noise | None = None
    kernel: Kernel | None = None
    canary_s: float | None = None
    sampling: Sampling | None = None
    server: ServerFacts | None = None
    flags: list[Flag] = []


class Record(_Data):
    """What one cell gave in one round: a measurement, a trial or a failure."""

    protocol: int = PROTOCOL
    entry: str
    model: str
    scenario: str
    case: str = Field(default="", description="which form of the scenario's request, where it has several")
    tier: str
    condition: Condition
    round: int
    position: int = Field(description="place of the entry in the round's order, from 0")
    together: list[str] = Field(default=[], description="the entries that were alive at once, their windows in turns")
    started_at: str
    measurement: Measurement | None = None
    trial: Trial | None = None
    failure: Failure | None = None

    @property
    def asked(self) -> str:
        """The scenario with its case: cells that differ in it are different loads."""
        return asked(self.scenario, self.case)

    @property
    def key(self) -> tuple[str, str, str, int]:
        return (self.entry, self.asked, self.tier, self.round)


def asked(scenario: str, case: str) -> str:
    """`cpu 0.5ms+2ms`; the scenario alone where it has but one case."""
    return f"{scenario} {case}" if case else scenario


def stem(entry: str, asked: str) -> str:
    """How names of files below `raw/` begin."""
    return f"{entry.replace(':', '-')}-{asked.replace(' ', '-')}"


class Target(_Data):
    """A server that already runs: where, and as which process, if that is known."""

    url: str
    pid: int | None = None


class PlanFacts(_Data):
    """The plan a run carries out; with the seed it gives the order of every round."""

    entries: list[str]
    scenarios: list[str]
    tiers: list[str]
    rounds: int
    seed: int
    profile: dict[str, float]
    condition: Condition
    variations: dict[str, Condition] = Field(
        default={}, description="further conditions, under which each entry is measured too, as `ENTRY@NAME`"
    )
    twins: list[str] = Field(default=[], description="entries measured a second time a round as `ENTRY.again`: A/A")
    twin_scenarios: list[str] = []
    design: str = Field(default="rounds", description="how a server's entries are set against each other")
    targets: dict[str, Target] = Field(
        default={}, description="of the entries, those that are servers which something else started"
    )
    guests: list[str] = Field(
        default=[], description="entries from outside the zoo, targets among them; each is compared with all others"
    )
    programs: dict[str, Program] = Field(
        default={}, description="by scenario, where it has cases and connection counts of its own instead of the tiers"
    )

    @property
    def twin_cells(self) -> int:
        return sum(self._cells(name, self.twins) for name in self.twin_scenarios) * self.rounds

    @property
    def cells(self) -> int:
        """Cells of all rounds, A/A included."""
        once = sum(self._cells(name, self.entries) for name in self.scenarios)
        return once * (1 + len(self.variations)) * self.rounds + self.twin_cells

    @property
    def counts(self) -> list[str]:
        """All connection counts that are asked for, as tiers; at a constant rate there are as many as come."""
        plain = self.tiers if any(name not in self.programs for name in self.scenarios) else []
        own = (
            name
            for program in self.programs.values()
            for name in program.tiers
            if not any(case.rate for case in program.cases)
        )
        return list(dict.fromkeys([*plain, *own]))

    def _cells(self, scenario: str, entries: list[str]) -> int:
        program = self.programs.get(scenario)
        return program.cells(entries) if program else len(entries) * len(self.tiers)


class Run(_Data):
    """`run.json`: what was to be measured, where, with what."""

    protocol: int = PROTOCOL
    id: str
    started_at: str
    finished_at: str | None = None
    commit: str | None
    dirty: bool | None
    harness: str
    plan: PlanFacts
    host: HostFacts


def schema() -> dict[str, Any]:
    """JSON schema of `run.json` and of one line of `records.ndjson`."""
    return {"run": Run.model_json_schema(), "record": Record.model_json_schema()}
