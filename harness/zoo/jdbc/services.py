"""Where the databases of a run are: processes, containers from the compose file's images, or another server."""

from __future__ import annotations

import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.host.engine import Engine, EngineError, image
from zoo.jdbc.launcher import LaunchFailure
from zoo.jdbc.plan import wire_ms
from zoo.runtime import databases, orphans
from zoo.runtime.container import SAFE, is_here
from zoo.runtime.databases import Serving
from zoo.runtime.toxiproxy import slow_wire

SERVICES = {"postgresql": "postgres", "mariadb": "mariadb"}
PORTS = {"postgres": 5432, "mariadb": 3306, "toxiproxy": 8474}
WIRE = "toxiproxy"
PIDS = 2_048
READY_S = 90.0

Start = AbstractContextManager[Serving]


def slowed(serving: Serving, latency: str, root: Path, environ: Mapping[str, str]) -> Start:
    """The same database, over a slow wire if the latency is one."""
    ms = wire_ms(latency)
    return nullcontext(serving) if ms is None else slow_wire(serving, ms, root / ".tools", environ)


class Databases(Protocol):
    """Where a cell's database comes from; `EngineError` or `RuntimeFailure` when it does not come."""

    def serving(self, database: str, max_connections: int | None, latency: str) -> Start: ...


@dataclass(frozen=True)
class Processes:
    """Fresh processes of the harness for every cell, by the programs that java-jdbc's build brings."""

    root: Path
    environ: Mapping[str, str]

    @contextmanager
    def serving(self, database: str, max_connections: int | None, latency: str) -> Iterator[Serving]:
        jars = self.root / "java-jdbc" / "target" / "databases"
        with (
            databases.database(databases.DATABASES[database], max_connections or 100, jars) as started,
            slowed(started, latency, self.root, self.environ) as found,
        ):
            yield found


@dataclass(frozen=True)
class External:
    """The server that JDBC_URL names."""

    root: Path
    environ: Mapping[str, str]

    def serving(self, database: str, max_connections: int | None, latency: str) -> Start:
        del database, max_connections
        return slowed(Serving(callers(self.environ)), latency, self.root, self.environ)


def callers(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the caller says of a server by JDBC_ variables."""
    return {name: value for name, value in environ.items() if name.startswith("JDBC_")}


@dataclass
class Containers:
    """Fresh containers for every cell, reached by their own addresses: no port is published, no proxy in between."""

    engine: Engine
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))

    def build(self, root: Path) -> None:
        """All images; `EngineError` when one does not build."""
        self.engine.compose_build(root, list(PORTS), {})

    @contextmanager
    def serving(self, database: str, max_connections: int | None, latency: str) -> Iterator[Serving]:
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
            with slowed(Serving(env), latency, Path(), wire) as found:
                try:
                    yield found
                except LaunchFailure:
                    self._refuse_dead(name)  # tells a death from other failures
                    raise
        finally:
            orphans.clear(self.engine, self.run_id, here=here)

    def words(self, name: str, service: str, settings: Iterable[str]) -> list[str]:
        """The `docker run` that starts a service, without the command's own name. Pure.

        Settings are named only: command lines, which would have a password, are seen by everybody.
        """
        return [
            *("run", "--detach", *orphans.options(self.run_id, name)),
            *("--pull=never", f"--pids-limit={PIDS}"),
            *SAFE,
            *(f"--env={name}" for name in settings),
            image(service),
        ]

    def _start(self, service: str, settings: Mapping[str, str]) -> str:
        name = f"{orphans.prefix(self.run_id)}{service}-{secrets.token_hex(2)}"
        self.engine.call(*self.words(name, service, settings), env=settings)
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            self._refuse_dead(name)
            if self.engine.inspect(name)["State"]["Health"]["Status"] == "healthy":
                return name
            time.sleep(0.2)
        raise EngineError(f"{service} was not ready within {READY_S:.0f} s\n{self.engine.log_tail(name)}")

    def _refuse_dead(self, name: str) -> None:
        state = self.engine.inspect(name)["State"]
        if not state["Running"]:
            raise EngineError(f"{name} ended with exit code {state['ExitCode']}\n{self.engine.log_tail(name)}")

    def _address(self, name: str, service: str) -> str:
        """Its own on the engine's bridge; `EngineError` where that cannot be reached from here."""
        networks = self.engine.inspect(name)["NetworkSettings"]["Networks"]
        address = next((str(of["IPAddress"]) for of in networks.values() if of["IPAddress"]), "")
        try:
            if not address:
                raise OSError("the engine names none")
            socket.create_connection((address, PORTS[service]), timeout=5.0).close()
        except OSError as error:
            raise EngineError(
                f"{service} in its container is not reached at its address {address} ({error}); "
                "a rootless or remote engine needs RUNTIME=process, or JDBC_URL"
            ) from None
        return address
