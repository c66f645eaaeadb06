"""Servers in containers that have nothing but loopback; generator and instruments join them there: no NAT, no proxy."""

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

from zoo.catalog.manifest import Server
from zoo.host.engine import ENGINE_EXIT, Engine, EngineError, image, reason, tag
from zoo.host.network import NAMESPACE_SETTINGS
from zoo.model.errors import RuntimeFailure
from zoo.model.host import Cores, HostFacts, ranges
from zoo.runtime import orphans
from zoo.runtime.agent.client import AgentClient, AgentExecutor, AgentInstruments, HostInstruments
from zoo.runtime.base import Launch
from zoo.runtime.environment import of_contract
from zoo.runtime.hosted import HostedWithAgent
from zoo.runtime.process import command
from zoo.sample import jcmd
from zoo.sample.proc import read
from zoo.sample.requests import Info

LEAST_PIDS = 4_096


@dataclass(frozen=True)
class Resources:
    """What a server's container may use; None: no limit of the container's own."""

    cpus: float | None = None
    memory: str | None = None
    pids: int = LEAST_PIDS

    def words(self) -> list[str]:
        """Options of `docker run`."""
        words = [f"--pids-limit={self.pids}"]
        if self.cpus is not None:
            words.append(f"--cpus={self.cpus:g}")
        if self.memory is not None:
            words += [f"--memory={self.memory}", f"--memory-swap={self.memory}"]
        return words


def resources_of(environment: Mapping[str, str]) -> Resources:
    """SERVER_CPUS, SERVER_MEMORY (0: no limit, as in the compose file) and SERVER_PIDS; ValueError names a bad one."""
    cpus, memory = environment.get("SERVER_CPUS") or "0", environment.get("SERVER_MEMORY") or "0"
    pids = environment.get("SERVER_PIDS") or str(LEAST_PIDS)
    if not re.fullmatch(r"\d+(\.\d+)?", cpus):
        raise ValueError(f'SERVER_CPUS must be a number such as 1.5, or 0 for no limit, got "{cpus}"')
    if not re.fullmatch(r"0|[1-9]\d*[bkmg]?", memory):
        raise ValueError(f'SERVER_MEMORY must be an amount such as 512m or 2g, got "{memory}"')
    if not re.fullmatch(r"-1|[1-9]\d*", pids):
        raise ValueError(f'SERVER_PIDS must be a whole number above 0, or -1 for no limit, got "{pids}"')
    return Resources(float(cpus) or None, None if memory == "0" else memory, int(pids))


def cpuset(processors: Sequence[int]) -> list[str]:
    """The option of `docker run` that gives a container these processors; none: all."""
    return [f"--cpuset-cpus={ranges(processors)}"] if processors else []


GENERATOR = "generator"


def build_images(engine: Engine, root: Path, servers: Sequence[Server], variables: Mapping[str, str]) -> dict[str, str]:
    """Build or find all images with these variables of the compose file, one of another release beside the usual one.

    Of servers whose image does not build the label, and why; `EngineError` where the generator's does not.
    """
    broken = {}
    for server in servers:
        named = {**variables, "ZOO_TAG": tag(os.environ, server.release)}
        try:
            engine.compose_build(root, [f"{server.name}-{server.manifest.variants[0].name}"], named)
        except EngineError as error:
            broken[server.label] = str(error)
    engine.compose_build(root, [GENERATOR], variables)
    return broken


def provide_images(
    engine: Engine, root: Path, servers: Sequence[Server], variables: Mapping[str, str]
) -> dict[str, str]:
    """Build with this shell's engine, which copies what is new, where the platform is the same; otherwise its own.

    Returns the same as `build_images`.
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
    names = [image(GENERATOR), *(image(server.name, release=server.release) for server in whole)]
    if new := [name for name in names if not engine.has_image(name, shell.image_id(name))]:
        shell.copy_images(new, engine)
    return broken


def has_registry(name: str) -> bool:
    """True where an image's name begins with a registry's host."""
    first, slash, _ = name.partition("/")
    return bool(slash) and ("." in first or ":" in first or first == "localhost")


USER = "10001:10001"
SAFE = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp", f"--user={USER}")
"""As in the compose file, which a test compares; the agent has the server's user, else /proc is closed to it."""

