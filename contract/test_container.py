"""What containers promise besides the contract, asked of services that `docker compose up` has started."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from signal import SIGTERM
from typing import Any

import pytest
from kit import docker
from kit.container import ContainerRuntime, Service
from kit.delays import begin
from kit.hardening import violations, without_common_base
from kit.ports import free_port
from kit.rules import expect_hello
from kit.targets import Target
from kit.wire import Wire, fetch, request

PATIENCE = 60.0
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def raised(target: Target, containers: ContainerRuntime) -> Iterator[Service]:
    with containers.up(target) as service:
        yield service


@pytest.fixture
def service(raised: Service) -> Service:
    """Running and serving, whatever the test before has done to it."""
    docker.cli("start", raised.container)
    wait_served(raised)
    return raised


def wait_served(service: Service) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            expect_hello(fetch(service.port, "/"))
        except (AssertionError, OSError) as error:
            if time.monotonic() > deadline:
                said = docker.cli("logs", service.container)
                raise AssertionError(f"{service.target.id} does not serve ({error}); it said {said!r}") from error
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
    """The check itself, once as it is and once at a port where nobody listens."""
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
        assert time.monotonic() < deadline, f"not started again: {state(service)}"
        time.sleep(0.1)
    wait_served(service)


@pytest.mark.first_variant
def test_stop_drains(service: Service) -> None:
    """`docker stop`: what is in flight is finished within the grace, the exit code is 0, and it stays stopped."""
    with Wire(service.port) as wire, ThreadPoolExecutor(1) as background:
        expect_hello(wire.get("/"))
        begin(service.port, [wire], request("/sleep?ms=1500"))
        stopping = background.submit(docker.cli, "stop", service.container)
        expect_hello(wire.read())
        stopping.result()
    after = state(service)
    assert (after["Status"], after["ExitCode"]) == ("exited", 0), after


@pytest.mark.first_variant
def test_limits_follow_the_environment(target: Target, containers: ContainerRuntime) -> None:
    asked = {"SERVER_PIDS": "1234", "SERVER_MEMORY": "333m", "SERVER_CPUS": "0.5"}
    with containers.created(target, asked) as container:
        given = docker.inspect(container)["HostConfig"]
    got = (given["PidsLimit"], given["Memory"], given["NanoCpus"])
    assert got == (1234, 333 * MIB, 500_000_000), f"(pids, bytes, nano CPUs) are {got}"


def test_image_alone_serves_its_first_variant(folder_target: Target, containers: ContainerRuntime) -> None:
    """`docker run`, with nothing but a published port."""
    first = f"{folder_target.server}:{folder_target.variants[0]}"
    with free_port() as port:
        published = ("--publish", f"127.0.0.1:{port}:{folder_target.port}")
        with containers.image_alone(folder_target, port, *published) as server:
            server.wait_ready()
            assert server.stdout == f"listening on http://0.0.0.0:{folder_target.port} ({first})\n"
            expect_hello(fetch(port, "/"))
            server.signal(SIGTERM)
            assert server.wait() == 0


def test_host_is_obeyed(folder_target: Target, containers: ContainerRuntime) -> None:
    """Listening on the container's own loopback address, it is not reached through the published port."""
    with containers.start(folder_target, {"HOST": "127.0.0.1"}) as server:
        server.wait_ready()
        assert server.stdout == f"listening on http://127.0.0.1:{server.port} ({folder_target.id})\n"
        assert server.turns_away(), "reached from outside the container"


def test_images_share_one_base(containers: ContainerRuntime) -> None:
    """The same C library and allocator below all of them."""
    images = sorted({service["image"] for service in containers.compose.services.values()})
    layers = {image: docker.inspect_image(image)["RootFS"]["Layers"] for image in images if docker.exists(image)}
    if len(layers) < 2:
        pytest.skip("a single image is built")
    assert not without_common_base(layers)
