"""Where the databases of a run are: processes of java-jdbc's own, or containers from the compose file's images."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.host.engine import Engine, EngineError, image
from zoo.jdbc.launcher import LaunchFailure
from zoo.runtime import orphans
from zoo.runtime.container import SAFE, is_here

SERVICES = {"postgresql": "postgres", "mariadb": "mariadb"}
PORTS = {"postgres": 5432, "mariadb": 3306, "toxiproxy": 8474}
URLS = {
    "postgresql": "jdbc:postgresql://{host}:5432/zoo",
    # it has no certificate, as with java-jdbc's own
    "mariadb": "jdbc:mariadb://{host}:3306/zoo?sslMode=disable",
}
WIRE = "toxiproxy"
PIDS = 2_048
READY_S = 90.0

Serving = AbstractContextManager[Mapping[str, str]]
"""A database while it is there, by the environment that names it to java-jdbc."""


def has_wire(folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether java-jdbc, whose folder this is, will find Toxiproxy: as its `Wire` looks for it."""
    if environment.keys() & {"TOXIPROXY", "TOXIPROXY_URL"}:
        return True
    tools = folder.parent / ".tools"
    return shutil.which("toxiproxy-server", path=os.pathsep.join([str(tools), environment.get("PATH", "")])) is not None


class Databases(Protocol):
    """Where a cell's database comes from; `EngineError` when it does not come."""

    def serving(self, database: str, max_connections: int | None, *, wire: bool) -> Serving: ...


class Embedded:
    """java-jdbc starts them by itself, or is told of another server by the environment that it inherits."""

    def serving(self, database: str, max_connections: int | None, *, wire: bool) -> Serving:
        del database, max_connections, wire
        return nullcontext({})


@dataclass
class Containers:
    """Fresh containers for every cell, reached by their own addresses: no port is published, no proxy in between."""

    engine: Engine
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))

    def build(self, root: Path) -> None:
        """All images; `EngineError` when one does not build."""
        self.engine.compose_build(root, list(PORTS), {})

    @contextmanager
    def serving(self, database: str, max_connections: int | None, *, wire: bool) -> Iterator[Mapping[str, str]]:
        password = secrets.token_hex(16)
        service = SERVICES[database]
        settings = {"PASSWORD": password, "MAX_CONNECTIONS": str(max_connections or 100)}
        here = False
        try:
            name = self._start(service, settings)
            state = self.engine.inspect(name)
            pid = int(state["State"]["Pid"])
            env = {
                "JDBC_URL": URLS[database].format(host=self._address(name, service)),
                "JDBC_USER": "zoo",
                "JDBC_PASSWORD": password,
                "JDBC_ORIGIN": "container",
            }
            here = is_here(pid, str(state["Id"]))
            if here:
                env["JDBC_PID"] = str(pid)
            if wire:
                host = self._address(self._start(WIRE, {}), WIRE)
                env["TOXIPROXY_URL"] = f"http://{host}:{PORTS[WIRE]}"
            try:
                yield env
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
