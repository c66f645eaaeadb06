"""Tests that the container checks can fail, that errors are clear, and that nothing is left behind."""

import os
import shutil
import signal
import time
import uuid
from pathlib import Path

import pytest
from kit import docker
from kit.container import ContainerRuntime
from kit.hardening import of_files, violations, without_common_base
from kit.nested import PATIENCE, run_suite, start_suite
from kit.ports import free_port
from kit.targets import Target

UNSAFE = (
    *("--user", "0", "--init", "--ipc", "host", "--no-healthcheck", "--volume", "/srv/data"),
    *("--security-opt", "seccomp=unconfined"),
)
FOUND_THERE = (
    "Uid is 0",
    "Gid is 0",
    "Groups are ",
    "CapPrm is ",
    "CapEff is ",
    "CapBnd is ",
    "NoNewPrivs is 0",
    "Seccomp is 0",
    "root can write to /opt",
    "the server can write to /",
    "not 1, so that signals",
    "published on 127.0.0.2",
    "IpcMode is the host's",
    "a volume is mounted at /srv/data",
    "threads are not limited",
    "do not hold the 10 s of draining",
    "not started again",
    "there is no health check",
)


def test_an_unsafe_container_is_caught(any_target: Target, containers: ContainerRuntime) -> None:
    """Start the image without the service's settings, and check that every broken guarantee is reported."""
    with free_port() as port:
        published = [word for host in ("127.0.0.1", "127.0.0.2") for word in ("--publish", f"{host}:{port}:{port}")]
        with containers.image_alone(any_target, port, *UNSAFE, *published, "--env", f"PORT={port}") as server:
            server.wait_ready()
            found = violations(server.name, port)
            (volume,) = [mount["Name"] for mount in docker.inspect(server.name)["Mounts"]]
    missed = [words for words in FOUND_THERE if not any(words in complaint for complaint in found)]
    assert not missed, f"not reported: {missed}; reported: {found}"
    assert volume not in docker.cli("volume", "ls", "--quiet").split(), "its volume is left behind"


def test_a_closed_tmp_is_caught(any_target: Target, containers: ContainerRuntime) -> None:
    with containers.image_alone(any_target, 0, "--read-only", command=("sleep", "60")) as idle:
        assert list(of_files(idle.name)) == ["the server cannot write to /tmp"]


def test_another_base_is_caught() -> None:
    assert without_common_base({"a": ["base", "x"], "b": ["base", "y"], "c": ["other", "x"]}) == ["c"]


def nested(target: Target, run: str, *tests: str) -> list[str]:
    return ["--runtime", "container", "--all", "--entry", target.id, "--run", run, *tests]


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGINT, "0"), (signal.SIGTERM, "1")])
def test_an_interrupted_run_leaves_nothing(any_target: Target, number: signal.Signals, workers: str) -> None:
    """Check that a run leaves nothing behind, even if it is interrupted twice."""
    run = uuid.uuid4().hex[:8]
    arguments = nested(any_target, run, "-n", workers, "test_robustness.py::test_default_delay_is_ten_seconds")
    with start_suite(arguments) as child:
        try:
            deadline = time.monotonic() + PATIENCE
            while not any(name.startswith("container ") for name in docker.left_of(run)):
                assert time.monotonic() < deadline, "no container was started"
                assert child.poll() is None, child.communicate()
                time.sleep(0.1)
            child.send_signal(number)
            time.sleep(0.2)
            child.send_signal(number)
            stdout, stderr = child.communicate(timeout=PATIENCE)
            assert child.returncode == pytest.ExitCode.INTERRUPTED, stdout + stderr
            assert docker.left_of(run) == []
        finally:
            child.kill()
            docker.sweep(run)


def test_a_failing_run_leaves_nothing(any_target: Target) -> None:
    run = uuid.uuid4().hex[:8]
    done = run_suite(nested(any_target, run, "test_delays.py::test_no_answer_is_early"), CONTRACT_PATIENCE="0.01")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert docker.left_of(run) == []


def test_what_is_left_behind_is_found_and_removed(any_target: Target, containers: ContainerRuntime) -> None:
    run = uuid.uuid4().hex[:8]
    label = ("--label", f"{docker.LABEL}={run}")
    docker.cli("network", "create", *label, f"left-{run}")
    docker.cli("create", *label, "--name", f"left-{run}", containers.compose.image(any_target))
    assert docker.left_of(run) == [f"container left-{run}", f"network left-{run}"]
    assert docker.sweep(run) == [f"container left-{run}"]
    assert docker.left_of(run) == []


def complaint(*arguments: str, **env: str) -> str:
    """Return the one line that the suite prints if it cannot start."""
    done = run_suite(["--runtime", "container", "test_answers.py::test_hello", *arguments], **env)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    (line,) = done.stderr.split("\n\n")[0].splitlines()
    assert "Traceback" not in done.stdout + done.stderr
    return line


def test_no_docker_command(tmp_path: Path) -> None:
    assert complaint(PATH=str(tmp_path)) == f"ERROR: {docker.NO_COMMAND}"


def test_no_engine(tmp_path: Path) -> None:
    said = complaint(DOCKER_HOST=f"unix://{tmp_path}/none.sock")
    assert said.startswith(f"ERROR: {docker.NO_ENGINE} ("), said


def test_missing_image(any_target: Target) -> None:
    said = complaint("--entry", any_target.id, ZOO_TAG="absent")
    assert "`make images`" in said
    assert f"{any_target.server}:absent" in said


def test_missing_service(any_target: Target, tmp_path: Path) -> None:
    (tmp_path / any_target.server).mkdir()
    shutil.copy(any_target.folder / "server.toml", tmp_path / any_target.server)
    (tmp_path / "docker-compose.yml").write_text("services: {other: {image: other}}\n", encoding="utf-8")
    assert "has no service for" in complaint("--root", os.fspath(tmp_path))
