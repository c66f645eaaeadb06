"""Databases of a run: processes, containers from the compose file's images, or an existing server."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.host.engine import Engine, EngineError, image_name
from zoo.runtime import databases, orphans
from zoo.runtime.container import SAFE, is_here
from zoo.runtime.databases import RunningDatabase
from zoo.runtime.toxiproxy import slow_wire
from zoo.scenarios.jdbc.launcher import LaunchFailure
from zoo.scenarios.jdbc.spec import wire_ms

SERVICES = {"postgresql": "postgres", "mariadb": "mariadb"}
PORTS = {"postgres": 5432, "mariadb": 3306, "toxiproxy": 8474}
WIRE = "toxiproxy"
PIDS = 2_048
READY_S = 90.0

Start = AbstractContextManager[RunningDatabase]


def with_latency(serving: RunningDatabase, latency: str, root: Path, environ: Mapping[str, str]) -> Start:
    """Return the same database, over a slow wire if the latency is one."""
    ms = wire_ms(latency)
    return nullcontext(serving) if ms is None else slow_wire(serving, ms, root / ".tools", environ)


class Databases(Protocol):
    """Source of a cell's database. It raises `EngineError` or `RuntimeFailure` if the database does not start."""

    def serving(self, database: str, max_connections: int | None, latency: str) -> Start: ...


@dataclass(frozen=True)
class Processes:
    """Database processes that the harness starts for every cell, from the programs that java-jdbc's build provides."""

    root: Path
    environ: Mapping[str, str]

    @contextmanager
    def serving(self, database: str, max_connections: int | None, latency: str) -> Iterator[RunningDatabase]:
        jars = self.root / "java-jdbc" / "target" / "databases"
        with (
            databases.database(databases.DATABASES[database], max_connections or 100, jars) as started,
            with_latency(started, latency, self.root, self.environ) as found,
        ):
            yield found


@dataclass(frozen=True)
class External:
    """The existing server that JDBC_URL names."""

    root: Path
    environ: Mapping[str, str]

    def serving(self, database: str, max_connections: int | None, latency: str) -> Start:
        del database, max_connections
        return with_latency(RunningDatabase(caller_variables(self.environ)), latency, self.root, self.environ)


def caller_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's JDBC_ variables, which describe a server."""
    return {name: value for name, value in environ.items() if name.startswith("JDBC_")}


@dataclass
class Containers:
    """New containers for every cell, reached at their own addresses, without a published port or a proxy in between."""

    engine: Engine
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))

    def build(self, root: Path) -> None:
        """Build all images. Raise `EngineError` if a build fails."""
        self.engine.compose_build(root, list(PORTS), {})

    @contextmanager
    def serving(self, database: str, max_connections: int | None, latency: str) -> Iterator[RunningDatabase]:
        password = secrets.token_hex(16)
        service = SERVICES[database]
        settings = {"PASSWORD": password, "MAX_CONNECTIONS": str(max_connections or 100)}
        here = False
        try:
            name = self._start(service, settings)
            state = self.engine.inspect(name)
            pid = int(state["State"]["Pid"])
            env = {
                "JDBC_URL": databases.DATABASES[database].url(self._address(name, service), PORTS[service]),
                "JDBC_USER": "zoo",
                "JDBC_PASSWORD": password,
                "JDBC_ORIGIN": "container",
            }
            here = is_here(pid, str(state["Id"]))
            if here:
                env["JDBC_PID"] = str(pid)
            wire = {}
            if wire_ms(latency) is not None:
                host = self._address(self._start(WIRE, {}), WIRE)
                wire["TOXIPROXY_URL"] = f"http://{host}:{PORTS[WIRE]}"
            with with_latency(RunningDatabase(env), latency, Path(), wire) as found:
                try:
                    yield found
                except LaunchFailure:
                    self._check_running(name)  # distinguishes a dead database from other failures
                    raise
        finally:
            orphans.remove_containers(self.engine, self.run_id, here=here)

    def words(self, name: str, service: str, settings: Iterable[str]) -> list[str]:
        """Return the arguments of the `docker` command that starts a service. Pure.

        The arguments contain only the names of the settings: every user can read command lines, and one value is a
        password.
        """
        return [
            *("run", "--detach", *orphans.options(self.run_id, name)),
            *("--pull=never", f"--pids-limit={PIDS}"),
            *SAFE,
            *(f"--env={name}" for name in settings),
            image_name(service),
        ]

    def _start(self, service: str, settings: Mapping[str, str]) -> str:
        name = f"{orphans.prefix(self.run_id)}{service}-{secrets.token_hex(2)}"
        self.engine.call(*self.words(name, service, settings), env=settings)
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            self._check_running(name)
            if self.engine.inspect(name)["State"]["Health"]["Status"] == "healthy":
                return name
            time.sleep(0.2)
        raise EngineError(f"{service} was not ready within {READY_S:.0f} s\n{self.engine.log_tail(name)}")

    def _check_running(self, name: str) -> None:
        state = self.engine.inspect(name)["State"]
        if not state["Running"]:
            raise EngineError(f"{name} ended with exit code {state['ExitCode']}\n{self.engine.log_tail(name)}")

    def _address(self, name: str, service: str) -> str:
        """Return the container's address on the engine's bridge. Raise `EngineError` if it is unreachable from here."""
        networks = self.engine.inspect(name)["NetworkSettings"]["Networks"]
        address = next((str(of["IPAddress"]) for of in networks.values() if of["IPAddress"]), "")
        try:
            if not address:
                raise OSError("the engine reports none")
            socket.create_connection((address, PORTS[service]), timeout=5.0).close()
        except OSError as error:
            raise EngineError(
                f"cannot reach {service} in its container at {address} ({error}): with a rootless or "
                "remote engine use RUNTIME=process, or set JDBC_URL"
            ) from None
        return address
