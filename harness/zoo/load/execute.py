"""Execution of commands next to a server: start, supervision, CPU accounting, and cleanup that leaves none behind.

This module needs no library, because it also runs in the agent.
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
from zoo.core.interrupts import defer_signals
from zoo.host import run_lock
from zoo.host.environment import base_environment
from zoo.host.files import read_tail
from zoo.host.processors import cpu_affinity
from zoo.host.run_lock import run_mark
from zoo.load.spec import LoadError

TOOLS = ROOT / ".tools" / "bin"
"""Folder of the tools that `make tools` builds; it is searched before PATH."""
MAX_FILES = 1_048_576  # the kernel's default ceiling (fs.nr_open), if the hard limit is infinite
INHERITED = ("PATH", "LD_LIBRARY_PATH")
"""The user's variables that a generator may need to be found or to start."""

TICK_S = 0.1
TAIL_LINES = 10
CONVERT_S = 300.0
STARTING = threading.Lock()  # held until a started process is in `pids`, so that its holder sees all processes

Tick = Callable[[float], None]
"""A callback, called about 10 times per second in the caller's thread with the seconds since the start."""


@dataclass(frozen=True)
class Job:
    """Commands that run side by side in a temporary folder, to which their relative file names refer."""

    commands: list[list[str]]
    window_s: float  # threads are watched this long, because afterwards a generator's threads are busy with reporting
    limit_s: float
    install: str  # what to do if the program is missing
    environment: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # text that the commands read, by file name
    results: list[str] = field(default_factory=list)  # files that the commands write
    convert: dict[str, list[str]] = field(default_factory=dict)
    """Commands that run afterwards, by the result that each reads.

    A command is skipped if its result is empty. Its CPU time counts separately.
    """
    begin_at: float | None = None  # on the monotonic clock of the host where it runs; None: immediately


@dataclass(frozen=True)
class ExecutionResult:
    """The results of the commands of one job."""

    output: str  # what the first command printed
    results: dict[str, str]  # packed contents of the files, by name
    cpu_s: float  # user and system time of the commands
    busiest_thread: float  # share of a core
    began_s: float  # on the monotonic clock of the host where it ran
    convert_cpu_s: float = 0.0  # user and system time of the conversions

    def open(self, name: str) -> TextIO:
        """Open a result; it is empty if the command wrote none."""
        packed = io.BytesIO(base64.b64decode(self.results[name]))
        return io.TextIOWrapper(gzip.GzipFile(fileobj=packed), encoding="utf-8", errors="replace", newline="")


class Executor(Protocol):
    """An executor of commands on a host and in a network from which the server can be reached."""

    def nofile(self) -> int:
        """Return the hard limit of file descriptors per process."""
        ...

    def printed(self, command: Sequence[str], install: str) -> str:
        """Return what a command without load prints, such as a version; raise `LoadError` if it is missing."""
        ...

    def execute(self, job: Job, on_tick: Tick | None = None) -> ExecutionResult:
        """Block until all commands have ended; raise `LoadError` if one fails. No process outlives the call."""
        ...

    def pids(self) -> list[int]:
        """Return the pids of the commands that now run on this host."""
        ...


