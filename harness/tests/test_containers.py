"""The container runtime on a real engine, with the images that `make images` built. Run by `make test-containers`."""

from __future__ import annotations

import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from container_runs import PATIENCE_S, bench, ended, records
from engines import SpareEngine, spare_engine

from zoo.catalog.load import load_catalog
from zoo.catalog.manifest import Catalog
from zoo.cli.checkout import ROOT
from zoo.host.engine import Engine, EngineError, image
from zoo.jdbc.records import CellRecord
from zoo.jdbc.store import JdbcStore
from zoo.load.spec import LoadSpec
from zoo.runtime.base import Launch
from zoo.runtime.container import GENERATOR, ContainerRuntime, Resources
from zoo.runtime.hosted import HostedWithAgent
from zoo.runtime.orphans import LABEL
from zoo.store.run_folder import Store

pytestmark = pytest.mark.containers


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
) -> HostedWithAgent:
    return runtime.start(Launch(catalog.entry(entry), results / "it.log"))


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


@pytest.mark.parametrize("runtime", ["host", "agent"], indirect=True)
def test_a_server_is_watched_from_the_host_and_from_beside_it(
    runtime: ContainerRuntime, catalog: Catalog, results: Path
) -> None:
    hosted = start(runtime, catalog, results)
    tools = hosted.instruments
    assert tools.sampler == runtime.sampler
    info = tools.probe(hosted.url, catalog.entry("rust-axum:hyper"))
    assert info.pid == 1
    assert tools.count_anew(hosted.pid)
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


def test_each_image_gives_a_cell_of_hello_and_sleep(results: Path, catalog: Catalog) -> None:
    """Of its first variant; that the others answer as well is the contract suite's to say."""
    firsts = {entry.server.name: entry.id for entry in reversed(catalog.entries)}
    chosen = [word for entry in firsts.values() for word in ("--variant", entry)]
    code, output = ended(bench(results, "--tiers", "50", "--duration", "1", *chosen))
    assert code == 0, output
    found = records(results)
    assert {(r.entry, r.scenario) for r in found} == {(e, s) for e in firsts.values() for s in ("hello", "sleep")}
    for record in found:
        assert record.measurement is not None
        assert record.condition.runtime == record.condition.network == "container"
        assert record.measurement.container is not None
        assert record.measurement.sampling.sampler in ("host", "agent")
    # A second is short: where a server's start starves the harness for half of it, nothing was counted in time.
    counted = [r.measurement.connections.established for r in found if r.measurement]
    assert set(counted) <= {50, None}
    assert counted.count(50) > len(counted) / 2
    assert Store.open(results / "latest").run().host.engine is not None


