"""Generator processes side by side: started with their descriptor limit, followed, accounted for, never left behind."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from zoo.host.environment import chosen
from zoo.host.interrupts import defer_signals
from zoo.host.processors import cpu_affinity
from zoo.host.run_lock import run_mark
from zoo.load.spec import LoadError

MOST_FILES = 1_048_576  # the kernel's own ceiling (fs.nr_open), where the hard limit names none
KEPT = ("PATH", "LD_LIBRARY_PATH")
"""The user's variables without which a generator may not be found, or not start."""

TICK_S = 0.1
TAIL_LINES = 10
STARTING = threading.Lock()  # held until a started process is among `pids`: who holds it knows of all


class Children:
    """A context: when it ends, for whatever reason, its processes are gone. With `processors` they run on these."""

    def __init__(self, nofile: int, busy: BusyThreads, processors: Sequence[int] | None = None) -> None:
        self.cpu_s = 0.0
        self._nofile = nofile
        self._busy = busy
        self._processors = processors
        self._running: dict[int, tuple[subprocess.Popen[bytes], Path]] = {}

    def __enter__(self) -> Children:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process, _ in self._running.values():
            process.kill()
        for process, _ in self._running.values():
            process.wait()
        self._running.clear()

    def pids(self) -> list[int]:
        return list(self._running)

    def start(self, command: list[str], environment: Mapping[str, str], output: Path) -> None:
        with (
            STARTING,
            output.open("wb") as stream,
            _nofile_at_least(self._nofile),
            cpu_affinity(self._processors),
            defer_signals(),
        ):
            process = subprocess.Popen(
                command,
                env={**own_environment(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,  # out of Ctrl-C's reach: wrk would end early and report as if all were well
            )
            self._running[process.pid] = (process, output)
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft > self._nofile:
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (self._nofile, hard))

    def follow(self, window_s: float, limit_s: float, on_tick: Callable[[float], None] | None) -> None:
        """Until all have ended. Threads are watched within the window: after it, wrk's threads are busy reporting."""
        started = time.monotonic()
        while True:
            self._reap()
            elapsed = time.monotonic() - started
            if not self._running:
                return
            if elapsed > limit_s:
                outputs = "\n".join(tail(output) for _, output in self._running.values())
                raise LoadError("generator_hung", f"the load generator still ran after {limit_s:.0f} s", outputs)
            if elapsed <= window_s:
                for pid in self._running:
                    self._busy.sample(pid)
            if on_tick:
                on_tick(elapsed)
            time.sleep(TICK_S - (time.monotonic() - started) % TICK_S)

    def _reap(self) -> None:
        for pid, (process, output) in list(self._running.items()):
            ended, status, usage = os.wait4(pid, os.WNOHANG)
            if not ended:
                continue
            del self._running[pid]
            process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_s += usage.ru_utime + usage.ru_stime
            if process.returncode != 0:
                message = f"the load generator ended with exit code {process.returncode}"
                raise LoadError("generator_failed", message, tail(output))


class BusyThreads:
    """How much of a core each sending thread takes, from /proc/PID/task/*/stat."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[float, int]] = {}
        self._last: dict[str, tuple[float, int]] = {}

    def sample(self, pid: int) -> None:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                if task.name == str(pid):
                    continue  # the main thread only waits
                # fields 14 and 15 of stat; the second, the name in brackets, may hold spaces
                fields = (task / "stat").read_text().rpartition(")")[2].split()
                seen = (time.monotonic(), int(fields[11]) + int(fields[12]))
                self._first.setdefault(task.name, seen)
                self._last[task.name] = seen
        except (FileNotFoundError, ProcessLookupError):
            return  # it has just ended

    def busiest(self) -> float:
        ticks_a_second = os.sysconf("SC_CLK_TCK")
        shares = [
            (self._last[task][1] - ticks) / ticks_a_second / (self._last[task][0] - at)
            for task, (at, ticks) in self._first.items()
            if self._last[task][0] > at
        ]
        return max(shares, default=0.0)


def own_environment() -> dict[str, str]:
    """Return the variables that a generator starts with.

    It gets nothing else of the user's: a proxy, a preloaded library or a setting of Go's runtime would change the load.
    """
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**chosen(tempfile.gettempdir()), **kept, **run_mark()}


def hard_nofile() -> int:
    """The hard limit of descriptors of one process started from here."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return MOST_FILES if hard == resource.RLIM_INFINITY else hard


def program(binary: str, missing: str) -> str:
    """The path of a generator; `LoadError` with what to do when it is not there."""
    path = shutil.which(binary)
    if path is None:
        raise LoadError("generator_missing", f"{binary} {missing}")
    return path


def run_briefly(command: Sequence[str], timeout_s: float = 10) -> subprocess.CompletedProcess[str]:
    """Run a generator that sends nothing and only prints."""
    return subprocess.run(
        command, env=own_environment(), capture_output=True, text=True, check=False, timeout=timeout_s
    )


def tail(output: Path) -> str:
    return "\n".join(output.read_text(errors="replace").splitlines()[-TAIL_LINES:])


@contextmanager
def _nofile_at_least(limit: int) -> Iterator[None]:
    """A child inherits the limit: raised here first, it is there from the child's first instruction on."""
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before not in (resource.RLIM_INFINITY, hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before, limit), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
