"""A server that is a child of the harness, or whose container's command is: its output is its log."""

from __future__ import annotations

import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from zoo.load.ab import Ab
from zoo.load.base import Generator
from zoo.load.execute import Executor
from zoo.load.vegeta import Vegeta
from zoo.load.wrk import Wrk
from zoo.model.errors import RuntimeFailure, never_listened
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.base import Apart, Launch
from zoo.runtime.condition_checks import fault, gathered
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Info


class HostedChild(ABC):
    """What a process and an attached container have in common."""

    home = "/"
    instruments: Instruments
    generator: Generator
    attacker: Vegeta
    benchmarker: Ab

    def __init__(self, child: subprocess.Popen[bytes], launch: Launch) -> None:
        self._child = child
        self._launch = launch
        self._ready_s = 0.0

    def _load_by(self, executor: Executor) -> None:
        self.generator, self.attacker, self.benchmarker = Wrk(executor), Vegeta(executor), Ab(executor)

    @property
    @abstractmethod
    def url(self) -> str: ...

    @property
    @abstractmethod
    def pid(self) -> int: ...

    @abstractmethod
    def thread_dump(self, to: Path) -> bool: ...

    @abstractmethod
    def stop(self, grace_s: float = 15.0) -> int | None: ...

    @abstractmethod
    def kill(self) -> None:
        """End it at once, and what belongs to it."""

    @property
    def told_url(self) -> str:
        """As its first line tells it: with the address that it listens at."""
        return self.url.replace("127.0.0.1", self._launch.env.get("HOST", "127.0.0.1"))

    @property
    def apart(self) -> Apart | None:
        cores = self._launch.cores
        return Apart(len(cores.generator)) if cores else None

    @property
    def ready_s(self) -> float | None:
        return self._ready_s

    def probe(self) -> Info:
        """Check contract, thread model and condition; `RuntimeFailure` where one of them is not as expected."""
        info = self.instruments.probe(self.url, self._launch.entry)
        wrong = fault(self._launch, gathered(self._launch, info, self._command_line, self._jcmd))
        if wrong:
            advice = self._advice() if "transport" in wrong else ""
            raise RuntimeFailure("no_effect", wrong + advice, self.log_tail())
        return info

    def _command_line(self, info: Info) -> list[str] | None:
        """The words that its JVM was started with, where they can be read."""
        return None

    def _jcmd(self, info: Info, words: Sequence[str]) -> str | None:
        """What its JVM answers to jcmd, where it can be asked."""
        return None

    def _advice(self) -> str:
        """What to do about a transport that is not the expected one."""
        return ""

    def alive(self) -> bool:
        return self._code() is None

    def _code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._child.poll()

    def ended(self, when: str) -> RuntimeFailure:
        return RuntimeFailure("crashed", f"the server ended {when}", self.log_tail())

    def log_tail(self, lines: int = 20) -> str:
        try:
            text = self._launch.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join(text.splitlines()[-lines:])

    def wait_ready(self, started: float, timeout_s: float) -> None:
        """Return when the promised line is in the log; `RuntimeFailure` when it ends or is late."""
        line = f"listening on {self.told_url} ({self._launch.entry.id})"
        while line not in self.log_tail(1000):
            code = self._code()
            if code is not None:
                raise self._refused(code)
            if time.monotonic() - started > timeout_s:
                raise RuntimeFailure("not_started", f"did not listen within {timeout_s:.0f} s", self.log_tail())
            time.sleep(0.01)
        self._ready_s = time.monotonic() - started

    def _refused(self, code: int) -> RuntimeFailure:
        """What it means that it ended before it listened."""
        return never_listened(code, self.log_tail())


class HostedWithAgent(HostedChild):
    """A server that is watched and loaded by agents."""

    @abstractmethod
    def attach(self, agent: AgentClient, sampler: str) -> None:
        """Watch it by the agent."""
