"""Starts servers and generators as services of one task each, placed by labels.

Only a manager is spoken to. A service's streams cannot be attached to, so its agents call back.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from zoo.catalog.manifest import Server
from zoo.host.engine import ENGINE_EXIT, EngineError, Node, Swarm, Task, image
from zoo.model.errors import RuntimeFailure
from zoo.model.host import Cores, HostFacts
from zoo.runtime import orphans
from zoo.runtime.agent.client import AgentClient, AgentExecutor, AgentInstruments
from zoo.runtime.base import Apart, Launch
from zoo.runtime.container import GENERATOR, SAFE, USER, ContainerRuntime, Resources, has_registry, provide_images
from zoo.runtime.hosted import HostedWithAgent
from zoo.runtime.swarm.generators import SpreadWrk, remote, with_ports_of
from zoo.runtime.swarm.places import Places
from zoo.runtime.swarm.relay import CERTIFY, RELAY, SECRET, DialledAgent, Relay, call_back

Dial = Callable[[Node, IO[bytes]], AgentClient]
"""An agent on this node, what goes wrong there written to that log."""

LOOK_S = 1.0
GONE_S = 40.0
"""How long a task may take to end after its grace."""


class HostedService(HostedWithAgent):
    """A server's service; its log comes by the manager, what it uses is read by an agent on its node."""

    def __init__(
        self, where: tuple[Swarm, Places, Dial], name: str, child: subprocess.Popen[bytes], launch: Launch
    ) -> None:
        super().__init__(child, launch)
        self._swarm, self._places, self._dial = where
        self._name = name
        self._agents: list[AgentClient] = []
        self._processors = 1
        self._looked_at: float | None = None
        self._task: Task | None = None

    @property
    def url(self) -> str:
        return f"http://{self._places.addresses[0]}:{self._launch.entry.server.manifest.port}"

    @property
    def told_url(self) -> str:
        return f"http://{self._places.listens}:{self._launch.entry.server.manifest.port}"

    @property
    def pid(self) -> int:
        return self._task.pid if self._task else 0

    @property
    def ready_s(self) -> None:
        """The swarm's scheduler and the way of its log are in what could be timed."""
        return None

    @property
    def apart(self) -> Apart | None:
        return Apart(self._processors, elsewhere=True) if self._places.apart else None

    def attach(self, agent: AgentClient, sampler: str) -> None:
        self._agents = [agent]
        self.instruments = AgentInstruments(agent)
        self._find()
        loads = {}
        with self._launch.log.open("ab") as log:
            for name, node in self._places.loads.items():
                loads[name] = self._dial(node, log)
                self._agents.append(loads[name])
        self._processors = sum(AgentInstruments(one).facts().cores or 1 for one in loads.values())
        self._load_by(AgentExecutor(next(iter(loads.values()))))  # vegeta and ab run on the first node
        addresses = self._places.addresses if len(self._places.addresses) > 1 else ()
        self.generator = SpreadWrk([remote(name, one, self.url, addresses) for name, one in loads.items()])

    def ended(self, when: str) -> RuntimeFailure:
        if self._code() == ENGINE_EXIT:
            return RuntimeFailure("engine", "the swarm's manager does not answer", self.log_tail())
        return super().ended(when)

    def thread_dump(self, to: Path) -> bool:
        return False

    def stop(self, grace_s: float = 15.0) -> int | None:
        """The grace is the service's own."""
        try:
            code = self._ended()
        except EngineError:
            code = None
        finally:
            self.kill()
        return None if code == 128 + 9 else code

    def kill(self) -> None:
        """End it, as soon as it does on SIGTERM, and its agents; what the manager cannot be told stays."""
        for agent in self._agents:
            with suppress(EngineError):
                agent.close()
        self._agents = []
        with suppress(EngineError):
            self._ended()
            self._swarm.remove([self._name])
        self._child.kill()
        self._child.wait()

    def _ended(self) -> int | None:
        """How its task ended, after it was told to; None where that took too long."""
        task = self._swarm.task(self._name)
        if task and not task.ended:
            self._swarm.end(self._name)
        deadline = time.monotonic() + GONE_S
        while task and not task.ended and time.monotonic() < deadline:
            time.sleep(0.1)
            task = self._swarm.task(self._name)
        return task.code if task and task.ended else None

    def wait_ready(self, started: float, timeout_s: float) -> None:
        """The time that its image takes to come is not its own."""
        self._swarm.fetched(self._name)
        super().wait_ready(time.monotonic(), timeout_s)

    def _find(self) -> None:
        """Its process's number, which its node may tell after the first line of its log."""
        deadline = time.monotonic() + GONE_S
        self._look()
        while not self.pid and time.monotonic() < deadline:
            time.sleep(0.1)
            self._look()
        if not self.pid:
            raise RuntimeFailure("engine", "the swarm does not tell the number of the server's process")

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        self._task = self._swarm.task(self._name)

    def _code(self) -> int | None:
        try:
            if self._looked_at is None or time.monotonic() - self._looked_at > LOOK_S:
                self._look()
        except EngineError:
            return ENGINE_EXIT
        if self._task is None or not self._task.ended:
            return None
        return 1 if self._task.code is None else self._task.code

    def _refused(self, code: int) -> RuntimeFailure:
        if self._task and self._task.state == "rejected":
            return RuntimeFailure("engine", f"node {self._places.server.name} refused: {self._task.error}")
        return super()._refused(code)


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
        self.broken |= provide_images(self.engine, root, servers, variables)
        whole = [server for server in servers if server.label not in self.broken]
        for name in [image(GENERATOR), *(image(server.name, release=server.release) for server in whole)]:
            if has_registry(name):
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
        command = [*run, image(GENERATOR), "sh", "-c", RELAY, self.places.manager.address]
        pipe = subprocess.PIPE
        relay = Relay(self.engine.popen(command, stdin=pipe, stdout=pipe, stderr=pipe), self._certificate(), errors)
        agent = DialledAgent(relay, lambda: self.swarm.remove([name]))
        try:
            options = (*self._labels(), *SAFE_SERVICE, f"--secret={self._certificate_file()}", *words)
            program = (self.reference(image(GENERATOR)), *call_back(self.places.manager.address, relay.port()))
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
            self._pem = self.engine.call(*made, image(GENERATOR), *CERTIFY)
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