OWN_NETWORK = (
    "--network=none",
    *(f"--sysctl={k.replace('/', '.')}={v}" for k, v in NAMESPACE_SETTINGS.items()),
)
"""Loopback only, its own ports and counters."""


class HostedContainer(HostedWithAgent):
    """A server's container, attached so that its output is the log, and the agent's beside it."""

    def __init__(self, engine: Engine, name: str, child: subprocess.Popen[bytes], launch: Launch) -> None:
        super().__init__(child, launch)
        self._engine = engine
        self._name = name
        self._agent: AgentClient | None = None
        self._pid = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._launch.entry.server.manifest.port}"

    @property
    def pid(self) -> int:
        return self._pid

    def attach(self, agent: AgentClient, sampler: str) -> None:
        """Watch it by the agent, or from the host where its processes are in this kernel's /proc."""
        self._agent = agent
        agent.last_words = self.log_tail
        state = self._engine.inspect(self._name)
        pid = int(state["State"]["Pid"])
        here = sampler != "agent" and is_here(pid, str(state["Id"]))
        if sampler == "host" and not here:
            raise RuntimeFailure("engine", "SAMPLER=host, but the container's processes are not in this host's /proc")
        self._pid = pid if here else 1
        self.instruments = HostInstruments(agent) if here else AgentInstruments(agent)
        self._load_by(AgentExecutor(agent))

    def ended(self, when: str) -> RuntimeFailure:
        """An engine that is stopped takes its containers along, one that is killed only our sight of them."""
        try:
            self._engine.facts()
        except EngineError as error:
            return RuntimeFailure("engine", f"the container engine is gone: {error}", self.log_tail())
        return super().ended(when)

    def _command_line(self, info: Info) -> list[str] | None:
        told = self._inside("cat", f"/proc/{info.pid}/cmdline")
        return None if told is None else jcmd.words(told)

    def _jcmd(self, info: Info, words: Sequence[str]) -> str | None:
        return self._inside("jcmd", str(info.pid), *words)

    def _inside(self, *words: str) -> str | None:
        try:
            return self._engine.call("exec", self._name, *words, timeout_s=20.0)
        except EngineError:
            return None

    def thread_dump(self, to: Path) -> bool:
        dump = "jcmd 1 Thread.dump_to_file -format=json /tmp/threads.json >&2 && cat /tmp/threads.json"
        try:
            told = self._engine.call("exec", self._name, "sh", "-c", dump, timeout_s=20.0)
        except EngineError:
            return False
        to.write_text(told, encoding="utf-8")
        return True

    def stop(self, grace_s: float = 15.0) -> int | None:
        try:
            if self._agent is not None:
                self._agent.close()
            if not self.alive():
                # an engine that came back may run it without us
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

    def _refused(self, code: int) -> RuntimeFailure:
        if code == ENGINE_EXIT:
            told = self.log_tail()
            return RuntimeFailure("engine", f"the container engine refused: {reason(told)}", told)
        return super()._refused(code)

    def kill(self) -> None:
        """Remove it at once, with the agent; without the engine where that is gone."""
        try:
            self._engine.remove([self._name, agent_name(self._name)])
        except EngineError:
            orphans.end(self._name)
        try:
            self._child.wait(10.0)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()


