"""Tests of the container runtime without an engine: the commands it runs, and how it interprets their output."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import builders
import pytest
from fakes import ManualTime
from waits import PATIENCE_S

from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.host_facts import Cores
from zoo.core.measurement import ContainerUse, TaskLimit
from zoo.host.engine import Engine, EngineError, image_name
from zoo.runtime import orphans
from zoo.runtime.base import Launch
from zoo.runtime.container import ContainerRuntime, HostedContainer, Resources, resources_of
from zoo.sample import cgroup

ENTRY = builders.entry("java-a:virtual")


def engine(folder: Path, script: str) -> Engine:
    """Write an engine's command-line tool as a short shell script."""
    path = folder / "docker"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Engine(str(path))


def launch(folder: Path, **env: str) -> Launch:
    return Launch(ENTRY, folder / "it.log", env, ("-Xmx1g",))


# --- the command


def test_a_server_runs_safely_with_nothing_but_loopback(tmp_path: Path) -> None:
    runtime = ContainerRuntime(Engine(), Resources(cpus=1.5, memory="512m"))
    words = runtime.words("zoo-it", launch(tmp_path, MAX_THREADS="50"))
    assert {
        "--rm",
        "--name=zoo-it",
        "--network=none",
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--user=10001:10001",
        "--pull=never",
        "--cpus=1.5",
        "--memory=512m",
        "--memory-swap=512m",
        "--pids-limit=4096",
        "--sysctl=net.core.somaxconn=65535",
        "--sysctl=net.ipv4.ip_local_port_range=10240 65535",
        "--env=VARIANT=virtual",
        "--env=HOST=127.0.0.1",
        "--env=PORT=8101",
        "--env=MAX_THREADS=50",
    } <= set(words)
    assert words[0] == "run"
    assert words[-5:] == ["server-zoo/java-a:latest", "java", "-Xmx1g", "-jar", "it.jar"]
    assert not any(word.startswith(("--publish", "-p", "--privileged")) for word in words)


def test_a_server_and_its_generator_have_the_processors_of_their_sides(tmp_path: Path) -> None:
    own = replace(launch(tmp_path), cores=Cores(server=[0, 1, 2, 6], generator=[3, 7]))
    runtime = ContainerRuntime(engine(tmp_path, f'echo "$*" > {tmp_path}/asked'), Resources())
    assert "--cpuset-cpus=0-2,6" in runtime.words("zoo-it", own)
    runtime.agent("zoo-it-agent", subprocess.DEVNULL, next_to="zoo-it", cores=own.cores).close()
    assert " --cpuset-cpus=3,7 " in (tmp_path / "asked").read_text(encoding="utf-8")


def test_without_limits_none_are_set(tmp_path: Path) -> None:
    words = ContainerRuntime(Engine(), resources_of({})).words("zoo-it", launch(tmp_path))
    assert not any(word.startswith(("--cpus", "--memory")) for word in words)


@pytest.mark.parametrize(
    ("name", "value"),
    [("SERVER_CPUS", "two"), ("SERVER_CPUS", "1,5"), ("SERVER_CPUS", "-1"), ("SERVER_MEMORY", "lots"),
     ("SERVER_MEMORY", "0m"), ("SERVER_MEMORY", "1 g"), ("SERVER_PIDS", "0"), ("SERVER_PIDS", "x")],
)  # fmt: skip
def test_a_bad_limit_is_named(name: str, value: str) -> None:
    with pytest.raises(BenchError, match=f'{name} must be .*, got "{value}"'):
        resources_of({name: value})


def test_limits_are_read_from_the_environment() -> None:
    given = {"SERVER_CPUS": "1.5", "SERVER_MEMORY": "2g", "SERVER_PIDS": "-1"}
    assert resources_of(given) == Resources(1.5, "2g", -1)
    assert resources_of({"SERVER_CPUS": "", "SERVER_MEMORY": ""}) == Resources()
    assert resources_of({"SERVER_CPUS": "0", "SERVER_MEMORY": "0"}) == Resources()


def test_images_are_named_as_in_the_compose_file() -> None:
    assert image_name("java-a", {}) == "server-zoo/java-a:latest"
    assert image_name("java-a", {"ZOO_IMAGES": "mirror/zoo", "ZOO_TAG": "jdk21"}) == "mirror/zoo/java-a:jdk21"


# --- the engine's output


