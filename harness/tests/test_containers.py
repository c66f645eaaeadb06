"""The container runtime on a real engine, with the images that `make images` built. Run by `make test-containers`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from zoo.catalog import Catalog, load_catalog
from zoo.cli import ROOT
from zoo.host.engine import Engine, EngineError
from zoo.load.base import LoadSpec
from zoo.records import Record
from zoo.runtime.base import Launch
from zoo.runtime.container import LABEL, ContainerRuntime, HostedContainer, Resources
from zoo.store import Store

PATIENCE_S = 900
BENCH = [sys.executable, "-m", "zoo", "bench", "--runtime", "container", "--quick"]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    """Where runs are written; afterwards no container of any run is left."""
    yield tmp_path
    assert Engine().labelled(LABEL) == []


@pytest.fixture
def runtime(request: pytest.FixtureRequest, results: Path) -> Iterator[ContainerRuntime]:
    made = ContainerRuntime(Engine(), Resources(cpus=1.5, memory="1g"), sampler=getattr(request, "param", "auto"))
    yield made
    made.close()


def start(
    runtime: ContainerRuntime, catalog: Catalog, results: Path, entry: str = "rust-axum:hyper"
) -> HostedContainer:
    return runtime.start(Launch(catalog.entry(entry), results / "it.log"))


def bench(results: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*BENCH, "--results", str(results), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", **env},
    )


def ended(run: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        output, _ = run.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        run.send_signal(signal.SIGINT)
        output, _ = run.communicate(timeout=60)
    return run.returncode, output


def wait_for_server() -> str:
    """The container of the run's server, once it is there; the preflight's agent comes before it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for container in Engine().labelled(LABEL):
            with suppress(EngineError):  # gone since
                name = Engine().inspect(container)["Name"]
                if not name.endswith(("-agent", "-preflight")):
                    return container
        time.sleep(0.1)
    raise AssertionError("no server was started")


def records(results: Path) -> list[Record]:
    return Store.open(results / "latest").records()


@pytest.mark.parametrize("runtime", ["host", "agent"], indirect=True)
def test_a_server_is_watched_from_the_host_and_from_beside_it(
    runtime: ContainerRuntime, catalog: Catalog, results: Path
) -> None:
    hosted = start(runtime, catalog, results)
    tools = hosted.instruments
    assert tools.sampler == runtime.sampler
    info = tools.probe(hosted.url, catalog.entry("rust-axum:hyper"))
    assert info.pid == 1
    assert tools.reset_peak(hosted.pid)
    recording, noise = tools.sample(hosted.pid), tools.noise()
    before, group_before = tools.snapshot(hosted.pid), tools.cgroup(hosted.pid)
    seen: list[int | None] = []

    def halfway(elapsed: float) -> None:
        if elapsed > 1 and not seen:
            seen.append(tools.established(hosted.url))

    outcome = hosted.generator.run(LoadSpec(hosted.url, 100, 2, 7), halfway)
    after, group_after = tools.snapshot(hosted.pid, deep=True), tools.cgroup(hosted.pid)
    samples = recording.stop()
    assert before is not None
    assert after is not None
    heard = noise.stop(after.cpu_s - before.cpu_s, outcome.cpu_s, runnable=samples.mean_runnable)
    assert seen == [100]
    assert outcome.errors.total == 0
    assert outcome.requests > 1_000
    assert after.pss_kb
    assert after.hwm_kb
    assert len(samples.rss_kb) >= 8
    assert group_before is not None
    assert group_after is not None
    assert group_before.cpu_s is not None
    assert group_after.cpu_s is not None
    by_group, by_process = group_after.cpu_s - group_before.cpu_s, after.cpu_s - before.cpu_s
    assert by_group == pytest.approx(by_process, rel=0.1, abs=0.05)
    assert heard.busy_share
    assert tools.counters(hosted.pid) is not None
    assert hosted.stop() == 0
    assert not hosted.alive()


def test_limits_are_those_of_the_container(runtime: ContainerRuntime, catalog: Catalog, results: Path) -> None:
    facts = runtime.facts()
    assert facts.limits.ports == (10_240, 65_535)
    assert facts.engine is not None
    assert facts.engine.version
    hosted = start(runtime, catalog, results)
    name = Engine().labelled(f"{LABEL}={runtime.run_id}")
    settings = [Engine().inspect(n)["HostConfig"] for n in name]
    limited = next(s for s in settings if s["NanoCpus"])
    assert (limited["NanoCpus"], limited["Memory"], limited["PidsLimit"]) == (1_500_000_000, 1 << 30, 4_096)
    assert limited["ReadonlyRootfs"]
    assert limited["CapDrop"] == ["ALL"]
    hosted.stop()


def test_jvm_flags_reach_the_server(runtime: ContainerRuntime, catalog: Catalog, results: Path) -> None:
    entry = catalog.entry("java-tomcat:virtual")
    hosted = runtime.start(Launch(entry, results / "it.log", jvm_flags=("-Xmx123m", "-XX:+UseSerialGC")))
    info = hosted.instruments.probe(hosted.url, entry)
    assert info.heap_max is not None
    assert info.heap_max <= 123 << 20
    assert info.gc == ["Copy", "MarkSweepCompact"]
    assert hosted.thread_dump(results / "threads.json")
    assert "threadDump" in (results / "threads.json").read_text(encoding="utf-8")
    assert hosted.stop() == 0


def test_every_entry_gives_a_cell_of_hello_and_sleep(results: Path, catalog: Catalog) -> None:
    code, output = ended(bench(results, "--tiers", "50", "--duration", "1"))
    assert code == 0, output
    found = records(results)
    assert {(r.entry, r.scenario) for r in found} == {(e.id, s) for e in catalog.entries for s in ("hello", "sleep")}
    for record in found:
        assert record.measurement is not None
        assert record.condition.runtime == record.condition.network == "container"
        assert record.measurement.container is not None
        assert record.measurement.sampling.sampler in ("host", "agent")
        assert record.measurement.connections.established == 50
    assert Store.open(results / "latest").run().host.engine is not None


def test_ctrl_c_leaves_no_container_and_the_run_can_go_on(results: Path) -> None:
    run = bench(results, "--server", "rust-axum", "--variant", "hyper", "--tiers", "50", "--scenario", "hello")
    wait_for_server()
    run.send_signal(signal.SIGINT)
    code, output = ended(run)
    assert code == 130, output
    assert "RESUME=1" in output
    assert Engine().labelled(LABEL) == []


def test_a_container_killed_in_mid_run_is_a_failed_cell_and_the_run_goes_on(results: Path) -> None:
    run = bench(results, "--server", "rust-axum", "--variant", "hyper", "--tiers", "50")
    Engine().remove([wait_for_server()])
    code, output = ended(run)
    assert code == 1, output
    first, *others = records(results)
    assert first.failure is not None
    assert first.failure.kind in ("crashed", "not_started", "contract", "agent_lost")
    assert [r.failure for r in others] == [None] * len(others)
