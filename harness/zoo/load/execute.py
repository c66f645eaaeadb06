"""Executes commands next to a server: starts them, follows them, accounts for their CPU and leaves none behind.

Needs no library, because it also runs where the agent runs.
"""

from __future__ import annotations

import base64
import gzip
import io
import os
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Protocol, TextIO

from zoo import ROOT
from zoo.host import run_lock
from zoo.host.environment import chosen
from zoo.host.interrupts import defer_signals
from zoo.host.processors import cpu_affinity
from zoo.host.run_lock import run_mark
from zoo.load.spec import LoadError

TOOLS = ROOT / ".tools" / "bin"
"""Where `make tools` puts what it builds; searched before the PATH."""
MOST_FILES = 1_048_576  # the kernel's own ceiling (fs.nr_open), where the hard limit names none
KEPT = ("PATH", "LD_LIBRARY_PATH")
"""The user's variables without which a generator may not be found, or not start."""

TICK_S = 0.1
TAIL_LINES = 10
CONVERT_S = 300.0
STARTING = threading.Lock()  # held until a started process is among `pids`: who holds it knows of all

Tick = Callable[[float], None]
"""Called about 10 times a second, in the caller's thread, with the seconds since the start."""


@dataclass(frozen=True)
class Job:
    """Commands that run side by side, in a temporary folder to which their relative file names refer."""

    commands: list[list[str]]
    window_s: float  # threads are watched this long: after it, a generator's threads are busy reporting
    limit_s: float
    install: str  # what to do where the program is missing
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # text that the commands read, by file name
    results: list[str] = field(default_factory=list)  # files that the commands write
    convert: dict[str, list[str]] = field(default_factory=dict)
    """Commands that run afterwards, by the result that each reads; skipped where that is empty. Their CPU time does not
    count."""
    begin_at: float | None = None  # by the monotonic clock of the host where it runs; None: at once


@dataclass(frozen=True)
class Executed:
    """What the commands of one job left."""

    output: str  # what the first command printed
    results: dict[str, str]  # contents of the files, packed
    cpu_s: float  # user and system time
    busiest_thread: float  # share of a core
    began_s: float  # by the monotonic clock of the host where it ran

    def open(self, name: str) -> TextIO:
        """Open a result; it is empty where the command wrote none."""
        packed = io.BytesIO(base64.b64decode(self.results[name]))
        return io.TextIOWrapper(gzip.GzipFile(fileobj=packed), encoding="utf-8", errors="replace", newline="")


class Executor(Protocol):
    """Executes commands where the server can be reached."""

    def nofile(self) -> int:
        """Return the hard limit of descriptors of one process."""
        ...

    def printed(self, command: Sequence[str], install: str) -> str:
        """Return what a command that sends nothing prints, as a version; `LoadError` where it is missing."""
        ...

    def execute(self, job: Job, on_tick: Tick | None = None) -> Executed:
        """Block until all commands have ended; `LoadError` when one fails. No process outlives the call."""
        ...

    def pids(self) -> list[int]:
        """Return the processes that run here now."""
        ...


class LocalExecutor:
    """In this process's own namespaces. With `processors` the commands run on these."""

    def __init__(self, processors: Sequence[int] | None = None) -> None:
        self._processors = processors
        self._running: list[Children] = []

    def nofile(self) -> int:
        return hard_nofile()

    def printed(self, command: Sequence[str], install: str) -> str:
        done = _run_briefly([program(command[0], install), *command[1:]])
        if not done.stdout.strip():
            raise LoadError("generator_failed", f"`{' '.join(command)}` prints nothing", done.stderr[:500])
        return done.stdout

    def execute(self, job: Job, on_tick: Tick | None = None) -> Executed:
        commands = [[program(words[0], job.install), *words[1:]] for words in job.commands]
        if job.begin_at is not None:
            time.sleep(max(0.0, job.begin_at - time.monotonic()))
        busy, began_s = BusyThreads(), time.monotonic()
        with run_lock.scratch_folder("load") as name, Children(hard_nofile(), busy, self._processors) as children:
            self._running.append(children)
            try:
                folder = Path(name)
                for file, text in job.files.items():
                    (folder / file).write_text(text, encoding="utf-8")
                for number, command in enumerate(commands):
                    children.start(command, job.environment, folder / f".printed-{number}", folder)
                children.follow(job.window_s, job.limit_s, on_tick)
                self._convert(job, folder)
                return Executed(
                    output=(folder / ".printed-0").read_text(encoding="utf-8", errors="replace"),
                    results={file: _packed(folder / file) for file in job.results},
                    cpu_s=children.cpu_s,
                    busiest_thread=busy.busiest(),
                    began_s=began_s,
                )
            finally:
                self._running.remove(children)

    def pids(self) -> list[int]:
        return [pid for children in list(self._running) for pid in children.pids()]

    def _convert(self, job: Job, folder: Path) -> None:
        for file, words in job.convert.items():
            if (folder / file).stat().st_size:
                done = _run_briefly([program(words[0], job.install), *words[1:]], CONVERT_S, folder)
                if done.returncode:
                    raise LoadError("generator_failed", f"`{' '.join(words)}` failed", done.stderr[-2000:])


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

    def start(
        self, command: list[str], environment: Mapping[str, str], output: Path, folder: Path | None = None
    ) -> None:
        with (
            STARTING,
            output.open("wb") as stream,
            _nofile_at_least(self._nofile),
            cpu_affinity(self._processors),
            defer_signals(),
        ):
            process = subprocess.Popen(
                command,
                cwd=folder,
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

    def follow(self, window_s: float, limit_s: float, on_tick: Tick | None) -> None:
        """Return when all have ended; watch their threads within the window."""
        started = time.monotonic()
        while True:
            self._reap()
            elapsed = time.monotonic() - started
            if not self._running:
                return
            if elapsed > limit_s:
                outputs = "\n".join(_tail(output) for _, output in self._running.values())
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
                raise LoadError("generator_failed", message, _tail(output))


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
    """Return the hard limit of descriptors of one process started from here."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return MOST_FILES if hard == resource.RLIM_INFINITY else hard


def program(binary: str, install: str) -> str:
    """Return the path of a program; `LoadError` with what to do where it is missing."""
    path = shutil.which(binary, path=os.pathsep.join([str(TOOLS), os.environ.get("PATH", os.defpath)]))
    if path is None:
        raise LoadError("generator_missing", f"{binary} {install}")
    return path


def _run_briefly(
    command: Sequence[str], timeout_s: float = 10, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=own_environment(), capture_output=True, text=True, check=False, timeout=timeout_s
    )


def _packed(file: Path) -> str:
    """Return a file's content as text that JSON can carry, small enough for a slow line; empty where there is none."""
    content = file.read_bytes() if file.exists() else b""
    return base64.b64encode(gzip.compress(content, 1)).decode("ascii")


def _tail(output: Path) -> str:
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