@pytest.mark.parametrize("hint", ["See 'docker run --help'.", "\nRun 'docker run --help' for more information"])
def test_an_engine_that_refuses_fails_the_cell_with_its_words(tmp_path: Path, hint: str) -> None:
    warning, words = "WARNING: no swap limit", "docker: Error response from daemon: no space left on device."
    script = f'[ "$1" = run ] && {{ echo "{warning}\n{words}\n{hint}" >&2; exit 125; }}; exit 0'
    with pytest.raises(RuntimeFailure) as caught:
        ContainerRuntime(engine(tmp_path, script), Resources(), restart_s=0).start(launch(tmp_path))
    assert caught.value.kind == "engine"
    assert caught.value.message == f"the container engine failed: {words}"


def test_a_server_that_ends_at_once_fails_with_its_own_words(tmp_path: Path) -> None:
    script = '[ "$1" = run ] && { echo "cannot listen"; exit 1; }; exit 0'
    with pytest.raises(RuntimeFailure, match="exit code 1 before it listened") as caught:
        ContainerRuntime(engine(tmp_path, script), Resources()).start(launch(tmp_path))
    assert caught.value.kind == "not_started"
    assert caught.value.log_tail == "cannot listen"


def test_a_server_that_never_listens_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The timeout has passed as soon as the container runs.
    called, pid = tmp_path / "called", tmp_path / "pid"

    class Clock(ManualTime):
        def sleep(self, seconds: float, /) -> None:
            time.sleep(seconds)
            self.now += 10 if pid.exists() and pid.read_text(encoding="ascii") else 0

    monkeypatch.setattr("zoo.runtime.server.time", Clock())
    monkeypatch.setattr("zoo.runtime.container.time", Clock())
    script = f"""
        echo "$@" >> {called}
        case "$1" in
            run) echo $$ > {pid}; exec sleep 600 ;;
            rm) kill $(cat {pid}) ;;
        esac
    """
    with pytest.raises(RuntimeFailure, match="did not listen within 5 s"):
        ContainerRuntime(engine(tmp_path, script), Resources()).start(launch(tmp_path), ready_timeout_s=5)
    removed = [line for line in called.read_text(encoding="utf-8").splitlines() if line.startswith("rm --force")]
    assert len(removed) == 1
    assert "-agent" in removed[0]


def test_an_image_that_does_not_build_fails_that_servers_cells_only(tmp_path: Path) -> None:
    script = 'case "$*" in *java-a-*) echo "ERROR: failed to solve" >&2; exit 1;; esac; exit 0'
    runtime = ContainerRuntime(engine(tmp_path, script), Resources())
    runtime.build(tmp_path, [ENTRY.server, builders.entry("rust-n:bare").server], {})
    assert set(runtime.broken) == {"java-a"}
    with pytest.raises(RuntimeFailure, match="cannot build its image") as caught:
        runtime.start(launch(tmp_path))
    assert caught.value.kind == "no_image"
    assert "failed to solve" in caught.value.log_tail


def test_a_missing_command_is_told_with_the_way_round() -> None:
    assert not Engine("no-such-docker").is_reachable()
    with pytest.raises(EngineError, match="install it, or use RUNTIME=process"):
        Engine("no-such-docker").facts()


def test_an_engine_that_does_not_answer_is_told_in_its_own_words(tmp_path: Path) -> None:
    silent = engine(tmp_path, 'echo "Cannot connect to the Docker daemon." >&2; exit 1')
    with pytest.raises(EngineError, match="Cannot connect to the Docker daemon"):
        silent.facts()
    assert not silent.is_reachable()


def test_what_is_gone_already_needs_no_removal(tmp_path: Path) -> None:
    engine(tmp_path, 'echo "Error response from daemon: No such container: a" >&2; exit 1').remove(["a"])
    with pytest.raises(EngineError, match="permission denied"):
        engine(tmp_path, 'echo "permission denied" >&2; exit 1').remove(["a"])


# --- an engine that disappears


