"""Interfaces of a server under test and of the runtime that starts it, in a process or a container."""

from __future__ import annotations

import os
import re
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from kit import wire
from kit.targets import Target

CONTRACT_VARIABLES = ("HOST", "PORT", "VARIANT", "MAX_THREADS", "BACKLOG", "CONNECTOR", "BUFFERS", "SCHEDULER")
LOW_NOFILE = 1024
HEAP_MB = 1_500
"""Largest allowed memory growth of a JVM, in MB. A heap far from its limit fills with garbage before a collection."""
STACKS_S = 5.0
"""Seconds in which a server that hangs prints what its threads do: on SIGQUIT, the JVM and Go print their stacks."""
Environment = Mapping[str, str | None]
"""Environment variables. None removes a variable; in a container, only if the service does not set it."""


class ServerFailed(AssertionError):
    """Server that did not start or exited unexpectedly."""


class Output:
    """Output of a child process, in memory files, so that writing cannot block it."""

    def __init__(self) -> None:
        self.stdout_file = os.memfd_create("stdout")
        self.stderr_file = os.memfd_create("stderr")

    @property
    def stdout(self) -> str:
        return _text(self.stdout_file)

    @property
    def stderr(self) -> str:
        return _text(self.stderr_file)

    def close(self) -> None:
        os.close(self.stdout_file)
        os.close(self.stderr_file)


def _text(file: int) -> str:
    """Return everything written so far, without moving the child's write offset."""
    return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")


def long_patience() -> float:
    """Return the seconds to wait for a start or an exit."""
    return 3 * wire.PATIENCE


class Server(ABC):
    """Started server, reachable at `port` on the loopback address."""

    host: ClassVar[str]
    """Address that the server listens on by default."""

    def __init__(self, target: Target, port: int) -> None:
        self.target = target
        self.port = port
        self.output = Output()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    @abstractmethod
    def own_pid(self) -> int:
        """Process ID that the server itself sees."""

    @property
    def host_pid(self) -> int | None:
        """Process ID on this host; None if the server runs in a container."""
        return None

    @abstractmethod
    def exit_code(self) -> int | None:
        """Return the exit code, or None while the server runs."""

    @abstractmethod
    def signal(self, number: signal.Signals) -> None: ...

    @abstractmethod
    def proc(self, file: str) -> str:
        """Return the text of a file in the process's folder in /proc."""

    def resident_mb(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+) kB", self.proc("status"))
        assert found, "the kernel reports no VmRSS"
        return int(found[1]) // 1024

    @abstractmethod
    def turns_away(self) -> bool:
        """Return True if the server does not accept a new connection."""

    @abstractmethod
    def close(self) -> None:
        """End whatever still runs, and discard its output."""

    @abstractmethod
    def _end(self, patience: float) -> int | None:
        """Return the exit code once the server has exited and its output is complete; None if it still runs."""

    @property
    def stdout(self) -> str:
        return self.output.stdout

    @property
    def stderr(self) -> str:
        return self.output.stderr

    @property
    def ready_line(self) -> str:
        return f"listening on http://{self.host}:{self.port} ({self.target.id})\n"

    def wait_ready(self) -> None:
        """Wait for the first line on stdout; a test checks its text."""
        deadline = time.monotonic() + long_patience()
        while "\n" not in self.stdout:
            code = self.exit_code()
            if code is not None:
                raise ServerFailed(f"{self.target.id} exited with {code} during startup: {self._said()}")
            if time.monotonic() > deadline:
                self.signal(signal.SIGQUIT)
                time.sleep(STACKS_S)
                said = f"{self.stdout}{self.stderr}"
                raise ServerFailed(f"{self.target.id} printed no line within {long_patience():.0f} s: {said}")
            time.sleep(0.01)

    def wait(self) -> int:
        """Return the exit code; a server that still runs is an error."""
        code = self._end(long_patience())
        if code is None:
            raise ServerFailed(f"{self.target.id} did not end within {long_patience():.0f} s: {self._said()}")
        return code

    def _said(self) -> str:
        return f"stdout {self.stdout[-1000:]!r}, stderr {self.stderr[-2000:]!r}"


class Runtime(ABC):
    """Interface of a way to start entries."""

    name: ClassVar[str]

    @abstractmethod
    def prepare(self, targets: list[Target]) -> None:
        """Raise `Unusable` if nothing can be started; called once, before the first test."""

    @abstractmethod
    def start(
        self, target: Target, env: Environment | None = None, low_nofile: bool = False
    ) -> AbstractContextManager[Server]:
        """Start a separate server on a free port, and end it when the block ends."""

    @abstractmethod
    def start_on_taken_port(self, target: Target) -> AbstractContextManager[Server]:
        """Start a server on a port that another listener already uses."""

    @abstractmethod
    def temporary(self, folder: Path) -> dict[str, str]:
        """Return the environment that makes `folder` the temporary folder; empty if a container has its own."""

    @abstractmethod
    def finish(self) -> list[str]:
        """Remove whatever this run left behind and return the names; the list is empty if every test cleaned up."""

    @contextmanager
    def serving(self, target: Target, env: Environment | None = None, low_nofile: bool = False) -> Iterator[Server]:
        """Start a server and wait until it is ready."""
        with self.start(target, env, low_nofile) as server:
            server.wait_ready()
            yield server


class Unusable(Exception):
    """Runtime that cannot start anything; the message names the fix."""
