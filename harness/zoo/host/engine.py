"""The container engine, by its command line: contexts, remote engines and Podman's work-alike come with it.

A swarm is reached by the engine of one of its managers: its nodes, and services of one task each on a chosen node.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from zoo.model.host import EngineFacts

COMMAND_S = 60.0
PUSH_S = 900.0
ENGINE_EXIT = 125
"""`docker run` ends with this code when the engine refused, not the program."""


class EngineError(Exception):
    """The engine refused or did not answer; the message is its own. `lacks` is what has to be installed."""

    def __init__(self, message: str, lacks: str | None = None) -> None:
        super().__init__(message)
        self.lacks = lacks


@dataclass(frozen=True)
class Engine:
    """One engine, found as the `docker` command finds it."""

    binary: str = "docker"
    where: tuple[str, ...] = ()
    """Options that name another engine than the usual one: `--context NAME`, `--host URL`."""

    def facts(self) -> EngineFacts:
        """Return what the engine says of itself; `EngineError` when it does not answer within 10 s."""
        info = self._json("info", "--format", "{{json .}}", timeout_s=10.0)
        if not info.get("ServerVersion") and {"host", "store", "version"} <= info.keys():
            raise EngineError(
                "the `docker` command is Podman's, which builds and reports differently; RUNTIME=process needs none",
                lacks="docker",
            )
        if not info.get("ServerVersion"):
            raise EngineError("; ".join(info.get("ServerErrors") or ["no container engine answers"]))
        security = info.get("SecurityOptions") or []
        memory = info.get("MemTotal")
        return EngineFacts(
            version=info["ServerVersion"],
            system=info.get("OperatingSystem") or "unknown",
            kernel=info.get("KernelVersion") or "unknown",
            cgroup=f"v{info['CgroupVersion']}" if info.get("CgroupVersion") else None,
            storage=info.get("Driver"),
            cores=info.get("NCPU"),
            memory_kb=memory // 1024 if memory else None,
            rootless=any("rootless" in option for option in security),
        )

    def usable(self) -> EngineFacts:
        """Return what the engine says of itself; `EngineError` when it cannot run containers or build their images."""
        found = self.facts()
        self._check_compose()
        return found

    def is_usable(self) -> bool:
        return _succeeds(self.usable)

    def answers(self) -> bool:
        return _succeeds(self.facts)

    def inspect(self, container: str) -> dict[str, Any]:
        """`EngineError` when there is no such container."""
        return self._json("inspect", "--type", "container", "--format", "{{json .}}", container)

    def platform(self) -> str:
        """Return the system and architecture of what it runs, such as `linux/x86_64`."""
        return self.call("info", "--format", "{{.OSType}}/{{.Architecture}}", timeout_s=10.0).strip()

    def has_image(self, image: str, build: str) -> bool:
        """Return whether it has just this build of it."""
        with suppress(EngineError):
            return self.image_id(image) == build
        return False

    def image_id(self, image: str) -> str:
        return self.call("image", "inspect", "--format", "{{.Id}}", image).strip()

    def stop(self, container: str, grace_s: float) -> None:
        """SIGTERM, and SIGKILL after the grace."""
        self.call("stop", "--time", str(max(0, round(grace_s))), container, timeout_s=grace_s + COMMAND_S)

    def labelled(self, label: str) -> list[str]:
        """List the containers with this label, running or not."""
        return self.call("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={label}").split()

    def removed(self, label: str) -> list[str]:
        """Remove the containers with this label, and return their names."""
        names = self.call("ps", "--all", "--format", "{{.Names}}", "--filter", f"label={label}").split()
        self.remove(names)
        return names

    def log_tail(self, container: str, lines: int = 15) -> str:
        """Return the last lines of what it printed; empty when it is gone."""
        try:
            done = self._run("logs", "--tail", str(lines), container, timeout=COMMAND_S, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return ""
        return str(done.stdout).strip() if done.returncode == 0 else ""

    def remove(self, containers: Sequence[str]) -> None:
        """End and remove containers; those that are gone already are no error."""
        if containers:
            self.call("rm", "--force", "--volumes", *containers, tolerate=("No such container", "already in progress"))

    def compose_build(self, root: Path, services: Sequence[str], settings: Mapping[str, str]) -> None:
        """Build images by the compose file with these variables; `EngineError` with the builder's last lines."""
        profiles = ("--profile", "generator", "--profile", "jdbc")
        done = self._run("compose", *profiles, "build", *services, cwd=root, env={**os.environ, **settings})
        if done.returncode:
            self._check_compose()
            raise EngineError("\n".join((done.stdout + done.stderr).splitlines()[-30:]))

    def copy_images(self, images: Sequence[str], to: Engine) -> None:
        """Load images into another engine; `EngineError` with what it says of them."""
        with subprocess.Popen(self._words("save", *images), stdout=subprocess.PIPE) as saved:
            done = to._run("load", "--quiet", stdin=saved.stdout)
        if done.returncode or saved.returncode:
            why = reason(done.stderr) or "`docker save` failed"
            raise EngineError(f"{', '.join(images)} could not be copied: {why}")

    def push(self, image: str) -> str:
        """Push to the registry that it names; return the reference of just this build there, by its digest."""
        self.call("push", "--quiet", image, timeout_s=PUSH_S)
        kept = self.call("image", "inspect", "--format", '{{join .RepoDigests "\\n"}}', image).split()
        repository = image.rpartition(":")[0]
        return next(reference for reference in kept if reference.partition("@")[0] == repository)

    def popen(
        self, arguments: Sequence[str], stdin: int, stdout: int | IO[bytes], stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a command that stays attached, out of Ctrl-C's reach."""
        command = self._words(*arguments)
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)

    def call(
        self,
        *arguments: str,
        timeout_s: float = COMMAND_S,
        tolerate: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        given: str = "",
    ) -> str:
        """Return what the command prints, `given` as its input.

        `EngineError` when it fails, unless each line of its messages contains a tolerated one.
        """
        environment = None if env is None else {**os.environ, **env}
        options = {"timeout": timeout_s, "env": environment, "start_new_session": True}
        try:
            done = self._run(*arguments, stdin=None, input=given, **options)
        except subprocess.TimeoutExpired:
            raise EngineError(f"the engine did not answer `{arguments[0]}` within {timeout_s:.0f} s") from None
        lines = done.stderr.strip().splitlines()
        if done.returncode and not (lines and all(any(t in line for t in tolerate) for line in lines)):
            raise EngineError(reason(done.stderr.strip()) or f"`docker {arguments[0]}` failed")
        return str(done.stdout)

    def _check_compose(self) -> None:
        try:
            self.call("compose", "version", timeout_s=10.0)
        except EngineError:
            raise EngineError(
                "the `docker` command has no compose plugin, which builds the images", "compose"
            ) from None

    def _run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401
        """Run a command without input, and keep what it prints; `options` are those of `subprocess.run`."""
        pipe, text = subprocess.PIPE, {"text": True, "errors": "replace"}
        kept = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, **text, **options}
        return subprocess.run(self._words(*arguments), check=False, **kept)

    def _json(self, *arguments: str, timeout_s: float = COMMAND_S) -> dict[str, Any]:
        try:
            found = json.loads(self.call(*arguments, timeout_s=timeout_s))
        except json.JSONDecodeError as error:
            raise EngineError(f"`docker {arguments[0]}` printed no JSON: {error}") from error
        assert isinstance(found, dict)
        return found

    def _words(self, *arguments: str) -> list[str]:
        path = shutil.which(self.binary)
        if path is None:
            raise EngineError(f"there is no `{self.binary}` command; RUNTIME=process needs none", lacks="docker")
        return [path, *self.where, *arguments]


