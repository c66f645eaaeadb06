"""Tests of container guarantees in addition to the contract, on services that `docker compose up` has started."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from signal import SIGQUIT, SIGTERM
from typing import Any

import pytest
from kit import docker
from kit.container import ContainerRuntime, Service
from kit.delays import begin
from kit.hardening import violations, without_common_base
from kit.ports import free_port
from kit.rules import expect_hello
from kit.server import STACKS_S, long_patience
from kit.targets import Target
from kit.wire import Wire, fetch, request, tries

PATIENCE = 60.0
MIB = 1024 * 1024
KILLED = 137
"""Exit code of a container that was killed after its grace period."""


@pytest.fixture(scope="module")
def raised(target: Target, containers: ContainerRuntime) -> Iterator[Service]:
    with containers.up(target) as service:
        yield service


@pytest.fixture
def service(raised: Service) -> Service:
    """Return the service, running and serving even if an earlier test stopped it."""
    docker.cli("start", raised.container)
    wait_served(raised)
    return raised


def wait_served(service: Service) -> None:
    deadline = time.monotonic() + long_patience()
    while True:
        try:
            expect_hello(fetch(service.port, "/"))
        except (AssertionError, OSError) as error:
            if time.monotonic() > deadline:
                with suppress(docker.DockerFailed):  # it may have ended
                    docker.cli("kill", "--signal", SIGQUIT.name, service.container)
                    time.sleep(STACKS_S)
                said = docker.cli("logs", service.container)
                raise AssertionError(f"{service.target.id} does not serve ({error}); its log is {said}") from error
            time.sleep(0.05)
        else:
            return


def state(service: Service) -> dict[str, Any]:
    told: dict[str, Any] = docker.inspect(service.container)["State"]
    return told


def test_safe_and_reached_from_this_host_alone(service: Service) -> None:
    wrong = violations(service.container, service.port)
    assert not wrong, "\n".join(wrong)


def test_becomes_healthy(service: Service) -> None:
    deadline = time.monotonic() + PATIENCE
    while (health := state(service)["Health"])["Status"] != "healthy":
        assert time.monotonic() < deadline, f"not healthy after {PATIENCE:.0f} s: {health}"
        time.sleep(0.2)


@pytest.mark.first_variant
def test_health_check_asks_the_server_and_needs_no_tool_for_it(service: Service) -> None:
    """Run the health check unchanged, and again with a port on which nothing listens."""
    assert docker.execute(service.container, "sh", "-c", "command -v curl wget || true") == ""
    form, *words = docker.inspect(service.container)["Config"]["Healthcheck"]["Test"]
    check = words if form == "CMD" else ["sh", "-c", *words]
    docker.execute(service.container, *check)
    with pytest.raises(docker.DockerFailed):
        docker.cli("exec", "--env", "PORT=1", service.container, *check)


@pytest.mark.first_variant
def test_comes_back_after_a_kill(service: Service, containers: ContainerRuntime) -> None:
    restarts = docker.inspect(service.container)["RestartCount"]
    containers.kill(service)
    deadline = time.monotonic() + PATIENCE
    while docker.inspect(service.container)["RestartCount"] == restarts:
        assert time.monotonic() < deadline, f"not restarted: {state(service)}"
        time.sleep(0.1)
    wait_served(service)


@pytest.mark.first_variant
def test_stop_drains(service: Service) -> None:
    """Check that `docker stop` lets requests finish within the grace period, without a kill or a restart."""
    with Wire(service.port) as wire, ThreadPoolExecutor(1) as background:
        expect_hello(wire.get("/"))
        begin(service.port, [wire], request("/sleep?ms=1500"))
        stopping = background.submit(docker.cli, "stop", service.container)
        expect_hello(wire.read())
        stopping.result()
    after = state(service)
    assert after["Status"] == "exited", after
    assert after["ExitCode"] != KILLED, after


@pytest.mark.first_variant
def test_limits_follow_the_environment(target: Target, containers: ContainerRuntime) -> None:
    asked = {"SERVER_PIDS": "1234", "SERVER_MEMORY": "333m", "SERVER_CPUS": "0.5"}
    with containers.created(target, asked) as container:
        given = docker.inspect(container)["HostConfig"]
    got = (given["PidsLimit"], given["Memory"], given["NanoCpus"])
    assert got == (1234, 333 * MIB, 500_000_000), f"(pids, bytes, nano CPUs) are {got}"


def test_image_alone_serves_its_first_variant(folder_target: Target, containers: ContainerRuntime) -> None:
    """Check `docker run` with nothing but a published port."""
    first = f"{folder_target.server}:{folder_target.variants[0]}"
    with free_port() as port:
        published = ("--publish", f"127.0.0.1:{port}:{folder_target.port}")
        with containers.image_alone(folder_target, port, *published) as server:
            server.wait_ready()
            assert server.stdout == f"listening on http://0.0.0.0:{folder_target.port} ({first})\n"
            expect_hello(fetch(port, "/"))
            server.signal(SIGTERM)
            assert server.wait() != KILLED


def test_host_is_obeyed(folder_target: Target, containers: ContainerRuntime) -> None:
    """Check that a server on the container's loopback address is not reachable through the published port."""
    with containers.start(folder_target, {"HOST": "127.0.0.1"}) as server:
        server.wait_ready()
        assert server.stdout == f"listening on http://127.0.0.1:{server.port} ({folder_target.id})\n"
        for _ in tries("reached from outside the container"):  # on a busy machine, the proxy refuses late
            if server.turns_away():
                break


def test_images_share_one_base(containers: ContainerRuntime) -> None:
    """Check that all images use the same C library and allocator."""
    images = sorted({service["image"] for service in containers.compose.services.values()})
    layers = {image: docker.inspect_image(image)["RootFS"]["Layers"] for image in images if docker.exists(image)}
    if len(layers) < 2:
        pytest.skip("a single image is built")
    assert not without_common_base(layers)
