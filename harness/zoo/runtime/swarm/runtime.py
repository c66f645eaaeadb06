"""Servers and load generators as services of one task each, placed by labels.

Commands go only to a manager. It is not possible to attach to a service's streams, so its agents connect back to us.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

from zoo.core.errors import RuntimeFailure
from zoo.core.host_facts import Cores, HostFacts
from zoo.core.manifest import Server
from zoo.host.engine import ENGINE_EXIT, EngineError, Node, Swarm, Task, image_name
from zoo.runtime import orphans
from zoo.runtime.agent.client import AgentClient, AgentExecutor, AgentInstruments
from zoo.runtime.base import GeneratorProcessors, Launch
from zoo.runtime.container import GENERATOR, SAFE, USER, ContainerRuntime, Resources, has_registry, provide_images
from zoo.runtime.server import HostedWithAgent
from zoo.runtime.swarm.generators import NodesInstruments, SpreadWrk, connect_node, with_ports_of
from zoo.runtime.swarm.places import Places
from zoo.runtime.swarm.relay import CERTIFY, RELAY, SECRET, DialledAgent, Relay, agent_command

Dial = Callable[[Node, IO[bytes]], AgentClient]
"""A function that starts an agent on a node and returns its client; errors there are written to the given log."""

POLL_S = 1.0
STOP_S = 40.0
"""Seconds that a task may take to end, including its grace period of 15 s."""


class HostedService(HostedWithAgent):
    """A server's service; the manager provides its log, and an agent on its node reads its use of memory and CPU."""

    def __init__(
        self, where: tuple[Swarm, Places, Dial], name: str, child: subprocess.Popen[bytes], launch: Launch
    ) -> None:
        super().__init__(child, launch)
        self._swarm, self._places, self._dial = where
        self._name = name
        self._agents: list[AgentClient] = []
        self._updated_at: float | None = None
        self._task: Task | None = None

        self._port = launch.entry.server.manifest.port
        self.url, self.pid = f"http://{self._places.addresses[0]}:{self._port}", 0

    @property
    def logged_url(self) -> str:
        return f"http://{self._places.listen_address}:{self._port}"

    def attach(self, agent: AgentClient, sampler: str) -> None:
        self._agents = [agent]
        self._find_pid()
        loads = {}
        with self._launch.log.open("ab") as log:
            for name, node in self._places.loads.items():
                loads[name] = self._dial(node, log)
                self._agents.append(loads[name])
        by_node = {node: loads[name] for name, node in self._places.loads.items() if node != self._places.server}
        self.instruments = NodesInstruments(agent, list(by_node.values()))
        processors = sum(AgentInstruments(one).facts().cores or 1 for one in loads.values())
        self.generator_processors = (
            GeneratorProcessors(processors, elsewhere=True) if self._places.has_separate_generators else None
        )
        self.load_by(AgentExecutor(next(iter(loads.values()))))  # vegeta and ab run on the first node
        addresses = self._places.addresses if len(self._places.addresses) > 1 else ()
        self.generator = SpreadWrk([connect_node(name, one, self.url, addresses) for name, one in loads.items()])

    def exit_failure(self, when: str) -> RuntimeFailure:
        if self._code() == ENGINE_EXIT:
            return RuntimeFailure("engine", "the swarm's manager does not answer", self.log_tail())
        return super().exit_failure(when)

    def stop(self, grace_s: float = 15.0) -> int | None:
        """Stop the service and return its exit code. The service has its own grace period, so `grace_s` is ignored."""
        try:
            code = self._stop_task()
        except EngineError:
            code = None
        finally:
            self.kill()
        return None if code == 128 + 9 else code

    def kill(self) -> None:
        """Close the agents, stop the service with SIGTERM and remove it.

        If the manager does not answer, the service stays.
        """
        for agent in self._agents:
            with suppress(EngineError):
                agent.close()
        self._agents = []
        with suppress(EngineError):
            self._stop_task()
            self._swarm.remove([self._name])
        self._child.kill()
        self._child.wait()

    def _stop_task(self) -> int | None:
        """Stop the task and return its exit code; None if that took too long."""
        task = self._swarm.task(self._name)
        if task and not task.has_ended:
            self._swarm.end(self._name)
        deadline = time.monotonic() + STOP_S
        while task and not task.has_ended and time.monotonic() < deadline:
            time.sleep(0.1)
            task = self._swarm.task(self._name)
        return task.code if task and task.has_ended else None

    def wait_ready(self, started: float, timeout_s: float) -> None:
        """Wait until the server listens; the limit does not include the time to fetch its image.

        `ready_s` stays None, because the time would include the swarm's scheduler and the transport of the log.
        """
        self._swarm.wait_for_image(self._name)
        super().wait_ready(time.monotonic(), timeout_s)
        self.ready_s = None

    def _find_pid(self) -> None:
        """Find the server's pid, which its node may report only after the first line of the log."""
        deadline = time.monotonic() + STOP_S
        self._update_task()
        while not self.pid and time.monotonic() < deadline:
            time.sleep(0.1)
            self._update_task()
        if not self.pid:
            raise RuntimeFailure("engine", "the swarm does not report the PID of the server")

    def _update_task(self) -> None:
        self._updated_at = time.monotonic()
        self._task = self._swarm.task(self._name)
        self.pid = self._task.pid if self._task else 0

    def _code(self) -> int | None:
        try:
            if self._updated_at is None or time.monotonic() - self._updated_at > POLL_S:
                self._update_task()
        except EngineError:
            return ENGINE_EXIT
        if self._task is None or not self._task.has_ended:
            return None
        return 1 if self._task.code is None else self._task.code

    def _start_failure(self, code: int) -> RuntimeFailure:
        if self._task and self._task.state == "rejected":
            return RuntimeFailure("engine", f"node {self._places.server.name} rejected the task: {self._task.error}")
        return super()._start_failure(code)


