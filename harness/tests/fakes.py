"""A simulated machine behind the harness's protocols: servers, load, instruments and time, all in memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from zoo.bench.display import Display
from zoo.bench.window import Clock
from zoo.core.errors import RuntimeFailure
from zoo.core.histogram import Histogram
from zoo.core.host_facts import Limits
from zoo.core.manifest import Entry, Model
from zoo.core.measurement import ContainerUse, ErrorCounts, TaskLimit
from zoo.core.record import Record
from zoo.core.samples import Hits, Noise, Samples, Switches, ThreadTimes
from zoo.core.trial_results import AbResult
from zoo.load.ab import AbSpec
from zoo.load.base import LoadOutcome
from zoo.load.slow_readers import Probes, ReadersSpec
from zoo.load.spec import LoadSpec
from zoo.load.vegeta import Attack, AttackResult
from zoo.runtime.base import GeneratorProcessors, HostedServer, Launch
from zoo.sample.instruments import Instruments
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot
from zoo.sample.requests import Info, Response, ServerLimits

IDLE_KB = 50_000
POOL = 200
RPS = 50_000
ANSWER_BYTES = 150
BETS_AFTER = 4
"""Number of loads with one kind of request after which the simulated compiler optimizes for that kind alone."""

FILES_KB = 10_000
LAST_WORDS = "java.lang.OutOfMemoryError"


@dataclass(eq=False)
class FakeServer(HostedServer):
    """A hosted server. It runs until it is stopped or a fault ends it."""

    launch: Launch
    pid: int
    port: int
    instruments: FakeInstruments
    generator: FakeGenerator
    attacker: FakeAttacker
    benchmarker: FakeBenchmarker
    slow_readers: FakeSlowReaders
    running: bool = True
    graces: list[float] = field(default_factory=list)
    rss_kb: int = IDLE_KB
    cpu_s: float = 1.0
    busy_until_s: float = 0.0
    left_open: int = 0
    closes_at_s: float = 0.0
    loads: int = 0
    learnt: bool = False  # the compiler saw different requests before it optimized for one kind
    thrown_away: bool = False  # the compiled code was discarded
    ready_s: float = 0.4

    def __post_init__(self) -> None:
        self.url = f"http://127.0.0.1:{self.port}"
        self.generator_processors = GeneratorProcessors(len(self.launch.cores.generator)) if self.launch.cores else None

    @property
    def pool(self) -> int | None:
        """Return the number of threads that take requests; None without a pool."""
        bounded = self.launch.entry.variant.model is Model.PLATFORM_THREAD
        return int(self.launch.env.get("MAX_THREADS", POOL)) if bounded else None

    def probe(self) -> Info | None:
        return self.instruments.probe(self.url, self.launch.entry)

    def is_alive(self) -> bool:
        return self.running

    def log_tail(self, lines: int = 20) -> str:
        return LAST_WORDS

    def thread_dump(self, to: Path) -> bool:
        to.write_text("{}", encoding="utf-8")
        return True

    def stop(self, grace_s: float = 15.0) -> int | None:
        self.graces.append(grace_s)
        self.running = False
        return 0


@dataclass(frozen=True)
class Call:
    """One run of the generator. `measured` is true for a cell's window and false for a warm-up."""

    server: FakeServer
    spec: LoadSpec
    measured: bool

    @property
    def entry(self) -> str:
        return self.server.launch.entry.id

    @property
    def delay_s(self) -> float:
        _, _, ms = self.spec.url.partition("?ms=")
        return int(ms or 0) / 1000


def outcome(spec: LoadSpec, pairs: list[list[int]], connect: int = 0, status: int = 0) -> LoadOutcome:
    """Return the generator's result for responses given as [[microseconds, count], ...]."""
    histogram = Histogram.from_pairs(pairs)
    return LoadOutcome(
        requests=histogram.total,
        bytes=histogram.total * ANSWER_BYTES,
        runtime_s=spec.duration_s,
        errors=ErrorCounts(connect=connect, read=0, write=0, status=status, timeout=0),
        histogram=histogram,
        corrected=histogram,
        connections=spec.connections,
        threads=spec.threads,
        cpu_s=1.0,
        busiest_thread=0.5,
        version="4.2.0",
        seconds=(round(histogram.total / spec.duration_s),) * int(spec.duration_s) if spec.by_second else (),
    )


