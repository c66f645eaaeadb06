"""Servers in containers whose only network is loopback.

The generator and the instruments join that network, so no NAT and no proxy is in between.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from zoo.core.defaults import CONTAINER_PIDS
from zoo.core.errors import BenchError, RuntimeFailure
from zoo.core.host_facts import Cores, HostFacts, format_ranges
from zoo.core.manifest import Server
from zoo.host.engine import ENGINE_EXIT, Engine, EngineError, find_reason, image_name, image_tag
from zoo.host.files import read_text
from zoo.host.network import NAMESPACE_SETTINGS
from zoo.runtime import orphans
from zoo.runtime.agent.client import AgentClient, AgentExecutor, AgentInstruments, HostInstruments
from zoo.runtime.base import Launch
from zoo.runtime.environment import contract_variables
from zoo.runtime.process import command
from zoo.runtime.server import HostedWithAgent
from zoo.sample import jcmd


@dataclass(frozen=True)
class Resources:
    """The limits of a server's container; None means that the container has no such limit."""

    cpus: float | None = None
    memory: str | None = None
    pids: int = CONTAINER_PIDS

    def words(self) -> list[str]:
        """Return the options of `docker run`."""
        words = [f"--pids-limit={self.pids}"]
        if self.cpus is not None:
            words.append(f"--cpus={self.cpus:g}")
        if self.memory is not None:
            words += [f"--memory={self.memory}", f"--memory-swap={self.memory}"]
        return words


def resources_of(environment: Mapping[str, str]) -> Resources:
    """Read SERVER_CPUS, SERVER_MEMORY and SERVER_PIDS; raise `BenchError` for a bad value.

    As in the compose file, 0 means no limit of processors or memory.
    """
    cpus, memory = environment.get("SERVER_CPUS") or "0", environment.get("SERVER_MEMORY") or "0"
    pids = environment.get("SERVER_PIDS") or str(CONTAINER_PIDS)
    if not re.fullmatch(r"\d+(\.\d+)?", cpus):
        raise BenchError(f'SERVER_CPUS must be a number such as 1.5, or 0 for no limit, got "{cpus}"')
    if not re.fullmatch(r"0|[1-9]\d*[bkmg]?", memory):
        raise BenchError(f'SERVER_MEMORY must be an amount such as 512m or 2g, got "{memory}"')
    if not re.fullmatch(r"-1|[1-9]\d*", pids):
        raise BenchError(f'SERVER_PIDS must be a whole number above 0, or -1 for no limit, got "{pids}"')
    return Resources(float(cpus) or None, None if memory == "0" else memory, int(pids))


def cpuset(processors: Sequence[int]) -> list[str]:
    """Return the option of `docker run` that pins a container to these processors; an empty list means all."""
    return [f"--cpuset-cpus={format_ranges(processors)}"] if processors else []


GENERATOR = "generator"


