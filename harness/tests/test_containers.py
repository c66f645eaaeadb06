"""Tests of containers on a real engine, with the images from `make images`. Run by `make test-containers`."""

from __future__ import annotations

import os
import pty
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import pytest
from container_runs import PATIENCE_S, bench, ended, labelled, records
from engines import SpareEngine, engine_folder, spare_engine
from waits import until

from zoo.cli.checkout import ROOT
from zoo.core.jdbc import JDBC, JdbcCell
from zoo.core.manifest import Catalog
from zoo.core.manifest_files import load_catalog
from zoo.core.run_folder import Store
from zoo.core.trial_results import JdbcResult
from zoo.host.engine import Engine, EngineError, image_name
from zoo.load.spec import LoadSpec
from zoo.runtime.base import Launch
from zoo.runtime.container import GENERATOR, ContainerRuntime, Resources
from zoo.runtime.orphans import LABEL
from zoo.runtime.server import HostedWithAgent

pytestmark = pytest.mark.containers

CALLER = 1234
"""The user ID of somebody who runs the image `zoo`."""


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    """Yield the folder for runs, and check afterwards that no container of any run is left."""
    yield tmp_path
    assert labelled(LABEL) == []


@pytest.fixture
def runtime(request: pytest.FixtureRequest, results: Path) -> Iterator[ContainerRuntime]:
    made = ContainerRuntime(Engine(), Resources(cpus=1.5, memory="1g"), sampler=getattr(request, "param", "auto"))
    yield made
    made.close()


def test_the_image_zoo_measures_its_servers_as_an_ordinary_user(results: Path) -> None:
    """Check the README's command for those who only have an engine: it ends, its files are the caller's, none stays."""
    words = ["bench-quick", "--server", "rust-axum,java-spring", "--variant", "async,virtual", "--connections", "100"]
    with image_zoo(results, *words) as running:
        text, _ = running.communicate()
    assert running.returncode == 0, text
    store = only_run(results)
    run = store.run()
    assert run.host.container
    assert run.host.container_engine == "docker"
    assert run.commit is not None
    assert {record.entry for record in store.records()} >= {"rust-axum:async", "java-spring:virtual"}
    assert {path.stat().st_uid for path in store.folder.rglob("*")} == {CALLER}


def test_the_image_zoo_keeps_finished_cells_after_ctrl_c_and_leaves_no_container(results: Path) -> None:
    ours, theirs = pty.openpty()
    command = ("bench", "--server", "rust-axum", "--connections", "100", "--rounds", "50")
    with os.fdopen(ours, "r+b", buffering=0) as terminal, image_zoo(results, *command, terminal=theirs) as running:
        os.close(theirs)
        text = read(terminal, until=b" left)")  # the line of a finished cell
        terminal.write(b"\x03")
        text += read(terminal)
    assert running.returncode == 130, text
    assert b"finished cells are kept. Continue with: docker compose run --rm zoo bench" in text
    assert only_run(results).records()
    assert labelled("com.docker.compose.service=zoo") == []


def read(terminal: IO[bytes], until: bytes | None = None) -> bytes:
    """Return what comes from a terminal, up to this text, otherwise to the end."""
    text = b""
    with suppress(OSError):  # the end of a terminal
        while (until is None or until not in text) and (more := os.read(terminal.fileno(), 4096)):
            text += more
    return text


