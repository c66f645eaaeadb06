"""The container engine through its command line, which supports contexts and remote engines.

A swarm is reached through the engine of one of its managers: its nodes, and services with one task each on a chosen
node.
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

from zoo.core.host_facts import EngineFacts

COMMAND_S = 60.0
PUSH_S = 900.0
ENGINE_EXIT = 125
"""Exit code of `docker run` if the engine failed, not the program."""


class EngineError(Exception):
    """A failure or timeout of the engine, with the engine's message; `lacks` names what must be installed."""

    def __init__(self, message: str, lacks: str | None = None) -> None:
        super().__init__(message)
        self.lacks = lacks


@dataclass(frozen=True)
class Engine:
    """One engine, found the way the `docker` command finds it."""

    binary: str = "docker"
    where: tuple[str, ...] = ()
    """Options that select an engine other than the default: `--context NAME`, `--host URL`."""

    def facts(self) -> EngineFacts:
        """Return what the engine reports about itself; raise `EngineError` if it does not respond within 10 s."""
        info = self._json("info", "--format", "{{json .}}", timeout_s=10.0)
        if not info.get("ServerVersion") and {"host", "store", "version"} <= info.keys():
            raise EngineError(
                "the `docker` command is Podman's, which builds and reports differently: install "
                "Docker, or use RUNTIME=process",
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

    def check_usable(self) -> EngineFacts:
        """Return what the engine reports about itself.

        Raise `EngineError` if it cannot run containers or build their images.
        """
        found = self.facts()
        self._check_compose()
        return found

    def is_usable(self) -> bool:
        return _succeeds(self.check_usable)

    def is_reachable(self) -> bool:
        return _succeeds(self.facts)

    def inspect(self, container: str) -> dict[str, Any]:
        """Return the engine's description of a container; raise `EngineError` if there is no such container."""
        return self._json("inspect", "--type", "container", "--format", "{{json .}}", container)

    def platform(self) -> str:
        """Return the system and architecture of its containers, such as `linux/x86_64`."""
        return self.call("info", "--format", "{{.OSType}}/{{.Architecture}}", timeout_s=10.0).strip()

    def has_image(self, image: str, build: str) -> bool:
        """Return whether the engine has exactly this build of the image."""
        with suppress(EngineError):
            return self.image_id(image) == build
        return False

    def image_id(self, image: str) -> str:
        return self.call("image", "inspect", "--format", "{{.Id}}", image).strip()

    def stop(self, container: str, grace_s: float) -> None:
        """Stop a container with SIGTERM, and with SIGKILL after the grace period."""
        self.call("stop", "--time", str(max(0, round(grace_s))), container, timeout_s=grace_s + COMMAND_S)

    def remove_labelled(self, label: str) -> list[str]:
        """Remove the containers with this label, and return their names."""
        names = self.call("ps", "--all", "--format", "{{.Names}}", "--filter", f"label={label}").split()
        self.remove(names)
        return names

    def log_tail(self, container: str, lines: int = 15) -> str:
        """Return the last lines that a container printed; empty if it is gone."""
        try:
            done = self._run("logs", "--tail", str(lines), container, timeout=COMMAND_S, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return ""
        return str(done.stdout).strip() if done.returncode == 0 else ""

    def remove(self, containers: Sequence[str]) -> None:
        """Kill and remove containers; one that is already gone is not an error."""
        if containers:
            self.call("rm", "--force", "--volumes", *containers, tolerate=("No such container", "already in progress"))

    def compose_build(self, root: Path, services: Sequence[str], settings: Mapping[str, str]) -> None:
        """Build images from the compose file with these variables.

        Raise `EngineError` with the builder's last lines if that fails.
        """
        profiles = ("--profile", "generator", "--profile", "jdbc")
        done = self._run("compose", *profiles, "build", *services, cwd=root, env={**os.environ, **settings})
        if done.returncode:
            self._check_compose()
            raise EngineError("\n".join((done.stdout + done.stderr).splitlines()[-30:]))

    def copy_images(self, images: Sequence[str], to: Engine) -> None:
        """Load images into another engine; raise `EngineError` with that engine's message if it fails."""
        with subprocess.Popen(self._command("save", *images), stdout=subprocess.PIPE) as saved:
            done = to._run("load", "--quiet", stdin=saved.stdout)
        if done.returncode or saved.returncode:
            why = find_reason(done.stderr) or "`docker save` failed"
            raise EngineError(f"cannot copy the images {', '.join(images)}: {why}")

    def push(self, image: str) -> str:
        """Push an image to the registry in its name; return the digest reference of exactly this build there."""
        self.call("push", "--quiet", image, timeout_s=PUSH_S)
        kept = self.call("image", "inspect", "--format", '{{join .RepoDigests "\\n"}}', image).split()
        repository = image.rpartition(":")[0]
        return next(reference for reference in kept if reference.partition("@")[0] == repository)

    def popen(
        self, arguments: Sequence[str], stdin: int, stdout: int | IO[bytes], stderr: int | IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a command that stays attached and does not receive Ctrl-C."""
        command = self._command(*arguments)
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True)

    def call(
        self,
        *arguments: str,
        timeout_s: float = COMMAND_S,
        tolerate: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        stdin_text: str = "",
    ) -> str:
        """Run a command with `stdin_text` as its input and return what it prints.

        Raise `EngineError` if it fails, unless each line of its messages contains a tolerated text.
        """
        environment = None if env is None else {**os.environ, **env}
        options = {"timeout": timeout_s, "env": environment, "start_new_session": True}
        try:
            done = self._run(*arguments, stdin=None, input=stdin_text, **options)
        except subprocess.TimeoutExpired:
            raise EngineError(
                f"the container engine did not answer `{arguments[0]}` within {timeout_s:.0f} s"
            ) from None
        lines = done.stderr.strip().splitlines()
        if done.returncode and not (lines and all(any(t in line for t in tolerate) for line in lines)):
            raise EngineError(find_reason(done.stderr.strip()) or f"`docker {arguments[0]}` failed")
        return str(done.stdout)

    def _check_compose(self) -> None:
        try:
            self.call("compose", "version", timeout_s=10.0)
        except EngineError:
            raise EngineError(
                "the `docker` command has no compose plugin, which builds the images: zoo doctor "
                "shows how to install it",
                "compose",
            ) from None

    def _run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401
        """Run a command without input and capture what it prints; `options` are those of `subprocess.run`."""
        pipe, text = subprocess.PIPE, {"text": True, "errors": "replace"}
        kept = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, **text, **options}
        return subprocess.run(self._command(*arguments), check=False, **kept)

    def _json(self, *arguments: str, timeout_s: float = COMMAND_S) -> dict[str, Any]:
        try:
            found = json.loads(self.call(*arguments, timeout_s=timeout_s))
        except json.JSONDecodeError as error:
            raise EngineError(f"`docker {arguments[0]}` printed invalid JSON: {error}") from error
        assert isinstance(found, dict)
        return found

    def _command(self, *arguments: str) -> list[str]:
        path = shutil.which(self.binary)
        if path is None:
            raise EngineError(
                f"there is no `{self.binary}` command: install it, or use RUNTIME=process", lacks="docker"
            )
        return [path, *self.where, *arguments]


def engine_of(name: str) -> Engine:
    """Return the engine for a context's name or a URL."""
    return Engine(where=("--host" if "://" in name else "--context", name))


def _succeeds(ask: Callable[[], object]) -> bool:
    with suppress(EngineError):
        ask()
        return True
    return False


def find_reason(printed: str) -> str:
    """Return why a command failed, without the preceding warnings and the trailing hint at its help."""
    lines = [line.strip() for line in printed.splitlines()]
    hints = ("WARNING:", "See 'docker ", "Run 'docker ")
    return next((line for line in lines if line and not line.startswith(hints)), lines[-1] if lines else "")


def image_name(name: str, environment: Mapping[str, str] = os.environ, release: str | None = None) -> str:
    """Return the image name of a server or of the generator, as in the compose file."""
    return f"{environment.get('ZOO_IMAGES', 'server-zoo')}/{name}:{image_tag(environment, release)}"


def image_tag(environment: Mapping[str, str], release: str | None) -> str:
    """Return the tag of images; a release other than the default has its own tag."""
    return "-".join(filter(None, [environment.get("ZOO_TAG", "latest"), release]))


# --- a swarm

ROLE = "zoo.role"
"""The label that assigns a node its role: `server`, `load`, or both separated by a comma."""

ENDED = ("complete", "failed", "rejected", "shutdown", "remove", "orphaned")
PLACING = ("new", "allocated", "pending", "assigned", "accepted")
FETCHING = "preparing"
PLACE_S, FETCH_S = 60.0, 1800.0
"""Maximum seconds that a task may wait for its node, and then for its image."""

NOWHERE = "node.id==none"
UNNAMED = ("", "0.0.0.0", "127.0.0.1")


@dataclass(frozen=True)
class Node:
    """A host of the swarm. It accepts tasks if `ready`; the other hosts reach it at `address`."""

    id: str
    name: str
    address: str
    roles: tuple[str, ...]
    ready: bool


@dataclass(frozen=True)
class Task:
    """The task of a service.

    `pid` is its process as its node sees it, 0 before it starts. `code` is its exit code, or None if it reported none.
    """

    state: str
    error: str
    pid: int
    code: int | None

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED


@dataclass(frozen=True)
class Swarm:
    """A swarm. Each method raises `EngineError` if the engine fails or is not a manager of a swarm."""

    engine: Engine

    def nodes(self) -> tuple[Node, list[Node]]:
        """Return the manager in use, and all nodes sorted by name.

        If the engine is not a manager, raise an `EngineError` that says how to get one.
        """
        info = json.loads(self.engine.call("info", "--format", "{{json .Swarm}}", timeout_s=10.0))
        if info.get("LocalNodeState") != "active":
            raise EngineError(
                "this engine is not part of a swarm: create one with `docker swarm init` (docs/guides/swarm.md)"
            )
        if not info.get("ControlAvailable"):
            raise EngineError("this engine is only a worker in its swarm: name a manager with SWARM_CONTEXT=")
        names = self.engine.call("node", "ls", "--quiet").split()
        found = sorted(map(_node, json.loads(self.engine.call("node", "inspect", *names))), key=lambda node: node.name)
        return next(node for node in found if node.id == info["NodeID"]), found

    def create(self, name: str, node: Node, words: Sequence[str]) -> None:
        """Create a service with one task on this node, which is not restarted; `words` are options, image, command."""
        once = ("--detach", "--quiet", "--no-resolve-image", "--restart-condition=none", "--no-healthcheck")
        self.engine.call("service", "create", *once, f"--name={name}", f"--constraint=node.id=={node.id}", *words)

    def task(self, service: str) -> Task | None:
        """Return the task that ran first; None before there is one and after the service is gone."""
        try:
            tasks = self.engine.call("service", "ps", "--no-trunc", "--quiet", service).split()
            tasks_json = json.loads(self.engine.call("inspect", "--type=task", tasks[-1])) if tasks else []
        except EngineError as error:
            if "not found" in str(error).lower() or "no such" in str(error).lower():
                return None
            raise
        return _task(tasks_json[0]["Status"]) if tasks_json else None

    def wait_for_image(self, service: str) -> None:
        """Wait until the service's node has the image.

        Raise `EngineError` if no node takes the task or the image does not arrive.
        """
        started = time.monotonic()
        while (task := self.task(service)) is None or task.state in (*PLACING, FETCHING):
            limit_s = FETCH_S if task and task.state == FETCHING else PLACE_S
            if time.monotonic() - started > limit_s:
                state = f"its task is {task.state}: {task.error}" if task else "the service has no task"
                raise EngineError(f"after {limit_s:.0f} s {state}")
            time.sleep(0.1)

    def end(self, service: str) -> None:
        """End the service's task, with SIGKILL after its grace period, but keep the service.

        A removed service forgets how its task ended.
        """
        self.engine.call("service", "update", "--detach", "--quiet", f"--constraint-add={NOWHERE}", service)

    def remove(self, services: Sequence[str]) -> None:
        """Remove services; one that is already gone is not an error."""
        if services:
            self.engine.call("service", "rm", *services, tolerate=("No such service", "not found"))

    def create_secret(self, name: str, labels: Sequence[str], text: str) -> None:
        """Store a secret for the services that use it by name."""
        self.engine.call("secret", "create", *(f"--label={label}" for label in labels), name, "-", stdin_text=text)

    def remove_labelled(self, label: str) -> list[str]:
        """Remove the services and secrets with this label, and return the services' names."""
        found = ("--filter", f"label={label}", "--format", "{{.Name}}")
        services = self.engine.call("service", "ls", *found).split()
        self.remove(services)
        if secrets := self.engine.call("secret", "ls", *found).split():
            self.engine.call("secret", "rm", *secrets)
        return services


def _node(node: dict[str, Any]) -> Node:
    spec, status = node["Spec"], node["Status"]
    address = status.get("Addr", "")
    if address in UNNAMED:
        address = node.get("ManagerStatus", {}).get("Addr", "").rpartition(":")[0]
    roles = tuple(word.strip() for word in spec.get("Labels", {}).get(ROLE, "").split(",") if word.strip())
    ready = status.get("State") == "ready" and spec.get("Availability") == "active"
    return Node(node["ID"], node["Description"]["Hostname"], address, roles, ready)


def _task(status: dict[str, Any]) -> Task:
    container = status.get("ContainerStatus", {})
    state = status["State"]
    code = container.get("ExitCode", 0) if state in ("complete", "failed", "shutdown") else None
    return Task(state, status.get("Err") or status.get("Message", ""), container.get("PID", 0), code)
