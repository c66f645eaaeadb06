"""Starts servers and generators as services of one task each, placed by labels.

Only a manager is spoken to. A service's streams cannot be attached to, so its agents call back.
"""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from zoo.catalog.manifest import Server
from zoo.host.engine import EngineError, image
from zoo.host.swarm import Node, Swarm, Task
from zoo.model.cores import Cores
from zoo.model.host import HostFacts
from zoo.runtime import images, orphans
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.agent.instruments import AgentInstruments
from zoo.runtime.base import Launch
from zoo.runtime.container import SAFE, USER, ContainerRuntime
from zoo.runtime.resources import Resources
from zoo.runtime.swarm.generators import with_ports_of
from zoo.runtime.swarm.hosted import HostedService
from zoo.runtime.swarm.places import Places
from zoo.runtime.swarm.relay import CERTIFY, RELAY, SECRET, DialledAgent, Relay, call_back

SAFE_SERVICE = (
    *("--read-only", "--cap-drop=ALL", f"--user={USER}", "--mount=type=tmpfs,destination=/tmp,tmpfs-mode=1777"),
    *("--network=host", "--stop-grace-period=15s", "--log-driver=json-file", "--log-opt=max-size=10m"),
)
"""As `SAFE`, but that a service cannot be refused new privileges; without capabilities there are none to be had."""

NODE_PROC = "/node/proc"
WATCH = (f"--mount=type=bind,source=/proc,destination={NODE_PROC},readonly", f"--env=ZOO_PROC={NODE_PROC}")
"""The processes of its node, those of the server's user to be read."""


class SwarmRuntime(ContainerRuntime):
    """Starts each entry as a service on the server's node, and loads it from the others."""

    name = "swarm"

    def __init__(self, swarm: Swarm, places: Places, resources: Resources) -> None:
        super().__init__(swarm.engine, resources)
        self.swarm = swarm
        self.places = places
        self._pem = ""
        self._pushed: dict[str, str] = {}

    @property
    def network(self) -> tuple[str, ...]:
        return ("--network=host",)

    @property
    def address(self) -> str:
        return self.places.listens

    def build(self, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> None:
        """For the manager; other nodes fetch just these builds from the registry that ZOO_IMAGES= names."""
        self.broken |= images.provide(self.engine, root, servers, variables)
        whole = [server for server in servers if server.label not in self.broken]
        for name in [image(images.GENERATOR), *(image(server.name, release=server.release) for server in whole)]:
            if images.has_registry(name):
                self._pushed[name] = self.engine.push(name)

    def reference(self, name: str) -> str:
        return self._pushed.get(name, name)

    def spawn(self, name: str, launch: Launch, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """The service, and a command that follows its log."""
        resources = self.limits(launch)
        limits = [f"--limit-pids={resources.pids}"]
        limits += [f"--limit-cpu={resources.cpus:g}"] if resources.cpus is not None else []
        limits += [f"--limit-memory={resources.memory}"] if resources.memory is not None else []
        words = [*self._labels(), *SAFE_SERVICE, *limits, *self.environment(launch), *self.program(launch)]
        self.swarm.create(name, self.places.server, words)
        follow = ("service", "logs", "--follow", "--raw", name)
        return self.engine.popen(follow, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def hosted(self, name: str, child: subprocess.Popen[bytes], launch: Launch) -> HostedService:
        return HostedService((self.swarm, self.places, self.dial), name, child, launch)

    def agent(
        self,
        name: str,
        errors: int | IO[bytes],
        beside: str | None = None,
        cores: Cores | None = None,
    ) -> AgentClient:
        """On the server's node."""
        return self.dial(self.places.server, errors, *WATCH)

    def dial(self, node: Node, errors: int | IO[bytes], *words: str) -> DialledAgent:
        """An agent on this node; `EngineError` names the node that has none."""
        name = f"{self.prefix}agent-{secrets.token_hex(4)}"
        run = ("run", "--rm", "--interactive", *self.named(name), *self.network, *SAFE)
        command = [*run, image(images.GENERATOR), "sh", "-c", RELAY, self.places.manager.address]
        pipe = subprocess.PIPE
        relay = Relay(self.engine.popen(command, stdin=pipe, stdout=pipe, stderr=pipe), self._certificate(), errors)
        agent = DialledAgent(relay, lambda: self.swarm.remove([name]))
        try:
            options = (*self._labels(), *SAFE_SERVICE, f"--secret={self._certificate_file()}", *words)
            program = (self.reference(image(images.GENERATOR)), *call_back(self.places.manager.address, relay.port()))
            self.swarm.create(name, node, [*options, *program])
            self.swarm.fetched(name)
            relay.wait(lambda: _fault(self.swarm.task(name)))
        except EngineError as error:
            agent.close()
            raise EngineError(f"no agent on node {node.name}: {error}") from None
        except BaseException:
            agent.close()
            raise
        return agent

    def facts(self) -> HostFacts:
        """The server's node; connections come from the ports of all generators, to each address of the server."""
        for mark in orphans.lock():
            self.swarm.removed(mark)
        with ExitStack() as stack:
            watcher = self.dial(self.places.server, subprocess.DEVNULL, *WATCH)
            stack.callback(watcher.close)
            seen = AgentInstruments(watcher).facts()
            found = {}
            for name, node in self.places.loads.items():
                agent = self.dial(node, subprocess.DEVNULL)
                stack.callback(agent.close)
                found[name] = AgentInstruments(agent).limits()
        engine = self.engine.facts()
        seen = seen.model_copy(update={"distribution": None, "engine": engine})
        return with_ports_of(seen, self.places.server.name, found, len(self.places.addresses))

    def close(self) -> None:
        """Leave no service, secret or relay behind."""
        try:
            self.swarm.removed(orphans.label(self.run_id))
        finally:
            super().close()

    def _certificate(self) -> str:
        """The run's own, made once, and known to its services as a secret."""
        if not self._pem:
            made = ("run", "--rm", *self.named(f"{self.prefix}certify"), "--network=none", *SAFE)
            self._pem = self.engine.call(*made, image(images.GENERATOR), *CERTIFY)
            self.swarm.keep_secret(self._secret, self._marks(), self._pem)
        return self._pem

    @property
    def _secret(self) -> str:
        return f"{self.prefix}certificate"

    def _certificate_file(self) -> str:
        """As the secrets of a service name it, for the agent's user alone."""
        user, _, group = USER.partition(":")
        return f"source={self._secret},target={SECRET},uid={user},gid={group},mode=0400"

    def _marks(self) -> list[str]:
        return [orphans.label(self.run_id), *orphans.lock()]

    def _labels(self) -> list[str]:
        return [f"{option}={mark}" for mark in self._marks() for option in ("--label", "--container-label")]


def _fault(task: Task | None) -> str | None:
    """Why the task of an agent will never call."""
    return (task.error or task.state) if task and task.ended else None