SAFE_SERVICE = (
    *("--read-only", "--cap-drop=ALL", f"--user={USER}", "--mount=type=tmpfs,destination=/tmp,tmpfs-mode=1777"),
    *("--network=host", "--stop-grace-period=15s", "--log-driver=json-file", "--log-opt=max-size=10m"),
)
"""Security options of a service, like `SAFE`.

A service has no option against new privileges, but without capabilities it cannot gain any.
"""

NODE_PROC = "/node/proc"
WATCH = (f"--mount=type=bind,source=/proc,destination={NODE_PROC},readonly", f"--env=ZOO_PROC={NODE_PROC}")
"""Options that let an agent see all processes of its node, and read those of the server's user."""


class SwarmRuntime(ContainerRuntime):
    """A runtime that starts each entry as a service on the server's node, and loads it from the generators' nodes."""

    name = "swarm"

    def __init__(self, swarm: Swarm, places: Places, resources: Resources) -> None:
        super().__init__(swarm.engine, resources)
        self.swarm = swarm
        self.places = places
        self._pem = ""
        self._registry_names: dict[str, str] = {}

    @property
    def network(self) -> tuple[str, ...]:
        return ("--network=host",)

    @property
    def address(self) -> str:
        return self.places.listen_address

    def build(self, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> None:
        """Build the images for the manager; other nodes fetch exactly these builds from the registry of ZOO_IMAGES=."""
        self.broken |= provide_images(self.engine, root, servers, variables)
        whole = [server for server in servers if server.label not in self.broken]
        for name in [image_name(GENERATOR), *(image_name(server.name, release=server.release) for server in whole)]:
            if has_registry(name):
                self._registry_names[name] = self.engine.push(name)

    def reference(self, name: str) -> str:
        return self._registry_names.get(name, name)

    def spawn(self, name: str, launch: Launch, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start the service and return the command that follows its log."""
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
        next_to: str | None = None,
        cores: Cores | None = None,
    ) -> AgentClient:
        """Start an agent on the server's node."""
        return self.dial(self.places.server, errors, *WATCH)

    def dial(self, node: Node, errors: int | IO[bytes], *words: str) -> DialledAgent:
        """Start an agent on this node; if that fails, `EngineError` names the node."""
        name = f"{self.prefix}agent-{secrets.token_hex(4)}"
        run = ("run", "--rm", "--interactive", *self.identity_options(name), *self.network, *SAFE)
        command = [*run, image_name(GENERATOR), "sh", "-c", RELAY, self.places.manager.address]
        pipe = subprocess.PIPE
        relay = Relay(self.engine.popen(command, stdin=pipe, stdout=pipe, stderr=pipe), self._certificate(), errors)
        agent = DialledAgent(relay, lambda: self.swarm.remove([name]))
        try:
            options = (*self._labels(), *SAFE_SERVICE, f"--secret={self._certificate_file()}", *words)
            program = (self.reference(image_name(GENERATOR)), *agent_command(self.places.manager.address, relay.port()))
            self.swarm.create(name, node, [*options, *program])
            self.swarm.wait_for_image(name)
            relay.wait(lambda: _fault(self.swarm.task(name)))
        except EngineError as error:
            agent.close()
            raise EngineError(f"no agent on node {node.name}: {error}") from None
        except BaseException:
            agent.close()
            raise
        return agent

    def facts(self) -> HostFacts:
        """Return the facts of the server's node, with the ports of all generators for each address of the server."""
        for mark in orphans.lock_labels():
            self.swarm.remove_labelled(mark)
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
        """Remove all services, secrets and relays of the run."""
        try:
            self.swarm.remove_labelled(orphans.label(self.run_id))
        finally:
            super().close()

    def _certificate(self) -> str:
        """Return the run's certificate; create it on the first call, and pass it to the services as a secret."""
        if not self._pem:
            made = ("run", "--rm", *self.identity_options(f"{self.prefix}certify"), "--network=none", *SAFE)
            self._pem = self.engine.call(*made, image_name(GENERATOR), *CERTIFY)
            self.swarm.create_secret(self._secret, self._marks(), self._pem)
        return self._pem

    @property
    def _secret(self) -> str:
        return f"{self.prefix}certificate"

    def _certificate_file(self) -> str:
        """Return the certificate in the notation of a service's secrets, readable only by the agent's user."""
        user, _, group = USER.partition(":")
        return f"source={self._secret},target={SECRET},uid={user},gid={group},mode=0400"

    def _marks(self) -> list[str]:
        return [orphans.label(self.run_id), *orphans.lock_labels()]

    def _labels(self) -> list[str]:
        return [f"{option}={mark}" for mark in self._marks() for option in ("--label", "--container-label")]


def _fault(task: Task | None) -> str | None:
    """Return why an agent's task will never connect; None while it may."""
    return (task.error or task.state) if task and task.has_ended else None