def engine_of(name: str) -> Engine:
    """Return the engine of a context's name, or of a URL."""
    return Engine(where=("--host" if "://" in name else "--context", name))


def _succeeds(ask: Callable[[], object]) -> bool:
    with suppress(EngineError):
        ask()
        return True
    return False


def reason(printed: str) -> str:
    """Return why a command failed, without the warnings before and the hint at its help behind."""
    lines = [line.strip() for line in printed.splitlines()]
    hints = ("WARNING:", "See 'docker ", "Run 'docker ")
    return next((line for line in lines if line and not line.startswith(hints)), lines[-1] if lines else "")


def image(name: str, environment: Mapping[str, str] = os.environ, release: str | None = None) -> str:
    """Return the image of a server or of the generator, as the compose file names it."""
    return f"{environment.get('ZOO_IMAGES', 'server-zoo')}/{name}:{tag(environment, release)}"


def tag(environment: Mapping[str, str], release: str | None) -> str:
    """Return the tag of images; another release than the usual one has its own."""
    return "-".join(filter(None, [environment.get("ZOO_TAG", "latest"), release]))


# --- a swarm

ROLE = "zoo.role"
"""The label of a node that says what it is for: `server`, `load`, or both with a comma between."""

ENDED = ("complete", "failed", "rejected", "shutdown", "remove", "orphaned")
PLACING = ("new", "allocated", "pending", "assigned", "accepted")
FETCHING = "preparing"
PLACE_S, FETCH_S = 60.0, 1800.0
"""How long a task may wait for its node, and then for its image."""

NOWHERE = "node.id==none"
UNNAMED = ("", "0.0.0.0", "127.0.0.1")


