"""What the suite needs of a server and of whoever hosts it: one small protocol for processes and containers."""

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
"""A JVM's heap grows by garbage, as long as it is far from its limit, before it is collected."""
Environment = Mapping[str, str | None]
"""None for a variable that is taken away; from a container only if its service does not set it."""


class ServerFailed(AssertionError):
    """A server that did not start or ended by itself."""


class Output:
    """What a child writes, in files in memory: nothing it writes can block it."""

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
    """All that was written so far, without moving the offset that the child writes at."""
    return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")


def long_patience() -> float:
    """Seconds for a start or an end."""
    return 3 * wire.PATIENCE


class Server(ABC):
    """A started server, asked at `port` of the loopback address."""

    host: ClassVar[str]
    """The address that it listens on, where nothing else is said."""

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
        """Its process id as it sees it itself."""

    @abstractmethod
    def exit_code(self) -> int | None:
        """None while it lives."""

    @abstractmethod
    def signal(self, number: signal.Signals) -> None: ...

    @abstractmethod
    def proc(self, file: str) -> str:
        """What the kernel says of it: a file of its folder in /proc."""

    def resident_mb(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+) kB", self.proc("status"))
        assert found, "the kernel tells no VmRSS"
        return int(found[1]) // 1024

    @abstractmethod
    def turns_away(self) -> bool:
        """True when it does not take a new connection."""

    @abstractmethod
    def close(self) -> None:
        """End what runs yet, and forget its output."""

    @abstractmethod
    def _end(self, patience: float) -> int | None:
        """The exit code once it has ended and its output is whole; None when it lives on."""

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
        """Return once the first line stands on stdout; what it says is judged by a test."""
        deadline = time.monotonic() + long_patience()
        while "\n" not in self.stdout:
            code = self.exit_code()
            if code is not None:
                raise ServerFailed(f"{self.target.id} ended with {code} at its start: {self._said()}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"{self.target.id} printed no line within {long_patience():.0f} s: {self._said()}")
            time.sleep(0.01)

    def wait(self) -> int:
        """The exit code; a server that lives on is an error."""
        code = self._end(long_patience())
        if code is None:
            raise ServerFailed(f"{self.target.id} did not end within {long_patience():.0f} s: {self._said()}")
        return code

    def _said(self) -> str:
        return f"stdout {self.stdout[-1000:]!r}, stderr {self.stderr[-2000:]!r}"


class Runtime(ABC):
    """How entries are started."""

    name: ClassVar[str]

    @abstractmethod
    def prepare(self, targets: list[Target]) -> None:
        """`Unusable` when nothing can be started at all; asked once, before the first test."""

    @abstractmethod
    def start(
        self, target: Target, env: Environment | None = None, low_nofile: bool = False
    ) -> AbstractContextManager[Server]:
        """A server of its own on a free port, ended when the block ends."""

    @abstractmethod
    def start_on_taken_port(self, target: Target) -> AbstractContextManager[Server]:
        """A server whose port another listener holds where it wants to listen."""

    @abstractmethod
    def temporary(self, folder: Path) -> dict[str, str]:
        """The environment of a server whose temporary folder this is; none where that goes with its host."""

    @abstractmethod
    def finish(self) -> list[str]:
        """Remove what is left of all this run has started; its names, none where every test did its part."""

    @contextmanager
    def serving(self, target: Target, env: Environment | None = None, low_nofile: bool = False) -> Iterator[Server]:
        """As `start`, but ready."""
        with self.start(target, env, low_nofile) as server:
            server.wait_ready()
            yield server


class Unusable(Exception):
    """A runtime that cannot start anything; the message says what to do."""
