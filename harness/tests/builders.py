"""Servers, runs and records made up for tests. Everything a test does not specify is sound and unflagged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from zoo.core.blocks import Block, blocks_of
from zoo.core.capacity import Tier
from zoo.core.condition import Condition
from zoo.core.flag import Flag
from zoo.core.histogram import Histogram
from zoo.core.host_facts import HostFacts, Limits, Tools
from zoo.core.manifest import Catalog, Entry, Manifest, Server
from zoo.core.measurement import (
    Connections,
    ErrorCounts,
    Kernel,
    Latency,
    Load,
    Measurement,
    Memory,
    Sampling,
    ServerFacts,
    Warmup,
    Work,
)
from zoo.core.record import Failure, Record
from zoo.core.run import PlanFacts, Run
from zoo.core.samples import Noise
from zoo.reference.runs import TABLE

TIERS = {"100": 100, "1k": 1_000, "25k": 25_000}


def manifest(name: str, port: int, *models: str, language: str = "java", **changes: object) -> dict[str, Any]:
    """Return a manifest as in TOML. Each variant is named after the first word of its model."""
    return {
        "name": name,
        "title": name,
        "language": language,
        "port": port,
        "build": {"command": ["true"], "makes": ["server.toml"], "sources": ["src"]},
        "run": {"command": ["{java}", "{jvm_flags}", "-jar", "it.jar"] if language == "java" else ["./it"]},
        "variants": [{"name": m.split("-")[0], "model": m, "summary": f"a {m}"} for m in models],
        **changes,
    }


def server(name: str, port: int, *models: str, language: str = "java", **changes: object) -> Server:
    return Server(Path(name), Manifest.model_validate(manifest(name, port, *models, language=language, **changes)))


def catalog() -> Catalog:
    """Return a catalog with two variants of a Java server and a native server that is the bare reference."""
    bare = {"name": "bare", "model": "async-task", "summary": "nothing but the protocol", "reference": True}
    return Catalog(
        (
            server("java-a", 8101, "platform-thread", "virtual-thread"),
            server("rust-n", 8105, "async-task", language="rust", variants=[bare]),
        )
    )


def list_runs(root: Path, *names: str, command: str = "bench") -> None:
    """Add runs to the table of committed runs."""
    (root / TABLE).parent.mkdir(parents=True, exist_ok=True)
    with (root / TABLE).open("a", encoding="utf-8") as out:
        for name in names:
            out.write(f'[[runs]]\nname = "{name}"\ncommand = "{command}"\nquoted_by = ["README.md"]\n')


def console() -> Console:
    """Return a console that prints nothing."""
    return Console(quiet=True)


def entry(entry_id: str) -> Entry:
    return catalog().entry(entry_id)


@dataclass(frozen=True)
class Figures:
    """Figures of a measurement. `known` is false if the server's process is unknown."""

    rps: float = 50_000.0
    delay_s: float = 0.0
    actual: int | None = None
    limited_by: str | None = None
    rss_before_kb: int = 60_000
    rss_peak_kb: int = 80_000
    hwm_kb: int | None = None
    p50_us: int | None = 1_900
    p99_us: int | None = 4_200
    cpu_s_per_million: float | None = 21.5
    heap_used_kb: int | None = 30_000
    ceiling_rps: float | None = None
    status_errors: int = 0
    requests: int = 400_000
    threads_peak: int = 40
    flags: Sequence[Flag] = ()
    known: bool = True


def measurement(tier: str = "1k", **changes: Any) -> Measurement:  # noqa: ANN401 (fields of `Figures`)
    """Return a measurement that differs from a sound one only in these figures."""
    seen = Figures(**changes)
    requested = TIERS.get(tier) or int(tier)
    connections = requested if seen.actual is None else seen.actual
    made = Measurement(
        connections=Connections(
            requested=requested, actual=connections, limited_by=seen.limited_by, established=connections, lingering=0
        ),
        load=Load(
            generator="wrk",
            version="4.2.0",
            path="/",
            delay_s=seen.delay_s,
            duration_s=8.0,
            timeout_s=13.0,
            runtime_s=8.0,
            connect_s=0.0,
            threads=2,
            shards=1,
            requests=seen.requests,
            goodput=seen.requests - seen.status_errors,
            goodput_rps=seen.rps,
            bytes=seen.requests * 150,
            errors=ErrorCounts(connect=0, read=0, write=0, status=seen.status_errors, timeout=0),
            latency=Latency(
                samples=seen.requests,
                mean_us=2_000.0,
                p50_us=seen.p50_us,
                p90_us=seen.p50_us,
                p99_us=seen.p99_us,
                p999_us=None,
                max_us=9_000,
            ),
            little=1.0,
            served=1.0 if seen.delay_s else None,
            ceiling_rps=seen.ceiling_rps,
            cpu_s=4.0,
            busiest_thread=0.5,
            histogram="raw/h.json.gz",
        ),
        memory=Memory(
            rss_idle_kb=50_000,
            rss_before_kb=seen.rss_before_kb,
            rss_peak_kb=seen.rss_peak_kb,
            rss_after_kb=seen.rss_peak_kb,
            rss_rested_kb=None,
            pss_after_kb=None,
            anon_after_kb=None,
            hwm_kb=seen.hwm_kb,
            socket_before_kb=0,
            socket_peak_kb=2_048,
            heap_used_kb=seen.heap_used_kb,
            heap_committed_kb=seen.heap_used_kb,
            heap_max_kb=seen.heap_used_kb,
        ),
        work=Work(
            cpu_s=8.6,
            cpu_s_per_million=seen.cpu_s_per_million,
            threads_peak=seen.threads_peak,
            voluntary_switches=100,
            involuntary_switches=None,
            gc_count=1,
            gc_time_ms=3,
        ),
        warmup=Warmup(seconds=20.0, connections=100, window_rps=[1.0, 2.0], reached=True),
        noise=Noise(elapsed_s=8.0, busy_share=0.5),
        kernel=Kernel(listen_overflows=0, listen_drops=0, req_q_full_drop=0, req_q_full_cookies=0),
        canary_s=0.1,
        sampling=Sampling(hz=5.0, cpu_share=0.001, samples="raw/s.json.gz"),
        server=ServerFacts(
            framework="none",
            framework_version="1",
            runtime="rustc",
            runtime_version="1",
            thread="t-1",
            virtual=False,
            gc=[],
            limits={"max_threads": None, "max_connections": None, "backlog": 65_535, "nofile": 20_000},
            ready_s=0.4,
        ),
        flags=list(seen.flags),
    )
    return made if seen.known else made.model_copy(update={"memory": None, "work": None, "server": None})


