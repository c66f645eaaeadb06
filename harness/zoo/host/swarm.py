"""A swarm, by the engine of one of its managers: its nodes, and services of one task each on a chosen node."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from zoo.host.engine import Engine, EngineError

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