class LocalExecutor:
    """An executor in this process's namespaces; with `processors`, the commands run on these."""

    def __init__(self, processors: Sequence[int] | None = None) -> None:
        self._processors = processors
        self._running: list[Children] = []

    def nofile(self) -> int:
        return hard_nofile()

    def printed(self, command: Sequence[str], install: str) -> str:
        done = _run_briefly([find_program(command[0], install), *command[1:]])
        if not done.stdout.strip():
            raise LoadError("generator_failed", f"`{' '.join(command)}` printed nothing", done.stderr[:500])
        return done.stdout

    def execute(self, job: Job, on_tick: Tick | None = None) -> ExecutionResult:
        commands = [[find_program(words[0], job.install), *words[1:]] for words in job.commands]
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
                convert_cpu_s = self._convert(job, folder)
                return ExecutionResult(
                    output=(folder / ".printed-0").read_text(encoding="utf-8", errors="replace"),
                    results={file: _pack_file(folder / file) for file in job.results},
                    cpu_s=children.cpu_s,
                    busiest_thread=busy.busiest(),
                    began_s=began_s,
                    convert_cpu_s=convert_cpu_s,
                )
            finally:
                self._running.remove(children)

    def pids(self) -> list[int]:
        return [pid for children in list(self._running) for pid in children.pids()]

    def _convert(self, job: Job, folder: Path) -> float:
        """Convert the results, and return the CPU time of that in seconds."""
        before_s = _children_cpu_s()
        for file, words in job.convert.items():
            if (folder / file).stat().st_size:
                done = _run_briefly([find_program(words[0], job.install), *words[1:]], CONVERT_S, folder)
                if done.returncode:
                    raise LoadError("generator_failed", f"`{' '.join(words)}` failed", done.stderr[-2000:])
        return _children_cpu_s() - before_s


class Children:
    """A context for processes; they are gone when it ends, for whatever reason.

    With `processors`, the processes run on these.
    """

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
                env={**generator_environment(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                process_group=0,  # keeps Ctrl-C away: wrk would end early and report as if nothing had happened
            )
            self._running[process.pid] = (process, output)
        soft, hard = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft > self._nofile:
            resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (self._nofile, hard))

    def follow(self, window_s: float, limit_s: float, on_tick: Tick | None) -> None:
        """Wait until all have ended, and watch their threads within the window.

        Raise `LoadError` if one fails, or if one still runs after `limit_s`.
        """
        started = time.monotonic()
        while True:
            self._reap()
            elapsed = time.monotonic() - started
            if not self._running:
                return
            if elapsed > limit_s:
                outputs = "\n".join(read_tail(output, TAIL_LINES) for _, output in self._running.values())
                raise LoadError(
                    "generator_hung", f"the load generator was still running after {limit_s:.0f} s", outputs
                )
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
                raise LoadError("generator_failed", message, read_tail(output, TAIL_LINES))


class BusyThreads:
    """The share of a core that each sending thread uses, from /proc/PID/task/*/stat."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[float, int]] = {}
        self._last: dict[str, tuple[float, int]] = {}

    def sample(self, pid: int) -> None:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                if task.name == str(pid):
                    continue  # the main thread only waits
                # fields 14 and 15 of stat, counted from the end of the second, a name in brackets that may have spaces
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


def generator_environment() -> dict[str, str]:
    """Return the variables that a generator starts with.

    It gets nothing else from the user's environment, because a proxy, a preloaded library or a setting of Go's runtime
    would change the load.
    """
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**base_environment(tempfile.gettempdir()), **inherited, **run_mark()}


def hard_nofile() -> int:
    """Return the hard limit of file descriptors for a process started from here."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    return MAX_FILES if hard == resource.RLIM_INFINITY else hard


def find_program(binary: str, install: str) -> str:
    """Return the path of a program; raise a `LoadError` that says what to do if it is missing."""
    path = shutil.which(binary, path=os.pathsep.join([str(TOOLS), os.environ.get("PATH", os.defpath)]))
    if path is None:
        raise LoadError("generator_missing", f"{binary} {install}")
    return path


def _children_cpu_s() -> float:
    """Return the user and system time of all processes that this one started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run_briefly(
    command: Sequence[str], timeout_s: float = 10, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=generator_environment(), capture_output=True, text=True, check=False, timeout=timeout_s
    )


def _pack_file(file: Path) -> str:
    """Return a file's content as text for JSON, compressed for slow connections; empty content if there is no file."""
    content = file.read_bytes() if file.exists() else b""
    return base64.b64encode(gzip.compress(content, 1)).decode("ascii")


@contextmanager
def _nofile_at_least(limit: int) -> Iterator[None]:
    """Raise the soft limit of descriptors to `limit` in the context.

    A child inherits the limit, so that it is in force from the child's first instruction on.
    """
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before not in (resource.RLIM_INFINITY, hard):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(before, limit), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, hard))
