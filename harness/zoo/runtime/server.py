"""Servers that the zoo starts: how they are probed, and how the harness waits until they listen."""

from __future__ import annotations

import subprocess
import time
from abc import abstractmethod

from zoo.core.errors import RuntimeFailure, start_failure
from zoo.host.files import read_tail
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.base import GeneratorProcessors, HostedServer, Launch
from zoo.runtime.condition_checks import fault
from zoo.sample.requests import Info


class LaunchedServer(HostedServer):
    """A server that the zoo starts, whose output is its log."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self.generator_processors = GeneratorProcessors(len(launch.cores.generator)) if launch.cores else None

    def probe(self) -> Info:
        """Return `/info`; raise `RuntimeFailure` if contract, thread model or condition is not as expected."""
        info = self.instruments.probe(self.url, self._launch.entry)
        wrong = fault(self._launch, info, self._command_line, self._jcmd)
        if wrong:
            advice = self._advice() if "transport" in wrong else ""
            raise RuntimeFailure("no_effect", wrong + advice, self.log_tail())
        return info

    def _command_line(self, pid: int) -> list[str] | None:
        """Return the JVM's command line as words, or None if it cannot be read; `pid` is the one from `/info`."""
        return None

    def _jcmd(self, pid: int, *words: str) -> str | None:
        """Return the JVM's output for jcmd, or None if jcmd cannot reach it."""
        return None

    def _advice(self) -> str:
        """Return advice for a server that does not use the expected transport."""
        return ""

    def log_tail(self, lines: int = 20) -> str:
        return read_tail(self._launch.log, lines)


class HostedChild(LaunchedServer):
    """A server whose process, or whose container's command, is a child of the harness."""

    def __init__(self, child: subprocess.Popen[bytes], launch: Launch) -> None:
        super().__init__(launch)
        self._child = child

    @abstractmethod
    def kill(self) -> None:
        """Kill the server and everything that belongs to it."""

    @property
    def logged_url(self) -> str:
        """Return the URL in the server's first log line, with the address that it listens on."""
        return self.url.replace("127.0.0.1", self._launch.env.get("HOST", "127.0.0.1"))

    def is_alive(self) -> bool:
        return self._code() is None

    def _code(self) -> int | None:
        """Return the exit code; None while the server runs."""
        return self._child.poll()

    def wait_ready(self, started: float, timeout_s: float) -> None:
        """Wait until the log has the line "listening on …".

        Raise `RuntimeFailure` if the server ends before that, or if it does not listen within `timeout_s` seconds of
        `started`, a monotonic time.
        """
        line = f"listening on {self.logged_url} ({self._launch.entry.id})"
        while line not in self.log_tail(1000):
            code = self._code()
            if code is not None:
                raise self._start_failure(code)
            if time.monotonic() - started > timeout_s:
                raise RuntimeFailure("not_started", f"did not listen within {timeout_s:.0f} s", self.log_tail())
            time.sleep(0.01)
        self.ready_s = time.monotonic() - started

    def _start_failure(self, code: int) -> RuntimeFailure:
        """Return the failure of a server that ended before it listened."""
        return start_failure(code, self.log_tail())


class HostedWithAgent(HostedChild):
    """A server that agents observe and load."""

    @abstractmethod
    def attach(self, agent: AgentClient, sampler: str) -> None:
        """Observe and load the server through the agent."""