@dataclass
class ContainerRuntime:
    """Starts entries from the images that the compose file names.

    `sampler` is `host`, `agent`, or `auto`: from the host where that is possible. `broken` has the servers whose image
    could not be built, and why. `here`: this host's kernel runs the containers, as far as `facts` has seen.
    `restart_s`: how long an engine that is gone is waited for, once; else all cells left would fail within seconds.
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
        """A server whose image does not build fails its cells, not the run."""
        self.broken |= build_images(self.engine, root, servers, variables)

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> HostedWithAgent:
        try:
            return self._start(launch, ready_timeout_s)
        except RuntimeFailure as failure:
            if failure.kind != "engine" or self.engine.answers() or not self._is_back():
                raise
            return self._start(launch, ready_timeout_s)

    def _is_back(self) -> bool:
        until = time.monotonic() + self.restart_s
        while not (back := self.engine.answers()) and time.monotonic() < until:
            time.sleep(0.5)
        if not back:
            self.restart_s = 0.0
        return back

    def _start(self, launch: Launch, ready_timeout_s: float) -> HostedWithAgent:
        entry = launch.entry
        label = entry.at(launch.env).server.label
        if label in self.broken:
            raise RuntimeFailure("no_image", "its image could not be built", self.broken[label])
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
                hosted.attach(self.agent(agent_name(name), log, beside=name, cores=launch.cores), self.sampler)
        except EngineError as error:
            hosted.kill()
            raise RuntimeFailure("engine", str(error), hosted.log_tail()) from error
        except BaseException:
            hosted.kill()
            raise
        return hosted

    def spawn(self, name: str, launch: Launch, log: IO[bytes]) -> subprocess.Popen[bytes]:
        """Start a server; the command that writes its log."""
        words = self.words(name, launch)
        return self.engine.popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)

    def hosted(self, name: str, child: subprocess.Popen[bytes], launch: Launch) -> HostedWithAgent:
        """Of a server whose container has been started."""
        return HostedContainer(self.engine, name, child, launch)

    def words(self, name: str, launch: Launch) -> list[str]:
        """The `docker run` that starts a server, without the command's own name. Pure."""
        return [
            *("run", "--rm", *self.named(name)),
            *self.network,
            *SAFE,
            *self.limits(launch).words(),
            *cpuset(launch.cores.server if launch.cores else []),
            *self.environment(launch),
            *self.program(launch),
        ]

    def limits(self, launch: Launch) -> Resources:
        """What this start of a server may use."""
        return self.resources if launch.cpus is None else replace(self.resources, cpus=launch.cpus)

    def environment(self, launch: Launch) -> list[str]:
        """Options of `docker run` for what the contract names."""
        port = str(launch.entry.server.manifest.port)
        env = of_contract(launch.entry, launch.env, self.address, port)
        return [f"--env={key}={value}" for key, value in env.items()]

    def program(self, launch: Launch) -> list[str]:
        """The image and its command."""
        entry = launch.entry
        name = image(entry.server.name, release=entry.at(launch.env).server.release)
        return [self.reference(name), *command(entry, Path("java"), launch.jvm_flags)]

    def reference(self, name: str) -> str:
        """How the engine knows an image that the compose file calls so."""
        return name

    def agent(
        self,
        name: str,
        errors: int | IO[bytes],
        beside: str | None = None,
        cores: Cores | None = None,
    ) -> AgentClient:
        """In a container of its own; `beside` a server it joins its network and processes."""
        place = [f"--network=container:{beside}", f"--pid=container:{beside}"] if beside else self.network
        command = [
            *("run", "--rm", "--interactive", *self.named(name)),
            *place,
            *SAFE,
            *cpuset(cores.generator if cores else []),
            *(image(GENERATOR), "python3", "-m", "zoo.runtime.agent.serve"),
        ]
        child = self.engine.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        return AgentClient(child, errors=child.stderr)

    def facts(self) -> HostFacts:
        """The machine that servers will run on, with limits, libc and wrk as in a container there."""
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
        """Options of `docker run` for the network of a server, or of an agent without one."""
        return OWN_NETWORK

    @property
    def address(self) -> str:
        """Where a server listens."""
        return "127.0.0.1"

    def close(self) -> None:
        """Leave no container behind; where the engine cannot be asked, `EngineError` says what may be left."""
        orphans.clear(self.engine, self.run_id, here=self.here)

    @property
    def prefix(self) -> str:
        """How the names of this run's containers begin."""
        return orphans.prefix(self.run_id)

    def named(self, name: str) -> list[str]:
        """Options of `docker run` by which a container is found again; nothing of it is fetched or kept."""
        return [*orphans.options(self.run_id, name), "--pull=never", "--no-healthcheck", "--log-driver=none"]


def agent_name(server: str) -> str:
    """The name of the agent's container beside a server's."""
    return f"{server}-agent"


def is_here(pid: int, container: str) -> bool:
    """True when this kernel runs the container's process and lets us read all of it."""
    if container not in read(f"/proc/{pid}/cgroup"):
        return False
    return os.access(f"/proc/{pid}/smaps_rollup", os.R_OK) and os.access(f"/proc/{pid}/root/", os.R_OK)