@pytest.fixture
def sleeper() -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Yield a function that starts a stand-in for a process in the container with this name."""
    started: list[subprocess.Popen[bytes]] = []

    def start(container: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen(["sleep", "600"], env={**os.environ, orphans.MARK: container}))
        return started[-1]

    yield start
    for child in started:
        child.kill()
        child.wait()


GONE = 'echo "Cannot connect to the Docker daemon." >&2; exit 1'


def test_what_outlives_its_engine_is_ended_and_nothing_else(
    tmp_path: Path, sleeper: Callable[[str], subprocess.Popen[bytes]]
) -> None:
    runtime = ContainerRuntime(engine(tmp_path, GONE), Resources(), here=True)
    server, agent, stranger = map(sleeper, (f"{runtime.prefix}a", f"{runtime.prefix}a-agent", "zoo-other-a"))
    with pytest.raises(EngineError, match=r"Cannot connect to the Docker daemon.*were killed without it"):
        runtime.close()
    assert (server.wait(PATIENCE_S), agent.wait(PATIENCE_S), stranger.poll()) == (-9, -9, None)


def test_what_an_engine_elsewhere_may_have_left_is_told(tmp_path: Path) -> None:
    runtime = ContainerRuntime(engine(tmp_path, GONE), Resources(), run_id="12ab")
    with pytest.raises(EngineError, match=r"docker rm --force \$\(docker ps .*label=server-zoo.run=12ab\)"):
        runtime.close()


def test_a_server_lost_with_its_engine_is_the_engine_s_failure(tmp_path: Path) -> None:
    # An engine that is killed lets its command run to its end.
    lost = engine(tmp_path, GONE)
    child = lost.popen(["run"], subprocess.DEVNULL, subprocess.DEVNULL, subprocess.DEVNULL)
    child.wait()
    failure = HostedContainer(lost, "zoo-it", child, launch(tmp_path)).exit_failure("during warm-up")
    assert (failure.kind, failure.message) == (
        "engine",
        "the container engine no longer answers: Cannot connect to the Docker daemon.",
    )


# --- control groups


def files(root: Path, **texts: str) -> str:
    for name, text in texts.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return str(root)


def test_version_2(tmp_path: Path) -> None:
    root = files(
        tmp_path,
        cpu_dot_stat="usage_usec 2500000\nuser_usec 1\nnr_throttled 3\nthrottled_usec 500000\n",
        memory_dot_current="104857600\n",
        memory_dot_peak="209715200\n",
        memory_dot_stat="anon 52428800\nfile 1\nsock 1048576\n",
    )
    assert cgroup.read_use(root) == ContainerUse(
        version="v2", cpu_s=2.5, memory_kb=102_400, memory_peak_kb=204_800, anon_kb=51_200, socket_kb=1_024,
        throttled_s=0.5,
    )  # fmt: skip


def test_version_1(tmp_path: Path) -> None:
    root = files(
        tmp_path,
        cpuacct__cpuacct_dot_usage="2500000000\n",
        cpu__cpu_dot_stat="nr_periods 0\nthrottled_time 500000000\n",
        memory__memory_dot_usage_in_bytes="104857600\n",
        memory__memory_dot_max_usage_in_bytes="209715200\n",
        memory__memory_dot_kmem_dot_tcp_dot_usage_in_bytes="1048576\n",
        memory__memory_dot_stat="cache 1\nrss 52428800\n",
    )
    assert cgroup.read_use(root) == ContainerUse(
        version="v1", cpu_s=2.5, memory_kb=102_400, memory_peak_kb=204_800, anon_kb=51_200, socket_kb=1_024,
        throttled_s=0.5,
    )  # fmt: skip


def test_no_control_groups_are_no_figures(tmp_path: Path) -> None:
    assert cgroup.read_use(str(tmp_path)) is None


def test_an_older_kernel_has_no_peak(tmp_path: Path) -> None:
    found = cgroup.read_use(files(tmp_path, cpu_dot_stat="usage_usec 1\n", memory_dot_current="2048\n"))
    assert found is not None
    assert (found.memory_kb, found.memory_peak_kb, found.socket_kb) == (2, None, None)


V2_MOUNT = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"


def test_the_lowest_limit_of_threads_of_all_groups_counts() -> None:
    texts = {
        "/proc/self/mountinfo": V2_MOUNT,
        "/proc/7/cgroup": "0::/zoo/server",
        "/sys/fs/cgroup/zoo/server/pids.max": "max\n",
        "/sys/fs/cgroup/zoo/pids.max": "4096\n",
        "/sys/fs/cgroup/zoo/pids.events": "max 12\n",
        "/proc/7/root/sys/fs/cgroup/pids.max": "9000\n",
    }
    assert cgroup.task_limit(7, texts.get) == TaskLimit(most=4096, refused=12)


@pytest.mark.parametrize("folder", ["", "/pids"])
def test_the_limit_of_threads_is_read_from_within_a_container(folder: str) -> None:
    inside = f"/proc/1/root/sys/fs/cgroup{folder}"
    texts = {f"{inside}/pids.max": "4096\n", f"{inside}/pids.events": "max 3\n"}
    assert cgroup.task_limit(1, texts.get) == TaskLimit(most=4096, refused=3)
    assert cgroup.task_limit(1, {f"{inside}/pids.max": "max\n"}.get) is None