def ideal(call: Call, connect_s: float = 0.0) -> LoadOutcome:
    """Return the result of a closed loop on a server without faults.

    In each cycle, a pool serves as many requests as it has threads, and the others wait for the next cycle.
    """
    spec, delay_s = call.spec, call.delay_s
    loaded_s = spec.duration_s - connect_s
    if not call.measured or not delay_s:
        return outcome(spec, [[round(spec.connections / RPS * 1e6), round(RPS * loaded_s)]])
    pooled = call.server.launch.entry.variant.model is Model.PLATFORM_THREAD and spec.connections > POOL
    cycles = range(1, int(loaded_s // delay_s) + 1)
    if pooled:
        return outcome(spec, [[round(cycle * delay_s * 1e6), POOL] for cycle in cycles])
    return outcome(spec, [[round(delay_s * 1e6), spec.connections * len(cycles)]])


@dataclass
class World:
    """The machine. `fault` may raise, kill the server of a call, or return its outcome; None means no fault."""

    kb_per_connection: float = 20.0
    threads: int = POOL + 31
    unsampled_kb: int = 0  # memory that every server took between two samples
    resets_marks: bool = True
    sizes_itself: bool = False  # the pool reports no maximum number of threads
    keeps: float = 1.0  # share of the connections' memory that the server keeps after a rest of 30 s
    seconds_per_round: float = 1e-7
    available_kb: int = 16 << 20
    pids_max: int | None = None
    pids_refused: Callable[[], int] = lambda: 0
    thread_times: Callable[[FakeServer], list[ThreadTimes]] = lambda server: []
    lag_us: int = 0  # delay of each request at a constant rate
    nofile: int | None = None
    starved: bool = False  # the harness gets no CPU time until the load is over
    works_on_s: float = 0.0  # time a server stays busy after a load, with the remaining work
    closes_after_s: float = 0.0  # time after a load until its clients' connections are closed
    count_s: float = 0.0  # time it takes to count connections
    connect_s: float = 0.0  # time until the connections of the highest count are open; others open immediately
    fault: Callable[[Call], LoadOutcome | None] = lambda call: None
    refuse_start: Callable[[Launch], None] = lambda launch: None
    refuse_probe: Callable[[FakeServer], None] = lambda server: None
    answers: Callable[[FakeServer], bool] = lambda server: True
    servers: list[FakeServer] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ab_non_2xx: int = 0
    ab_closed: int = 0  # requests after which the server closed the connection
    cpu_s_a_load: float = 2.0
    accepted: int = 0
    reopens: int = 0  # connections that a server closes in a window
    attack_fails: int = 0  # number of failed requests, the first of those at a constant rate or with users
    attacks: list[Attack] = field(default_factory=list)
    sampling: int = 0
    connections: int = 0
    seconds: float = 0.0
    most_running: int = 0

    @property
    def limits(self) -> Limits:
        return Limits(nofile_hard=self.nofile)

    @property
    def running(self) -> list[FakeServer]:
        return [s for s in self.servers if s.running]

    @property
    def windows(self) -> list[Call]:
        return [c for c in self.calls if c.measured]

    def connecting(self, spec: LoadSpec) -> float:
        return self.connect_s if spec.connections > 5_000 else 0.0

    def at(self, url: str) -> FakeServer:
        return next(s for s in reversed(self.servers) if url.startswith(s.url))

    def of(self, pid: int) -> FakeServer:
        found = next(s for s in self.servers if s.pid == pid)
        if not found.running:
            raise ProcessLookupError(f"process {pid} has ended")
        return found


class FakeRuntime:
    jdk = None

    def __init__(self, world: World, name: str = "fake") -> None:
        self._world = world
        self.name = name

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> FakeServer:
        with suppress(OSError):  # with a full disk, the server's last words are lost
            launch.log.write_text(LAST_WORDS, encoding="utf-8")
        self._world.refuse_start(launch)
        world = self._world
        pid = 1001 + len(world.servers)
        ports = itertools.count(launch.entry.server.manifest.port + 1_000 * len(world.running), 1_000)
        port = next(port for port in ports if all(server.port != port for server in world.running))
        world.servers.append(
            FakeServer(
                launch,
                pid,
                port,
                FakeInstruments(world),
                FakeGenerator(world),
                FakeAttacker(world),
                FakeBenchmarker(world),
                FakeSlowReaders(world),
            )
        )
        world.most_running = max(world.most_running, len(world.running))
        return self._world.servers[-1]


class FakeTool:
    def __init__(self, world: World) -> None:
        self._world = world

    def pids(self) -> list[int]:
        return []


class FakeGenerator(FakeTool):
    name = "fake"

    def version(self) -> str:
        return "1"

    def run(self, spec: LoadSpec, on_tick: Callable[[float], None] | None = None) -> LoadOutcome:
        world = self._world
        call = Call(world.at(spec.url), spec, measured=world.sampling > 0)
        world.calls.append(call)
        world.connections = spec.connections
        if call.measured or call.delay_s >= 1:
            held_kb = IDLE_KB + round(world.kb_per_connection * spec.connections)
            call.server.rss_kb = max(call.server.rss_kb, held_kb)
        try:
            if world.starved:
                world.seconds += spec.duration_s
            for tick in (11,) if world.starved else range(1, 11):
                if on_tick:
                    on_tick(spec.duration_s * tick / 10)
            given = world.fault(call)
            if call.server.thrown_away and given is None:
                given = outcome(spec, [[4_000, round(RPS * spec.duration_s / 2)]])
        finally:
            world.connections = 0
        call.server.loads, call.server.thrown_away = call.server.loads + 1, False
        world.seconds += 0.0 if world.starved else spec.duration_s
        call.server.cpu_s += world.cpu_s_a_load
        world.accepted += 1 + spec.connections + (world.reopens if call.measured else 0)
        call.server.busy_until_s = world.seconds + world.works_on_s
        call.server.left_open, call.server.closes_at_s = spec.connections, world.seconds + world.closes_after_s
        return given or ideal(call, world.connecting(spec) if call.measured else 0.0)


class FakeAttacker(FakeTool):
    """Constant-rate generator whose responses arrive after the requested wait, or after 10 ms."""

    def run(self, attack: Attack, on_tick: Callable[[float], None] | None = None) -> AttackResult:
        self._world.attacks.append(attack)
        if on_tick:
            on_tick(attack.duration_s)
        delay_us = int(attack.url.partition("?ms=")[2] or 10) * 1000
        if attack.rate:
            due = [round(i * 1e6 / attack.rate) for i in range(round(attack.rate * attack.duration_s))]
            sent = [due[0], *(at + self._world.lag_us for at in due[1:])]
        elif attack.duration_s * 1e6 < delay_us:
            if on_tick:
                on_tick(attack.timeout_s)
            return self._burst(attack, delay_us)
        else:
            assert attack.connections is not None
            sent = [at for at in range(0, round(attack.duration_s * 1e6), delay_us) for _ in range(attack.connections)]
        failed = {"status 503": list(range(self._world.attack_fails))} if self._world.attack_fails else {}
        return AttackResult([Hits(sent, [delay_us] * len(sent), failed)], cpu_s=0.5, version="12.13.0")

    def _burst(self, attack: Attack, delay_us: int) -> AttackResult:
        """Send one request per user, and one more after the first response, as vegeta does.

        A pool serves as many at once as it has threads, until the client's timeout.
        """
        assert attack.connections is not None
        pool = self._world.at(attack.url).pool or attack.connections
        limit_us = round(attack.timeout_s * 1e6)
        took = [min(limit_us, (1 + place // pool) * delay_us) for place in range(attack.connections)]
        late = [place for place, us in enumerate(took) if us == limit_us]
        sent = [0] * attack.connections
        hits = Hits([*sent, delay_us], [*took, delay_us], {"timeout": late} if late else {})
        return AttackResult([hits], cpu_s=0.5, version="12.13.0")


class FakeBenchmarker(FakeTool):
    """ApacheBench stand-in that gets a response to every request."""

    def run(self, spec: AbSpec, on_tick: Callable[[float], None] | None = None) -> AbResult:
        return AbResult(
            requests=spec.requests,
            complete=spec.requests,
            failed=0,
            write_errors=0,
            non_2xx=self._world.ab_non_2xx,
            flawless=self._world.ab_non_2xx == 0,
            kept_alive=spec.requests - self._world.ab_closed,
            runtime_s=2.0,
            requests_per_s=spec.requests / 2,
            percentiles_us=[1_000 + percent for percent in range(101)],
            cpu_s=1.0,
            version="2.3",
        )


class FakeSlowReaders(FakeTool):
    """Readers that each hold a thread of the pool, so that a pool with no more threads answers nobody else."""

    def run(self, spec: ReadersSpec, on_tick: Callable[[float], None] | None = None) -> Probes:
        pool = self._world.at(spec.url).pool
        served = pool is None or spec.readers < pool
        return Probes([2_000 if served else None] * round(spec.duration_s), cpu_s=0.1)


class _Recording:
    def __init__(self, world: World, server: FakeServer) -> None:
        self._world, self._server = world, server
        world.sampling += 1

    def stop(self) -> Samples:
        self._world.sampling -= 1
        spec = self._world.calls[-1].spec
        times = [i / 5 for i in range(int(spec.duration_s * 5) + 1)]
        connect_s = self._world.connecting(spec)
        share = [min(1.0, t / connect_s) if connect_s else float(t > 0) for t in times]
        return Samples(
            hz=5.0,
            elapsed_s=spec.duration_s,
            own_cpu_s=0.01,
            vanished=False,
            t=times,
            rss_kb=[self._server.rss_kb] * len(times),
            cpu_s=[self._server.cpu_s] * len(times),
            threads=[self._world.threads] * len(times),
            established=[6 + round(2 * spec.connections * s) for s in share],
            tcp_mem_kb=[4_096] * len(times),
            runnable=[1] * len(times),
            switches=Switches(voluntary=10_000, involuntary=500, migrations=200, missed=0, ended=0),
        )


class _Quiet:
    def stop(self, known_cpu_s: float | None = 0.0, runnable: float | None = None, /) -> Noise:
        return Noise(elapsed_s=8.0, busy_share=0.5, steal_share=0.0, foreign_share=0.0)


class FakeClock(Clock):
    def __init__(self, world: World) -> None:
        self._world = world

    def rest(self, seconds: float) -> None:
        for server in self._world.running:
            server.cpu_s += min(seconds, max(0.0, server.busy_until_s - self._world.seconds))
        self._world.seconds += seconds
        for server in self._world.running if seconds >= 30 else ():
            server.rss_kb = IDLE_KB + round(self._world.keeps * (server.rss_kb - IDLE_KB))

    def seconds(self) -> float:
        return self._world.seconds

    def now(self) -> str:
        return f"second {self._world.seconds:.0f}"


@dataclass
class ManualTime:
    """Replacement for the module `time` in the tested code. Time passes only when it sleeps or a test advances it."""

    now: float = 100.0
    cpu_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.cpu_s

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.now += seconds


class FakeInstruments(Instruments):
    def __init__(self, world: World) -> None:
        self._world = world

    def probe(self, url: str, entry: Entry) -> Info:
        server = self._world.at(url)
        self._world.refuse_probe(server)
        return _info(self._world, server)

    def info(self, url: str) -> Info | None:
        server = self._world.at(url)
        server.learnt = server.learnt or 0 < server.loads <= BETS_AFTER
        server.thrown_away = not server.learnt and server.loads > BETS_AFTER
        return _info(self._world, server) if server.running else None

    def is_responsive(self, url: str) -> bool:
        return self._world.answers(self._world.at(url))

    def responses(self, url: str, count: int) -> list[Response]:
        return [Response(200, ANSWER_BYTES, "HTTP/1.1 200 OK")] * count

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        server = self._world.of(pid)
        anon_kb = server.rss_kb - FILES_KB if deep else None
        return Snapshot(
            processes=1,
            rss_kb=server.rss_kb,
            cpu_s=server.cpu_s,
            threads=30,
            hwm_kb=server.rss_kb + self._world.unsampled_kb,
            anon_kb=anon_kb,
        )

    def reset_counters(self, pid: int) -> bool:
        return self._world.resets_marks

    def thread_times(self, pid: int) -> list[ThreadTimes]:
        return self._world.thread_times(self._world.of(pid))

    def sample(self, pid: int) -> _Recording:
        return _Recording(self._world, self._world.of(pid))

    def noise(self, pid: int | None = None) -> _Quiet:
        return _Quiet()

    def counters(self, pid: int) -> TcpCounters | None:
        return TcpCounters(
            listen_overflows=0,
            listen_drops=0,
            req_q_full_drop=0,
            req_q_full_cookies=0,
            passive_opens=self._world.accepted,
        )

    def cgroup(self, pid: int) -> ContainerUse | None:
        return ContainerUse(
            version="v2",
            cpu_s=self._world.of(pid).cpu_s,
            throttled_s=None,
            memory_kb=60_000,
            memory_peak_kb=70_000,
            anon_kb=None,
            socket_kb=None,
        )

    def task_limit(self, pid: int) -> TaskLimit | None:
        world = self._world
        return TaskLimit(most=world.pids_max, refused=world.pids_refused()) if world.pids_max else None

    def count_established(self, url: str) -> int | None:
        self._world.seconds += self._world.count_s
        connecting = self._world.connections and self._world.connecting(self._world.calls[-1].spec)
        share = min(1.0, self._world.calls[-1].spec.duration_s / connecting) if connecting else 1.0
        return int(share * self._world.connections)

    def count_unclosed(self, url: str) -> int | None:
        server = self._world.at(url)
        return server.left_open if self._world.seconds < server.closes_at_s else 0

    def has_own_network(self) -> bool:
        return False

    def count_closed(self, url: str, oldest_s: float, newest_s: float) -> int | None:
        return self._world.reopens + 1

    def settle_sockets(self, wait: bool) -> int | None:
        return 0

    def canary(self) -> float:
        return 0.1

    def available_kb(self) -> int:
        return self._world.available_kb

    def seconds_per_round(self, url: str) -> float:
        return self._world.seconds_per_round


class FakeDisplay(Display):
    """Display that keeps the records it should show."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def record(self, record: Record) -> None:
        self.records.append(record)


def _info(world: World, server: FakeServer) -> Info:
    entry = server.launch.entry
    if not server.running:
        raise RuntimeFailure("contract", "contract probe: GET / returned no response")
    return Info(
        server=entry.server.name,
        variant=entry.variant.name,
        model=entry.variant.model.value,
        framework="none",
        framework_version="1",
        runtime="none",
        runtime_version="1",
        transport="epoll",
        pid=server.pid,
        processors=2,
        thread="t-1",
        virtual=entry.variant.model is Model.VIRTUAL_THREAD,
        os_threads=30,
        heap_used=1 << 20,
        heap_committed=2 << 20,
        heap_max=None,
        gc=["G1"],
        gc_count=3,
        gc_time_ms=7,
        requests=1,
        limits=ServerLimits(
            max_threads=None if world.sizes_itself else server.pool, max_connections=None, backlog=65_535, nofile=None
        ),
    )