@dataclass(frozen=True)
class Node:
    """A host of the swarm. `ready`: it takes tasks; `address`: where the others reach it."""

    id: str
    name: str
    address: str
    roles: tuple[str, ...]
    ready: bool


@dataclass(frozen=True)
class Task:
    """The task of a service. `pid`: its process as its node sees it, 0 before; `code`: None where it reported none."""

    state: str
    error: str
    pid: int
    code: int | None

    @property
    def ended(self) -> bool:
        return self.state in ENDED


@dataclass(frozen=True)
class Swarm:
    """`EngineError` wherever the engine refuses, or is no manager of a swarm."""

    engine: Engine

    def nodes(self) -> tuple[Node, list[Node]]:
        """Return the manager asked, and all nodes by name; `EngineError` says how an engine becomes a manager."""
        told = json.loads(self.engine.call("info", "--format", "{{json .Swarm}}", timeout_s=10.0))
        if told.get("LocalNodeState") != "active":
            raise EngineError("this engine is in no swarm: `docker swarm init` makes one, see docs/scale-out.md")
        if not told.get("ControlAvailable"):
            raise EngineError("this engine is a worker of its swarm: name a manager by SWARM_CONTEXT=")
        names = self.engine.call("node", "ls", "--quiet").split()
        found = sorted(map(_node, json.loads(self.engine.call("node", "inspect", *names))), key=lambda node: node.name)
        return next(node for node in found if node.id == told["NodeID"]), found

    def create(self, name: str, node: Node, words: Sequence[str]) -> None:
        """Create a service with one task there, which ends for good; `words`: options, image, command."""
        once = ("--detach", "--quiet", "--no-resolve-image", "--restart-condition=none", "--no-healthcheck")
        self.engine.call("service", "create", *once, f"--name={name}", f"--constraint=node.id=={node.id}", *words)

    def task(self, service: str) -> Task | None:
        """Return the task that ran first; None before there is one, and after the service is gone."""
        try:
            tasks = self.engine.call("service", "ps", "--no-trunc", "--quiet", service).split()
            told = json.loads(self.engine.call("inspect", "--type=task", tasks[-1])) if tasks else []
        except EngineError as error:
            if "not found" in str(error).lower() or "no such" in str(error).lower():
                return None
            raise
        return _task(told[0]["Status"]) if told else None

    def fetched(self, service: str) -> None:
        """Return when its node has the image; `EngineError` when none takes the task, or the image does not come."""
        begun = time.monotonic()
        while (task := self.task(service)) is None or task.state in (*PLACING, FETCHING):
            limit_s = FETCH_S if task and task.state == FETCHING else PLACE_S
            if time.monotonic() - begun > limit_s:
                raise EngineError(
                    f"after {limit_s:.0f} s its task is {task.state}: {task.error}" if task else "no task"
                )
            time.sleep(0.1)

    def end(self, service: str) -> None:
        """End its task, with SIGKILL after its grace. A service that is removed forgets how its task ended."""
        self.engine.call("service", "update", "--detach", "--quiet", f"--constraint-add={NOWHERE}", service)

    def remove(self, services: Sequence[str]) -> None:
        """Remove services; those that are gone already are no error."""
        if services:
            self.engine.call("service", "rm", *services, tolerate=("No such service", "not found"))

    def keep_secret(self, name: str, labels: Sequence[str], text: str) -> None:
        """Store a secret for services that name it."""
        self.engine.call("secret", "create", *(f"--label={label}" for label in labels), name, "-", given=text)

    def removed(self, label: str) -> list[str]:
        """Remove services and secrets with this label, and return the services' names."""
        found = ("--filter", f"label={label}", "--format", "{{.Name}}")
        services = self.engine.call("service", "ls", *found).split()
        self.remove(services)
        if secrets := self.engine.call("secret", "ls", *found).split():
            self.engine.call("secret", "rm", *secrets)
        return services


def _node(told: dict[str, Any]) -> Node:
    spec, status = told["Spec"], told["Status"]
    address = status.get("Addr", "")
    if address in UNNAMED:
        address = told.get("ManagerStatus", {}).get("Addr", "").rpartition(":")[0]
    roles = tuple(word.strip() for word in spec.get("Labels", {}).get(ROLE, "").split(",") if word.strip())
    ready = status.get("State") == "ready" and spec.get("Availability") == "active"
    return Node(told["ID"], told["Description"]["Hostname"], address, roles, ready)


def _task(status: dict[str, Any]) -> Task:
    container = status.get("ContainerStatus", {})
    state = status["State"]
    code = container.get("ExitCode", 0) if state in ("complete", "failed", "shutdown") else None
    return Task(state, status.get("Err") or status.get("Message", ""), container.get("PID", 0), code)