@contextmanager
def image_zoo(results: Path, *words: str, terminal: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """Start a command in the image of all servers, as a user who owns `results`; by default its output is a pipe.

    A command that does not end is killed, so that the test fails and shows what was printed.
    """
    os.chown(results, CALLER, CALLER)
    name = f"zoo-test-{secrets.token_hex(4)}"
    running = subprocess.Popen(
        ["docker", "compose", "run", "--rm", "--name", name, "zoo", *words],
        cwd=ROOT,
        env=os.environ | {"ZOO_UID": str(CALLER), "ZOO_RESULTS": str(results), "COLUMNS": "200"},
        stdin=terminal,
        stdout=subprocess.PIPE if terminal is None else terminal,
        stderr=subprocess.STDOUT if terminal is None else terminal,
        text=True,
    )

    def end() -> None:
        Engine().remove([name])
        running.kill()

    watchdog = threading.Timer(PATIENCE_S, end)
    watchdog.start()
    try:
        with running:
            yield running
    finally:
        watchdog.cancel()


def only_run(results: Path) -> Store:
    [run] = [folder for folder in results.iterdir() if folder.is_dir() and not folder.is_symlink()]
    return Store.open(run)


def start(
    runtime: ContainerRuntime, catalog: Catalog, results: Path, entry: str = "rust-axum:hyper"
) -> HostedWithAgent:
    return runtime.start(Launch(catalog.entry(entry), results / "it.log"))


def wait_for_server() -> str:
    """Return the container of the run's server, once it exists. The preflight's agent comes before it."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for container in labelled(LABEL):
            with suppress(EngineError):  # the container may be gone
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
    assert tools.reset_counters(hosted.pid)
    recording, noise = tools.sample(hosted.pid), tools.noise()
    before, group_before = tools.snapshot(hosted.pid), tools.cgroup(hosted.pid)
    seen: list[int | None] = []

    def look(_: float) -> None:
        if 100 not in seen:
            seen.append(tools.count_established(hosted.url))

    outcome = hosted.generator.run(LoadSpec(hosted.url, 100, 5, 10), look)
    after, group_after = tools.snapshot(hosted.pid, deep=True), tools.cgroup(hosted.pid)
    samples = recording.stop()
    assert before is not None
    assert after is not None
    heard = noise.stop(after.cpu_s - before.cpu_s + outcome.cpu_s, samples.mean_runnable)
    assert 100 in seen
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
    assert not hosted.is_alive()


def test_limits_are_those_of_the_container(runtime: ContainerRuntime, catalog: Catalog, results: Path) -> None:
    facts = runtime.facts()
    assert facts.limits.ports == (10_240, 65_535)
    assert facts.engine is not None
    assert facts.engine.version
    hosted = start(runtime, catalog, results)
    name = labelled(f"{LABEL}={runtime.run_id}")
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
    assert hosted.stop() == 128 + signal.SIGTERM  # a JVM ends so after its shutdown hooks


def test_each_image_gives_a_cell_of_hello_and_sleep(results: Path, catalog: Catalog) -> None:
    # One variant per image is enough. The contract suite checks that the others respond too.
    firsts = {entry.server.name: entry.id for entry in reversed(catalog.entries)}
    chosen = [word for entry in firsts.values() for word in ("--variant", entry)]
    code, output = ended(bench(results, "--connections", "50", "--duration", "3", *chosen))
    assert code == 0, output
    found = records(results)
    assert {(r.entry, r.scenario) for r in found} == {(e, s) for e in firsts.values() for s in ("hello", "sleep")}
    for record in found:
        assert record.measurement is not None
        assert record.condition.runtime == record.condition.network == "container"
        assert record.measurement.container is not None
        assert record.measurement.sampling.sampler in ("host", "agent")
    # The windows of sleep last a second: if the harness gets no CPU for half of it, nothing is counted in time.
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
    found = [r for r in Store.open(results / "latest-jdbc").records() if r.scenario == JDBC]
    assert {JdbcCell.of(r.entry, r.case, r.tier).database for r in found} == {"postgresql", "mariadb"}
    for record in found:
        assert record.trial is not None
        seen = record.trial.result
        assert isinstance(seen, JdbcResult)
        assert "(container)" in seen.server
        assert seen.connections == 10
        assert seen.added_ms > 9


def test_ctrl_c_leaves_no_container_and_the_run_can_go_on(results: Path) -> None:
    run = bench(results, "--server", "rust-axum", "--variant", "hyper", "--connections", "50", "--scenario", "hello")
    wait_for_server()
    run.send_signal(signal.SIGINT)
    code, output = ended(run)
    assert code == 130, output
    assert "RESUME=1" in output
    assert labelled(LABEL) == []


def test_the_next_start_removes_the_containers_that_a_killed_run_has_left(results: Path) -> None:
    wanted = ("--server", "rust-axum", "--variant", "hyper", "--connections", "50", "--scenario", "hello")
    run = bench(results, *wanted)
    wait_for_server()
    run.kill()
    assert ended(run)[0] == -signal.SIGKILL
    assert labelled(LABEL), "a killed harness can remove nothing"

    code, output = ended(bench(results, "--resume"))
    assert code == 0, output
    assert "stopped what a killed run had left running:" in output
    assert "-rust-axum-hyper-" in output
    assert labelled(LABEL) == []


def test_a_container_killed_in_mid_run_is_a_failed_cell_and_the_run_goes_on(results: Path) -> None:
    run = bench(results, "--server", "rust-axum", "--variant", "hyper", "--connections", "50")
    Engine().remove([wait_for_server()])
    code, output = ended(run)
    assert code == 1, output
    first, *others = records(results)
    assert first.failure is not None
    assert first.failure.kind in ("crashed", "not_started", "contract", "agent_lost")
    assert [r.failure for r in others] == [None] * len(others)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a compose project for this test only."""
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
        assert labelled(f"com.docker.compose.project={project}") == []
        return done.stdout + done.stderr

    with socket.socket() as holder:
        with suppress(OSError):  # if another process has the port, that is fine
            holder.bind(("127.0.0.1", 8151))
            holder.listen()
        assert "address already in use" in up()
    monkeypatch.setenv("MAX_THREADS", "zero")
    assert 'MAX_THREADS must be an integer from 1 to 100000, got "zero"' in up()


# --- an engine that disappears


@pytest.fixture
def spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[SpareEngine]:
    """Yield a running engine, and put this test's containers on it."""
    with spare_engine(image_name("rust-axum"), image_name(GENERATOR)) as engine:
        monkeypatch.setenv("DOCKER_HOST", engine.host)
        yield engine


def container_processes(runtime: ContainerRuntime) -> list[int]:
    """Return the PIDs of this run's containers, as this host sees them."""
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
    failure = hosted.exit_failure("during the measurement")
    assert failure.kind == "engine"
    assert "Cannot connect to the Docker daemon" in failure.message
    hosted.stop()
    assert container_processes(runtime) == []
    with pytest.raises(EngineError, match="Cannot connect to the Docker daemon"):
        runtime.close()


def test_what_a_killed_engine_left_goes_with_its_folder(spare: SpareEngine, catalog: Catalog, tmp_path: Path) -> None:
    # The user stops it. The harness was killed, too.
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
    until(lambda: not hosted.is_alive())
    hosted.stop()
    assert container_processes(runtime) == []
    with ThreadPoolExecutor(1) as next_to:
        waiting = next_to.submit(start, runtime, catalog, tmp_path)
        time.sleep(2)
        assert not waiting.done()
        spare.start()
        hosted = waiting.result()
    assert hosted.stop() == 0
    runtime.close()
    assert labelled(LABEL) == []


NETWORK_STATE = "iptables --list-rules; iptables --list-rules --table=nat; ip6tables --list-rules; ip -brief link"


def test_an_engine_leaves_the_network_as_it_was() -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(engine_folder())
        hold = ["unshare", "--net", "sh", "-c", "ip link set lo up && echo && exec sleep infinity"]
        holder = stack.enter_context(subprocess.Popen(hold, stdout=subprocess.PIPE))
        stack.callback(holder.kill)
        assert holder.stdout is not None
        holder.stdout.readline()

        def run(*command: str) -> str:
            # without the address of the tests' engine, which would be used instead
            env = {**os.environ, "DOCKER_HOST": f"unix://{folder}/none"}
            inside = ["nsenter", f"--net=/proc/{holder.pid}/ns/net", *command]
            return subprocess.run(inside, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout

        script = str(ROOT / "containers/engine.sh")
        stack.callback(run, script, "stop", str(folder))
        # The engine forwards packets, and then drops those of others.
        run("sysctl", "--write", "net.ipv4.ip_forward=0")
        run("iptables", "--append", "FORWARD", "--source", "192.0.2.0/24", "--jump", "ACCEPT")
        before = run("sh", "-c", NETWORK_STATE)
        run(script, "start", str(folder))
        during = run("sh", "-c", NETWORK_STATE)
        assert all(trace in during for trace in ("-A OUTPUT", "-P FORWARD DROP", "docker0"))
        run(script, "stop", str(folder))
        assert run("sh", "-c", NETWORK_STATE) == before
        assert run("sysctl", "--values", "net.ipv4.ip_forward") == "0\n"