def test_databases_and_the_slow_wire_are_measured_in_containers(results: Path) -> None:
    words = ["jdbc", "bench", "--profile", "smoke", "--runtime", "container", "--results", str(results)]
    words += ["--executor", "virtual", "--query", "find-by-code", "--latency", "wire-10", "--pool", "10"]
    command = [sys.executable, "-m", "zoo", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [r for r in JdbcStore.open(results / "latest-jdbc").records() if isinstance(r, CellRecord)]
    assert {r.cell.database for r in found} == {"postgresql", "mariadb"}
    for record in found:
        assert record.measurement is not None
        assert "(container)" in record.measurement.server
        assert record.measurement.connections == 10
        assert record.measurement.added_ms > 9


def test_ctrl_c_leaves_no_container_and_the_run_can_go_on(results: Path) -> None:
    run = bench(results, "--server", "rust-axum", "--variant", "hyper", "--tiers", "50", "--scenario", "hello")
    wait_for_server()
    run.send_signal(signal.SIGINT)
    code, output = ended(run)
    assert code == 130, output
    assert "RESUME=1" in output
    assert Engine().labelled(LABEL) == []


def test_the_next_start_removes_the_containers_that_a_killed_run_has_left(results: Path) -> None:
    wanted = ("--server", "rust-axum", "--variant", "hyper", "--tiers", "50", "--scenario", "hello")
    run = bench(results, *wanted)
    wait_for_server()
    run.kill()
    assert ended(run)[0] == -signal.SIGKILL
    assert Engine().labelled(LABEL), "a killed harness can remove nothing"

    code, output = ended(bench(results, "--resume"))
    assert code == 0, output
    assert "ended what a killed run had left behind:" in output
    assert "-rust-axum-hyper-" in output
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


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A compose project of this test's own."""
    name = f"zoo-test-{secrets.token_hex(4)}"
    monkeypatch.setenv("COMPOSE_PROJECT_NAME", name)
    yield name
    subprocess.run(["make", "down"], cwd=ROOT, capture_output=True, check=True)


def test_a_service_that_does_not_start_says_why_and_leaves_no_container(
    project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def up() -> str:
        done = subprocess.run(["make", "up", "SERVER=rust-axum"], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode, done.stdout
        assert Engine().labelled(f"com.docker.compose.project={project}") == []
        return done.stdout + done.stderr

    with socket.socket() as holder:
        with suppress(OSError):  # somebody else has it: just as well
            holder.bind(("127.0.0.1", 8151))
            holder.listen()
        assert "address already in use" in up()
    monkeypatch.setenv("MAX_THREADS", "zero")
    assert 'MAX_THREADS must be an integer from 1 to 100000, got "zero"' in up()


# --- an engine that goes away


@pytest.fixture
def spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpareEngine]:
    """Running, and the one that this test's containers are on."""
    with spare_engine(image("rust-axum"), image(GENERATOR)) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.host)
        yield engine


def container_processes(runtime: ContainerRuntime) -> list[int]:
    """Of this run, as this host sees them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if f"={runtime.prefix}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


def test_a_killed_engine_leaves_no_process_of_a_container(spare: SpareEngine, catalog: Catalog, tmp_path: Path) -> None:
    runtime = ContainerRuntime(Engine(), Resources())
    runtime.facts()
    hosted = start(runtime, catalog, tmp_path)
    hosted.instruments.probe(hosted.url, catalog.entry("rust-axum:hyper"))
    assert len(container_processes(runtime)) >= 2
    spare.end(signal.SIGKILL)
    failure = hosted.ended("while it was measured")
    assert failure.kind == "engine"
    assert "Cannot connect to the Docker daemon" in failure.message
    hosted.stop()
    assert container_processes(runtime) == []
    with pytest.raises(EngineError, match="Cannot connect to the Docker daemon"):
        runtime.close()


def test_what_a_killed_engine_left_goes_with_its_folder(spare: SpareEngine, catalog: Catalog, tmp_path: Path) -> None:
    """A person stops it; the harness was killed too."""
    runtime = ContainerRuntime(Engine(), Resources())
    start(runtime, catalog, tmp_path)
    spare.end(signal.SIGKILL)
    assert container_processes(runtime)
    spare.sweep()
    assert container_processes(runtime) == []


def test_an_engine_that_is_restarted_serves_the_next_cell(spare: SpareEngine, catalog: Catalog, tmp_path: Path) -> None:
    runtime = ContainerRuntime(Engine(), Resources())
    runtime.facts()
    hosted = start(runtime, catalog, tmp_path)
    spare.end(signal.SIGTERM)
    deadline = time.monotonic() + 30
    while hosted.alive():
        assert time.monotonic() < deadline, "its end was not seen"
        time.sleep(0.1)
    hosted.stop()
    assert container_processes(runtime) == []
    with ThreadPoolExecutor(1) as beside:
        waiting = beside.submit(start, runtime, catalog, tmp_path)
        time.sleep(2)
        assert not waiting.done()
        spare.start()
        hosted = waiting.result()
    assert hosted.stop() == 0
    runtime.close()
    assert Engine().labelled(LABEL) == []