def build_images(engine: Engine, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> dict[str, str]:
    """Build or find all images with these variables of the compose file.

    An image of another release gets its own tag next to the usual one. Return the label and the error of each server
    whose image could not be built. Raise `EngineError` if the generator's image could not be built.
    """
    broken = {}
    for server in servers:
        tagged = {**variables, "ZOO_TAG": image_tag(os.environ, server.release)}
        try:
            engine.compose_build(root, [f"{server.name}-{server.manifest.variants[0].name}"], tagged)
        except EngineError as error:
            broken[server.label] = str(error)
    engine.compose_build(root, [GENERATOR], variables)
    return broken


def provide_images(
    engine: Engine, root: Path, servers: Sequence[Server], variables: Mapping[str, str]
) -> dict[str, str]:
    """Build the images for an engine, and return the same as `build_images`.

    If this shell's engine has the same platform, it builds the images and copies the new ones; otherwise `engine`
    builds them itself.
    """
    shell = Engine()
    try:
        same_platform = shell.platform() == engine.platform()
    except EngineError:  # this shell may have no engine
        same_platform = False
    if not same_platform:
        return build_images(engine, root, servers, variables)
    broken = build_images(shell, root, servers, variables)
    whole = [server for server in servers if server.label not in broken]
    names = [image_name(GENERATOR), *(image_name(server.name, release=server.release) for server in whole)]
    if new := [name for name in names if not engine.has_image(name, shell.image_id(name))]:
        shell.copy_images(new, engine)
    return broken


def has_registry(name: str) -> bool:
    """Check whether an image's name begins with the host of a registry."""
    first, slash, _ = name.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


USER = "10001:10001"
SAFE = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp", f"--user={USER}")
"""Security options of `docker run`; a test checks that the compose file has the same.

The agent runs as the server's user; otherwise it could not read the server's /proc.
"""

OWN_NETWORK = (
    "--network=none",
    *(f"--sysctl={k.replace('/', '.')}={v}" for k, v in NAMESPACE_SETTINGS.items()),
)
"""Options of `docker run` for a network with only loopback, and with its own ports and counters."""


class HostedContainer(HostedWithAgent):
    """A server's container, attached so that its output becomes the log, and the agent's container next to it."""

    def __init__(self, engine: Engine, name: str, child: subprocess.Popen[bytes], launch: Launch) -> None:
        super().__init__(child, launch)
        self._engine = engine
        self._name = name
        self._agent: AgentClient | None = None
        self.url, self.pid = f"http://127.0.0.1:{launch.entry.server.manifest.port}", 0

    def attach(self, agent: AgentClient, sampler: str) -> None:
        """Read the server's memory and CPU from this host's /proc if its processes are there, otherwise by the agent.

        `sampler` may force one of the two. Loads always run through the agent.
        """
        self._agent = agent
        agent.last_words = self.log_tail
        state = self._engine.inspect(self._name)
        pid = int(state["State"]["Pid"])
        here = sampler != "agent" and is_here(pid, str(state["Id"]))
        if sampler == "host" and not here:
            raise RuntimeFailure(
                "engine",
                "SAMPLER=host does not work: the container's processes do not appear in this "
                "host's /proc; leave SAMPLER unset",
            )
        self.pid = pid if here else 1
        self.instruments = HostInstruments(agent) if here else AgentInstruments(agent)
        self.load_by(AgentExecutor(agent))

    def exit_failure(self, when: str) -> RuntimeFailure:
        """Report a missing engine as the cause.

        An engine that is stopped stops its containers. One that is killed leaves them running, but detached from us.
        """
        try:
            self._engine.facts()
        except EngineError as error:
            return RuntimeFailure("engine", f"the container engine no longer answers: {error}", self.log_tail())
        return super().exit_failure(when)

    def _command_line(self, pid: int) -> list[str] | None:
        output = self._inside("cat", f"/proc/{pid}/cmdline")
        return None if output is None else jcmd.split_command_line(output)

    def _jcmd(self, pid: int, *words: str) -> str | None:
        return self._inside("jcmd", str(pid), *words)

    def _inside(self, *words: str) -> str | None:
        try:
            return self._engine.call("exec", self._name, *words, timeout_s=20.0)
        except EngineError:
            return None

    def thread_dump(self, to: Path) -> bool:
        dump = "jcmd 1 Thread.dump_to_file -format=json /tmp/threads.json >&2 && cat /tmp/threads.json"
        output = self._inside("sh", "-c", dump)
        if output is not None:
            to.write_text(output, encoding="utf-8")
        return output is not None

    def stop(self, grace_s: float = 15.0) -> int | None:
        try:
            if self._agent is not None:
                self._agent.close()
            if not self.is_alive():
                # an engine that has restarted may still run the container, detached from us
                self.kill()
                return self._child.returncode
            self._engine.stop(self._name, grace_s)
            code = self._child.wait(10.0)
        except (EngineError, subprocess.TimeoutExpired):
            self.kill()
            return None
        except BaseException:
            self.kill()
            raise
        return None if code == 128 + 9 else code

    def _start_failure(self, code: int) -> RuntimeFailure:
        if code == ENGINE_EXIT:
            output = self.log_tail()
            return RuntimeFailure("engine", f"the container engine failed: {find_reason(output)}", output)
        return super()._start_failure(code)

    def kill(self) -> None:
        """Remove the containers of server and agent immediately; if the engine is gone, kill their processes."""
        try:
            self._engine.remove([self._name, agent_name(self._name)])
        except EngineError:
            orphans.kill_processes(self._name)
        try:
            self._child.wait(10.0)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


@dataclass
class ContainerRuntime:
    """A runtime that starts entries from the images of the compose file.

    `sampler` is `host`, `agent`, or `auto`, which reads from the host if possible. `broken` has the servers whose
    image could not be built, with the errors. `here` is true once `facts` has seen that this host's kernel runs the
    containers. `restart_s` is the time in seconds to wait, once, for an engine that is gone; without the wait all
    remaining cells would fail within seconds.
    """

    engine: Engine
    resources: Resources
    sampler: str = "auto"
    broken: dict[str, str] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: secrets.token_hex(4))
    here: bool = False
    restart_s: float = 60.0
    name: str = "container"
    jdk: None = None  # the image's own

    def build(self, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> None:
        """Build the images. A server whose image does not build fails its cells, not the run."""
        self.broken |= build_images(self.engine, root, servers, variables)

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> HostedWithAgent:
        try:
            return self._start(launch, ready_timeout_s)
        except RuntimeFailure as failure:
            if failure.kind != "engine" or self.engine.is_reachable() or not self._is_back():
                raise
            return self._start(launch, ready_timeout_s)

    def _is_back(self) -> bool:
        until = time.monotonic() + self.restart_s
        while not (back := self.engine.is_reachable()) and time.monotonic() < until:
            time.sleep(0.5)
        if not back:
            self.restart_s = 0.0
        return back

    def _start(self, launch: Launch, ready_timeout_s: float) -> HostedWithAgent:
        entry = launch.entry
        label = entry.with_release(launch.env).server.label
        if label in self.broken:
            raise RuntimeFailure("no_image", "cannot build its image", self.broken[label])
        name = f"{self.prefix}{entry.id.replace(':', '-')}-{secrets.token_hex(2)}"
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        try:
            with launch.log.open("wb") as log:
                child = self.spawn(name, launch, log)
        except EngineError as error:
            raise RuntimeFailure("engine", str(error)) from error
        hosted = self.hosted(name, child, launch)
        try:
            hosted.wait_ready(started, ready_timeout_s)
            with launch.log.open("ab") as log:
                hosted.attach(self.agent(agent_name(name), log, next_to=name, cores=launch.cores), self.sampler)
        except EngineError as error:
            hosted.kill()
            raise RuntimeFailure("engine", str(error), hosted.log_tail()) from error
        except BaseException:
            hosted.kill()
            raise
        return hosted

    def spawn(self, name: str, launch: Launch, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a server and return the command that writes its log."""
        words = self.words(name, launch)
        return self.engine.popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def hosted(self, name: str, child: subprocess.Popen[bytes], launch: Launch) -> HostedWithAgent:
        """Return the started server that runs in this container."""
        return HostedContainer(self.engine, name, child, launch)

    def words(self, name: str, launch: Launch) -> list[str]:
        """Return the words after `docker` that start a server. Pure."""
        return [
            *("run", "--rm", *self.identity_options(name)),
            *self.network,
            *SAFE,
            *self.limits(launch).words(),
            *cpuset(launch.cores.server if launch.cores else []),
            *self.environment(launch),
            *self.program(launch),
        ]

    def limits(self, launch: Launch) -> Resources:
        """Return the limits for this start of a server."""
        return self.resources if launch.cpus is None else replace(self.resources, cpus=launch.cpus)

    def environment(self, launch: Launch) -> list[str]:
        """Return the options of `docker run` that set the variables of the contract."""
        port = str(launch.entry.server.manifest.port)
        env = contract_variables(launch.entry, launch.env, self.address, port)
        return [f"--env={key}={value}" for key, value in env.items()]

    def program(self, launch: Launch) -> list[str]:
        """Return the image and its command."""
        entry = launch.entry
        name = image_name(entry.server.name, release=entry.with_release(launch.env).server.release)
        return [self.reference(name), *command(entry, Path("java"), launch.jvm_flags)]

    def reference(self, name: str) -> str:
        """Return the engine's name for an image of the compose file."""
        return name

    def agent(
        self,
        name: str,
        errors: int | IO[bytes],
        next_to: str | None = None,
        cores: Cores | None = None,
    ) -> AgentClient:
        """Start an agent in its own container; with `next_to`, it joins that container's network and processes."""
        place = [f"--network=container:{next_to}", f"--pid=container:{next_to}"] if next_to else self.network
        command = [
            *("run", "--rm", "--interactive", *self.identity_options(name)),
            *place,
            *SAFE,
            *cpuset(cores.generator if cores else []),
            *(image_name(GENERATOR), "python3", "-m", "zoo.runtime.agent.serve"),
        ]
        child = self.engine.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        return AgentClient(child, errors=child.stderr)

    def facts(self) -> HostFacts:
        """Return the facts of the machine that runs the servers, with limits, libc and wrk from a container there."""
        name = f"{self.prefix}preflight"
        agent = self.agent(name, subprocess.PIPE)
        try:
            seen = AgentInstruments(agent).facts()
            state = self.engine.inspect(name)
            self.here = is_here(int(state["State"]["Pid"]), str(state["Id"]))
        finally:
            agent.close()
        engine = self.engine.facts()
        return seen.model_copy(update={"distribution": engine.system, "engine": engine})

    @property
    def network(self) -> tuple[str, ...]:
        """Return the options of `docker run` for the network of a server, or of an agent without a server."""
        return OWN_NETWORK

    @property
    def address(self) -> str:
        """Return the address that a server listens on."""
        return "127.0.0.1"

    def close(self) -> None:
        """Remove all containers of the run; if the engine does not answer, `EngineError` says what may be left."""
        orphans.remove_containers(self.engine, self.run_id, here=self.here)

    @property
    def prefix(self) -> str:
        """Return the prefix of the names of this run's containers."""
        return orphans.prefix(self.run_id)

    def identity_options(self, name: str) -> list[str]:
        """Return the options of `docker run` that identify a container, and prevent image pulls and engine logs."""
        return [*orphans.options(self.run_id, name), "--pull=never", "--no-healthcheck", "--log-driver=none"]


def agent_name(server: str) -> str:
    """Return the name of the agent's container next to a server's."""
    return f"{server}-agent"


def is_here(pid: int, container: str) -> bool:
    """Check whether this kernel runs the container's process and lets us read all of its /proc."""
    if container not in read_text(f"/proc/{pid}/cgroup"):
        return False
    return os.access(f"/proc/{pid}/smaps_rollup", os.R_OK) and os.access(f"/proc/{pid}/root/", os.R_OK)
