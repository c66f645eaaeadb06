"""Servers in containers, started from the services of the zoo's compose file.

The suite uses `docker compose run` instead of `docker run` because it applies the service's user, read-only root,
capabilities and limits. The tests therefore run the same configuration as users. `docker compose run` leaves out the
restart policy and the published ports, which a test has to choose itself. `test_container.py` tests both with
`docker compose up`.
"""

from __future__ import annotations

import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kit import docker
from kit.compose import Compose, service_of
from kit.ports import free_port
from kit.server import LOW_NOFILE, Environment, Runtime, Server, Unusable
from kit.targets import Target
from kit.wire import request

LAST_WORDS = 10.0
"""Seconds to wait for the rest of the log after a container has ended."""


class ContainerServer(Server):
    """Server in a started container, with its log."""

    host = "0.0.0.0"
    own_pid = 1

    def __init__(self, target: Target, port: int, name: str) -> None:
        super().__init__(target, port)
        self.name = name
        self._log = subprocess.Popen(
            ["docker", "logs", "--follow", name],
            stdin=subprocess.DEVNULL,
            stdout=self.output.stdout_file,
            stderr=self.output.stderr_file,
            start_new_session=True,
        )

    def exit_code(self) -> int | None:
        if self._log.poll() is None:
            return None
        state = docker.inspect(self.name)["State"]
        return None if state["Running"] else int(state["ExitCode"])

    def signal(self, number: signal.Signals) -> None:
        docker.cli("kill", "--signal", number.name, self.name)

    def proc(self, file: str) -> str:
        """Read the file inside the container, because the engine may run on another kernel."""
        return docker.execute(self.name, "cat", f"/proc/{self.own_pid}/{file}")

    def turns_away(self) -> bool:
        """Return True if a connection fails or ends without a byte.

        The engine's proxy accepts connections even if nothing listens behind it, and then closes them.
        """
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as probe:
                probe.sendall(request("/"))
                return not probe.recv(1)
        except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        """Stop reading the log. The code that started the container removes it."""
        self._log.kill()
        self._log.wait()
        self.output.close()

    def _end(self, patience: float) -> int | None:
        try:
            code = docker.cli("wait", self.name, patience=patience)
        except docker.DockerLate:
            return None
        self._log.wait(LAST_WORDS)
        return int(code)


@dataclass(frozen=True)
class Service:
    """Service started by `docker compose up`."""

    target: Target
    container: str
    port: int


class ContainerRuntime(Runtime):
    """Runtime that starts the compose service of an entry."""

    name = "container"

    def __init__(self, compose: Compose) -> None:
        self.compose = compose

    def prepare(self, targets: list[Target]) -> None:
        docker.require_engine()
        services = self.compose.services
        without = [target.id for target in targets if service_of(target) not in services]
        if without:
            raise Unusable(f"docker-compose.yml has no service for {', '.join(without)}")
        wanted = sorted({self.compose.image(target) for target in targets})
        missing = [image for image in wanted if not docker.exists(image)]
        if missing:
            raise Unusable(f"images are missing, `make images` builds them: {', '.join(missing)}")

    @contextmanager
    def start(
        self, target: Target, env: Environment | None = None, low_nofile: bool = False
    ) -> Iterator[ContainerServer]:
        over = {"entrypoint": self._with_low_nofile(target)} if low_nofile else {}
        with free_port() as port:
            publish = ("--publish", f"127.0.0.1:{port}:{port}")
            with self._running(target, port, over, env or {}, *publish) as server:
                yield server

    @contextmanager
    def start_on_taken_port(self, target: Target) -> Iterator[ContainerServer]:
        """Start two containers in one network namespace; in separate ones, both could use the same port."""
        with self.start(target) as holder:
            holder.wait_ready()
            over = {"network_mode": f"container:{holder.name}"}
            with self._running(target, holder.port, over, {}) as server:
                yield server

    def temporary(self, folder: Path) -> dict[str, str]:
        return {}

    def finish(self) -> list[str]:
        return docker.sweep(self.compose.run)

    @contextmanager
    def up(self, target: Target) -> Iterator[Service]:
        """Start the service with `docker compose up`, on the port that the compose file names."""
        with self._raised(target, {}, "--detach") as container:
            bindings = docker.inspect(container)["NetworkSettings"]["Ports"].values()
            ports = [int(binding["HostPort"]) for found in bindings for binding in found or []]
            assert ports, f"the service {service_of(target)} publishes no port"
            yield Service(target, container, ports[0])

    @contextmanager
    def created(self, target: Target, env: Mapping[str, str]) -> Iterator[str]:
        """Create the service's container with `env` as the user's environment, but do not start it."""
        with self._raised(target, env, "--no-start") as container:
            yield container

    def kill(self, service: Service) -> None:
        """Send SIGKILL from outside the container, as the kernel does when memory runs out.

        From inside, SIGKILL has no effect on a container's first process. After `docker kill`, the engine does not
        restart the container.
        """
        pid = docker.inspect(service.container)["State"]["Pid"]
        rights = ("--pid", "host", "--user", "0", "--cap-drop", "ALL", "--cap-add", "KILL", "--network", "none")
        killer = ("--entrypoint", "sh", self.compose.image(service.target), "-c", f"kill -9 {pid}")
        docker.cli("run", "--rm", "--label", self._label, *rights, *killer)

    @contextmanager
    def image_alone(
        self, target: Target, port: int, *settings: str, command: tuple[str, ...] = ()
    ) -> Iterator[ContainerServer]:
        """Run the image with `docker run` and these settings only."""
        name = self._new_name()
        try:
            options = ("--detach", "--name", name, "--label", self._label, *settings)
            docker.cli("run", *options, self.compose.image(target), *command)
            with ContainerServer(target, port, name) as server:
                yield server
        finally:
            docker.remove(name)

    @contextmanager
    def _running(
        self, target: Target, port: int, over: Mapping[str, object], env: Environment, *words: str
    ) -> Iterator[ContainerServer]:
        name = self._new_name()
        given = {key: value for key, value in {"PORT": str(port), **env}.items() if value is not None}
        variables = [word for key, value in given.items() for word in ("--env", f"{key}={value}")]
        # A health check's requests would be counted with those of the tests. It has separate tests.
        unchecked = {"healthcheck": {"disable": True}}
        try:
            options = ("--detach", "--no-deps", "-T", "--name", name, *words, *variables)
            self.compose("run", *options, service_of(target), target=target, over={**unchecked, **over})
            with ContainerServer(target, port, name) as server:
                yield server
        finally:
            docker.remove(name)

    @contextmanager
    def _raised(self, target: Target, env: Mapping[str, str], how: str) -> Iterator[str]:
        """Create a container with `docker compose up` in a separate project, and remove it when the block ends."""
        project, service = self.compose.another(), service_of(target)
        try:
            project("up", how, "--no-deps", "--no-build", service, target=target, env=env)
            yield project("ps", "--all", "--quiet", service, target=target).strip()
        finally:
            project("down", "--timeout", "0", "--volumes", target=target)

    def _with_low_nofile(self, target: Target) -> list[str]:
        """Return the service's start command, with a low soft limit on file descriptors."""
        return ["sh", "-c", f'ulimit -S -n {LOW_NOFILE}; exec "$$@"', "sh", *self.compose.start_command(target)]

    @property
    def _label(self) -> str:
        return f"{docker.LABEL}={self.compose.run}"

    def _new_name(self) -> str:
        return f"contract-{self.compose.run}-{uuid.uuid4().hex[:8]}"
