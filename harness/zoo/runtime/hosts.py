"""A server on one engine's host and generators on those of others: the same containers, over a real network.

Each engine is named as Docker users do: by a context, or by a URL such as ssh://user@host.
"""

from __future__ import annotations

import secrets
import subprocess
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter

from zoo.catalog.manifest import Server
from zoo.host.engine import Engine, EngineError
from zoo.load.wrk import Wrk
from zoo.model.errors import BenchError
from zoo.model.host import HostFacts
from zoo.runtime import images, orphans
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.agent.instruments import AgentInstruments
from zoo.runtime.agent.load import AgentAb, AgentShards, AgentVegeta
from zoo.runtime.agent.spread import Link, Remote, SpreadShards
from zoo.runtime.base import Apart, Launch
from zoo.runtime.container import ContainerRuntime, HostedContainer
from zoo.runtime.resources import Resources

LINK: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, float])
CLOCK: TypeAdapter[float] = TypeAdapter(float)
LOOKS = 7
"""At an agent's clock: of these the one that took least time tells how far it is ahead."""

MEASURES_S = 60.0


@dataclass(frozen=True)
class Hosts:
    """The server's engine, the addresses that generators reach it by, and the generators' engines by name."""

    server: Engine
    addresses: tuple[str, ...]
    loads: Mapping[str, Engine]


def engines(environment: Mapping[str, str]) -> list[Engine]:
    """Those that a run between hosts uses, each once; none where the environment names none."""
    names = _words(environment.get("SERVER_CONTEXT", "")) + _words(environment.get("LOAD_CONTEXT", ""))
    return list(dict.fromkeys(map(engine_of, names)))


def engine_of(name: str) -> Engine:
    """By a context's name, or by a URL."""
    return Engine(where=("--host" if "://" in name else "--context", name))


def hosts_of(environment: Mapping[str, str]) -> Hosts:
    """SERVER_CONTEXT, LOAD_CONTEXT and SERVER_ADDRESS (of both several, with commas between); `BenchError` says what is
    missing. Without an address it is the host in the server engine's URL.
    """
    where, loads = environment.get("SERVER_CONTEXT", ""), environment.get("LOAD_CONTEXT", "")
    names = _words(loads)
    if not where or not names:
        raise BenchError(
            "RUNTIME=hosts needs SERVER_CONTEXT=name and LOAD_CONTEXT=name,name: contexts of `docker context ls`, or "
            "URLs such as ssh://user@host"
        )
    server = engine_of(where)
    addresses = _words(environment.get("SERVER_ADDRESS", "")) or [_address(server, where)]
    several = {name for name in names if names.count(name) > 1}
    called = {f"{name} ({n})" if name in several else name: engine_of(name) for n, name in enumerate(names, 1)}
    return Hosts(server, tuple(addresses), called)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


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
    def apart(self) -> Apart:
        return Apart(self._processors, elsewhere=True)

    def attach(self, agent: AgentClient, sampler: str) -> None:
        super().attach(agent, sampler)
        first = next(iter(self._agents.values()))
        facts = [AgentInstruments(one).facts() for one in self._agents.values()]
        self._processors = sum(found.cores or 1 for found in facts)
        remotes = [remote(name, one, self.url) for name, one in self._agents.items()]
        several = self._hosts.addresses if len(self._hosts.addresses) > 1 else ()
        self.generator = Wrk(SpreadShards(remotes), several)
        self.attacker = AgentVegeta(first)
        self.benchmarker = AgentAb(first)

    def stop(self, grace_s: float = 15.0) -> int | None:
        for agent in self._agents.values():
            agent.close()
        return super().stop(grace_s)

    def kill(self) -> None:
        super().kill()
        for agent in self._agents.values():
            agent.close()


def remote(name: str, agent: AgentClient, url: str) -> Remote:
    """The host of this agent, its clock and its link to the server looked at."""
    link = agent.call(LINK, "link", MEASURES_S, url=url)
    return Remote(name, AgentShards(agent), Link(**link), ahead_s(agent))


def ahead_s(agent: AgentClient) -> float:
    """The agent's clock less ours, at the look that took least time: it is then wrong by half of that at most."""
    best = (float("inf"), 0.0)
    for _ in range(LOOKS):
        before = time.monotonic()
        theirs = agent.call(CLOCK, "clock")
        after = time.monotonic()
        best = min(best, (after - before, theirs - (before + after) / 2))
    return best[1]


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
        """At which the server listens: at all of its host's where it has several."""
        return self._hosts.addresses[0] if len(self._hosts.addresses) == 1 else "0.0.0.0"

    def build(self, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> None:
        """By this shell's engine, and copied to hosts of its platform; by a host's own where that is another."""
        shell = Engine()
        wanted: dict[Engine, Sequence[Server]] = {self.engine: servers, **dict.fromkeys(self._others(), ())}
        served = images.alike(shell, wanted)
        if served:
            self.broken |= images.build(shell, root, servers if self.engine in served else (), variables)
        for host, those in wanted.items():
            if host in served:
                images.hand_on(shell, host, [server for server in those if server.label not in self.broken])
            else:
                self.broken |= images.build(host, root, those, variables)

    def hosted(self, name: str, child: subprocess.Popen[bytes], launch: Launch) -> HostedContainer:
        with launch.log.open("ab") as log:
            agents = {load: self._load_agent(engine, log) for load, engine in self._hosts.loads.items()}
        return HostedApart(self._hosts, name, child, launch, agents)

    def facts(self) -> HostFacts:
        """The server's machine; connections come from the ports of all generators, to each address of the server."""
        seen = super().facts()
        found = []
        for engine in self._hosts.loads.values():
            agent = self._load_agent(engine, subprocess.DEVNULL)
            try:
                found.append(AgentInstruments(agent).limits())
            finally:
                agent.close()
        tightest = min(found, key=lambda limits: (limits.port_high or 65_535) - (limits.port_low or 0))
        spaces = len(found) * len(self._hosts.addresses)
        ports = {"port_low": tightest.port_low, "port_high": tightest.port_high, "generators": spaces}
        return seen.model_copy(update={"limits": seen.limits.model_copy(update=ports)})

    def close(self) -> None:
        super().close()
        for engine in self._others():
            orphans.clear(engine, self.run_id, here=False)

    def _others(self) -> list[Engine]:
        """Engines of generators alone, each once."""
        return list(dict.fromkeys(engine for engine in self._hosts.loads.values() if engine != self._hosts.server))

    def _load_agent(self, engine: Engine, errors: int | IO[bytes]) -> AgentClient:
        return self.agent(f"{self.prefix}load-{secrets.token_hex(4)}", errors, engine=engine)
