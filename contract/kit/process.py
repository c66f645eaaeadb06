"""Server processes as the contract sees them: a line, an exit code, signals, limits."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from kit.paths import CONTRACT
from kit.targets import Target
from kit.wire import PATIENCE

PORTS = range(21500, 22000)
"""Below the range from which the kernel takes ports for outgoing connections."""

CONTRACT_VARIABLES = ("HOST", "PORT", "VARIANT", "MAX_THREADS", "BACKLOG", "CONNECTOR")
START_PATIENCE = 60.0
LOW_NOFILE = 1024
LAUNCH = (sys.executable, "-I", "-S", str(CONTRACT / "kit" / "launch.py"))


class ServerFailed(AssertionError):
    """A server that did not start or ended by itself."""


@contextmanager
def free_port() -> Iterator[int]:
    """A port nobody uses, reserved among all processes of the suite by a lock until the block ends."""
    locks = Path(tempfile.gettempdir()) / f"contract-ports-{os.getuid()}"
    locks.mkdir(exist_ok=True)
    start = os.getpid() * 7
    for offset in range(len(PORTS)):
        port = PORTS[(start + offset) % len(PORTS)]
        with (locks / str(port)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if _bindable(port):
                yield port
                return
    raise RuntimeError(f"no free port in {PORTS.start}-{PORTS.stop - 1}")


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


class Process:
    """A started server; its output goes to files in memory, so nothing it writes can block it."""

    def __init__(
        self, target: Target, env: dict[str, str], low_nofile: bool = False, without: tuple[str, ...] = ()
    ) -> None:
        missing = [str(made) for made in target.makes if not made.exists()]
        if missing:
            raise ServerFailed(f"{target.server} is not built, missing: {', '.join(missing)}")
        inherited = {name: value for name, value in os.environ.items() if name not in CONTRACT_VARIABLES}
        full = {**inherited, **target.env, "VARIANT": target.variant, **env}
        self.target = target
        self._out = os.memfd_create("stdout")
        self._err = os.memfd_create("stderr")
        self.child = subprocess.Popen(
            [*LAUNCH, str(LOW_NOFILE) if low_nofile else "-", *target.argv],
            cwd=target.folder,
            env={name: value for name, value in full.items() if name not in without},
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def stdout(self) -> str:
        return _text(self._out)

    @property
    def stderr(self) -> str:
        return _text(self._err)

    def wait_ready(self) -> None:
        """Return once the first line stands on stdout; what it says is judged by a test."""
        deadline = time.monotonic() + START_PATIENCE
        while "\n" not in self.stdout:
            if self.child.poll() is not None:
                raise ServerFailed(f"{self.target.id} ended with {self.child.returncode} at its start: {self._said()}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"{self.target.id} printed no line within {START_PATIENCE:.0f} s: {self._said()}")
            time.sleep(0.01)

    def wait(self, patience: float = PATIENCE) -> int:
        """The exit code; a process that lives on is an error."""
        try:
            return self.child.wait(patience)
        except subprocess.TimeoutExpired:
            raise ServerFailed(f"{self.target.id} did not end within {patience:.0f} s: {self._said()}") from None

    def signal(self, number: signal.Signals) -> None:
        self.child.send_signal(number)

    def kill(self) -> None:
        """End it at once, with whatever it started, and forget its output."""
        with suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        os.close(self._out)
        os.close(self._err)

    def _said(self) -> str:
        return f"stdout {self.stdout[-1000:]!r}, stderr {self.stderr[-2000:]!r}"


class Server(Process):
    """A server that listens."""

    def __init__(
        self,
        target: Target,
        port: int,
        env: dict[str, str],
        low_nofile: bool = False,
        without: tuple[str, ...] = (),
    ) -> None:
        super().__init__(target, {"PORT": str(port), **env}, low_nofile, without)
        self.port = port

    @property
    def ready_line(self) -> str:
        return f"listening on http://127.0.0.1:{self.port} ({self.target.id})\n"


@contextmanager
def serving(target: Target, env: dict[str, str] | None = None, low_nofile: bool = False) -> Iterator[Server]:
    """A server of its own for one test, on a free port."""
    with free_port() as port, Server(target, port, env or {}, low_nofile) as server:
        server.wait_ready()
        yield server


def _text(file: int) -> str:
    """All that was written so far, without moving the offset that the child writes at."""
    return os.pread(file, os.fstat(file).st_size, 0).decode("utf-8", "replace")
