"""A server on one engine's host and generators on those of others: the same containers, over a real network.

Each engine is named as Docker users do: by a context, or by a URL such as ssh://user@host.
"""

from __future__ import annotations

import secrets
import subprocess
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from zoo.catalog.manifest import Server
from zoo.host.engine import Engine, EngineError, engine_of
from zoo.model.errors import BenchError
from zoo.model.host import HostFacts
from zoo.runtime import images, orphans
from zoo.runtime.addresses import given, listens, words
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.agent.instruments import AgentInstruments
from zoo.runtime.agent.senders import senders, sending
from zoo.runtime.base import Apart, Launch
from zoo.runtime.container import ContainerRuntime, HostedContainer
from zoo.runtime.resources import Resources


@dataclass(frozen=True)
class Hosts:
    """The server's engine, the addresses that generators reach it by, and the generators' engines by name."""

    server: Engine
    addresses: tuple[str, ...]
    loads: Mapping[str, Engine]

    @property
    def listens(self) -> str:
        return listens(self.addresses)


def engines(environment: Mapping[str, str]) -> list[Engine]:
    """Those that a run between hosts uses, each once; none where the environment names none."""
    names = words(environment.get("SERVER_CONTEXT", "")) + words(environment.get("LOAD_CONTEXT", ""))
    return list(dict.fromkeys(map(engine_of, names)))


def hosts_of(environment: Mapping[str, str]) -> Hosts:
    """SERVER_CONTEXT, LOAD_CONTEXT and SERVER_ADDRESS (of both several, with commas between); `BenchError` says what is
    missing. Without an address it is the host in the server engine's URL.
    """
    where, loads = environment.get("SERVER_CONTEXT", ""), environment.get("LOAD_CONTEXT", "")
    names = words(loads)
    if not where or not names:
        raise BenchError(
            "RUNTIME=hosts needs SERVER_CONTEXT=name and LOAD_CONTEXT=name,name: contexts of `docker context ls`, or "
            "URLs such as ssh://user@host"
        )
    server = engine_of(where)
    addresses = given(environment) or (_address(server, where),)
    several = {name for name in names if names.count(name) > 1}
    called = {f"{name} ({n})" if name in several else name: engine_of(name) for n, name in enumerate(names, 1)}
    return Hosts(server, addresses, called)


def _address(engine: Engine, where: str) -> str:
    try:
        url = where if "://" in where else engine.endpoint(where)
    except EngineError as error:
        raise BenchError(f"SERVER_CONTEXT={where}: {error}") from None
    found = urllib.parse.urlsplit(url).hostname
    if not found:
        raise BenchError(f"SERVER_ADDRESS= must say by which address generators reach the server: {where} names none")
    return found


class HostedApart(HostedContainer):
    """A server's container on its host's own network, and the agents on the generators' hosts."""

    def __init__(
        self, hosts: Hosts, name: str, child: subprocess.Popen[bytes], launch: Launch, agents: Mapping[str, AgentClient]
    ) -> None:
        super().__init__(hosts.server, name, child, launch)
        self._hosts = hosts
        self._agents = agents
        self._processors = 1

    @property
    def url(self) -> str:
        return f"http://{self._hosts.addresses[0]}:{self._launch.entry.server.manifest.port}"

    @property
    def told_url(self) -> str:
        return f"http://{self._hosts.listens}:{self._launch.entry.server.manifest.port}"

    @property
    def apart(self) -> Apart:
        return Apart(self._processors, elsewhere=True)

    def attach(self, agent: AgentClient, sampler: str) -> None:
        super().attach(agent, sampler)
        far = senders(self._agents, self.url, self._hosts.addresses)
        self._processors = far.processors
        self.generator, self.attacker, self.benchmarker = far.generator, far.attacker, far.benchmarker

    def stop(self, grace_s: float = 15.0) -> int | None:
        for agent in self._agents.values():
            agent.close()
        return super().stop(grace_s)

    def kill(self) -> None:
        super().kill()
        for agent in self._agents.values():
            agent.close()


class HostsRuntime(ContainerRuntime):
    """Starts servers on one host and loads them from others."""

    name = "hosts"

    def __init__(self, hosts: Hosts, resources: Resources, sampler: str = "auto") -> None:
        super().__init__(hosts.server, resources, sampler)
        self._hosts = hosts

    @property
    def network(self) -> tuple[str, ...]:
        return ("--network=host",)

    @property
    def address(self) -> str:
        return self._hosts.listens

    def build(self, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> None:
        images.provide({self.engine: servers, **dict.fromkeys(self._others(), ())}, root, variables, self.broken)

    def hosted(self, name: str, child: subprocess.Popen[bytes], launch: Launch) -> HostedContainer:
        with launch.log.open("ab") as log:
            agents = {load: self._load_agent(engine, log) for load, engine in self._hosts.loads.items()}
        return HostedApart(self._hosts, name, child, launch, agents)

    def facts(self) -> HostFacts:
        """The server's machine; connections come from the ports of all generators, to each address of the server."""
        seen = super().facts()
        found = {}
        for name, engine in self._hosts.loads.items():
            agent = self._load_agent(engine, subprocess.PIPE)
            try:
                found[name] = AgentInstruments(agent).limits()
            finally:
                agent.close()
        return sending(seen, self._hosts.server.where[-1], found, len(self._hosts.addresses))

    def close(self) -> None:
        super().close()
        for engine in self._others():
            orphans.clear(engine, self.run_id, here=False)

    def _others(self) -> list[Engine]:
        """Engines of generators alone, each once."""
        return list(dict.fromkeys(engine for engine in self._hosts.loads.values() if engine != self._hosts.server))

    def _load_agent(self, engine: Engine, errors: int | IO[bytes]) -> AgentClient:
        return self.agent(f"{self.prefix}load-{secrets.token_hex(4)}", errors, engine=engine)