MODELS = {"platform": "platform-thread", "virtual": "virtual-thread"}


def record(
    entry_id: str,
    tier: str = "1k",
    scenario: str = "hello",
    round_number: int = 1,
    failure: str | None = None,
    **changes: Any,  # noqa: ANN401 (what measurement() takes)
) -> Record:
    """Return a measured record, or a failed one if `failure` is given. `changes` go to `measurement`."""
    if scenario == "sleep":
        changes = {"delay_s": 10.0, "rps": 100.0, "p50_us": 10_004_000, "p99_us": 10_050_000} | changes
    return Record(
        entry=entry_id,
        model=MODELS.get(entry_id.partition(":")[2], "async-task"),
        scenario=scenario,
        tier=tier,
        condition=Condition(jdk="25.0.1"),
        round=round_number,
        position=0,
        started_at="2026-01-02T03:04:05+00:00",
        measurement=None if failure else measurement(tier, **changes),
        failure=Failure(kind="crashed", message=failure, log_tail="last words") if failure else None,
    )


def blocks(
    entries: Sequence[str],
    scenarios: Sequence[str],
    tiers: Iterable[Tier],
    rounds: int = 1,
    seed: int = 1,
    **plan: Any,  # noqa: ANN401 (further fields of a plan)
) -> list[Block]:
    """Return the blocks of a plan with these parts."""
    names = [tier.name for tier in tiers]
    asked = {"entries": entries, "scenarios": scenarios, "tiers": names, "rounds": rounds, "seed": seed}
    return blocks_of(PlanFacts.model_validate({**asked, "profile": {}, "condition": Condition(), **plan}))


def run(
    entries: Sequence[str] = ("java-a:platform",),
    scenarios: Sequence[str] = ("hello", "sleep"),
    tiers: Sequence[str] = ("100", "1k", "25k"),
    rounds: int = 3,
) -> Run:
    return Run(
        id="20260102-030405-full",
        started_at="2026-01-02T03:04:05+00:00",
        commit="0123456789abcdef0123",
        dirty=False,
        harness="0.1.0",
        plan=PlanFacts(
            entries=list(entries),
            scenarios=list(scenarios),
            tiers=list(tiers),
            rounds=rounds,
            seed=7,
            profile={"sleep_delay_s": 10.0},
            condition=Condition(jdk="25.0.1"),
        ),
        host=HostFacts(
            system="Linux",
            kernel="6.1.0",
            architecture="x86_64",
            distribution="Debian GNU/Linux 13",
            family="debian",
            virtualization="KVM/QEMU",
            container=False,
            cpu_model="Some CPU",
            cores=2,
            cores_usable=2.0,
            governor=None,
            turbo=None,
            memory_kb=8 * 1024 * 1024,
            swap_kb=0,
            huge_pages=None,
            libc="glibc 2.41",
            python="3.11.2",
            limits=Limits(nofile_hard=20_000, somaxconn=4_096, port_low=32_768, port_high=60_999, max_map_count=65_530),
            jdk=None,
            jdks=[],
            tools=Tools(wrk="4.2.0", rustc="1.95.0"),
        ),
    )


def wrk_corrected(raw: Histogram, interval_us: int) -> Histogram:
    """Return what stats_correct in wrk's src/stats.c makes of a histogram, line for line."""
    data = [0] * (raw.max_us + 1)
    for value, count in zip(raw.values_us.tolist(), raw.counts.tolist(), strict=True):
        data[value] = count
    for n in range(interval_us * 2, len(data)):
        count = data[n]
        m = n - interval_us
        while count and m > interval_us:
            data[m] += count
            m -= interval_us
    return Histogram.from_pairs((n, count) for n, count in enumerate(data) if count)
