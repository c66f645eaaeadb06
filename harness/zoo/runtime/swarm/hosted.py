"""A server that is a service of a swarm."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from zoo.host.engine import ENGINE_EXIT, EngineError
from zoo.host.swarm import Node, Swarm, Task
from zoo.model.errors import RuntimeFailure
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.agent.executor import AgentExecutor
from zoo.runtime.agent.instruments import AgentInstruments
from zoo.runtime.attached import Enclosed
from zoo.runtime.base import Apart, Launch
from zoo.runtime.swarm.generators import SpreadWrk, remote
from zoo.runtime.swarm.places import Places

Dial = Callable[[Node, IO[bytes]], AgentClient]
"""An agent on this node, what goes wrong there written to that log."""

LOOK_S = 1.0
GONE_S = 40.0
"""How long a task may take to end after its grace."""


class HostedService(Enclosed):
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
