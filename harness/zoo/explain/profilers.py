"""Profilers of running servers: async-profiler for a JVM, perf for other programs."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zoo.core.errors import UserError
from zoo.explain.counts import Scheduler, contended_classes, parse_allocations, parse_pinned, parse_scheduler
from zoo.explain.stacks import Stack, parse_collapsed
from zoo.host import run_lock
from zoo.host.files import read_text
from zoo.sample import jcmd
from zoo.sample.proc import PROC

ASYNC_PROFILER = "4.4"
"""Version that `harness/install-profilers.sh` installs."""

INTERVAL_MS = 2
"""CPU time that should pass between two samples of a thread.

Without permission for perf events, async-profiler uses a timer of the kernel, which expires only at a tick (4 ms at 250
Hz).
"""

HERTZ = 1000 // INTERVAL_MS - 1
"""Sampling rate of perf; one less than a round number, so that it does not run in step with timers."""

ATTACH_S = 60.0
"""Seconds that a profiler may need to attach on a busy machine."""


class ProfilerError(UserError):
    """A profiler that cannot attach; the message says what is missing and the command that helps."""


class Profiler(Protocol):
    """A profiler of one process."""

    name: str

    def start(self) -> None: ...
    def stop(self) -> Mapping[Stack, int]:
        """Stop and return the weight of each stack since the start: its samples, or another measure of its CPU time."""
        ...


class AsyncProfiler:
    """async-profiler, loaded into a running JVM through jcmd.

    Raise `ProfilerError` if the JVM has no jcmd or refuses the agent.
    """

    def __init__(self, pid: int, library: Path) -> None:
        self._pid = pid
        self._library = library
        self.name = f"async-profiler {self._library.parent.name}"

    def start(self, event: str = f"event=cpu,interval={INTERVAL_MS}ms") -> None:
        self._call(f"start,{event}")

    def stop(self) -> Counter[Stack]:
        return self._stop("ann")

    def start_locks(self) -> None:
        """Record every acquisition of a monitor or a lock of the class library that waited for another thread."""
        self.start("event=lock,lock=1")

    def stop_locks(self) -> dict[str, int]:
        """Stop and return the number of these acquisitions by class of lock."""
        return dict(contended_classes(self._stop("ann")))

    def _stop(self, options: str) -> Counter[Stack]:
        with run_lock.scratch_folder("profile") as folder:
            written = Path(folder, "stacks")
            self._call(f"stop,file={written},collapsed,{options}")
            return parse_collapsed(written.read_text(encoding="utf-8", errors="replace"))

    def _call(self, command: str) -> None:
        # without the inner quotes, jcmd splits a path at its spaces and the command at its equals signs
        words = ("JVMTI.agent_load", f'"{self._library}"', f'"{command}"')
        printed = jcmd.run_jcmd(self._pid, *words)
        if printed is None or "return code: 0" not in printed:
            raise ProfilerError(
                "async-profiler cannot attach to the server's JVM: it needs a JDK with jcmd, the server's user, and no "
                f"-XX:+DisableAttachMechanism ({(printed or 'no answer from jcmd').strip()})"
            )


@dataclass(frozen=True)
class FlightRecording:
    """Counts of the JVM's flight recorder; None if this JVM does not record such events."""

    pinned: int | None = None
    allocated_bytes: int | None = None


class FlightRecorder:
    """A recording of how often virtual threads were pinned, and of the bytes that all threads allocated."""

    NAME = "name=zoo-explain"
    PINNED, ALLOCATED = "jdk.VirtualThreadPinned", "jdk.ThreadAllocationStatistics"
    SETTINGS = (
        *("settings=none", "dumponexit=false"),
        *(f"+{PINNED}#enabled=true", f"+{PINNED}#threshold=0ns"),
        *(f"+{ALLOCATED}#enabled=true", f"+{ALLOCATED}#period=everyChunk"),
    )

    def __init__(self, pid: int) -> None:
        """Start the recording."""
        self._pid = pid
        jcmd.run_jcmd(pid, "JFR.start", self.NAME, *self.SETTINGS)

    def stop(self) -> FlightRecording:
        with run_lock.scratch_folder("recording") as folder:
            written, tool = Path(folder, "recording.jfr"), jcmd.jdk_tool(self._pid, "jfr")
            jcmd.run_jcmd(self._pid, "JFR.stop", self.NAME, f"filename={written}")
            if tool is None or not written.exists():
                return FlightRecording()

            def read(*words: str) -> str:
                return subprocess.run([tool, *words, written], capture_output=True, text=True, check=False).stdout

            allocations = read("print", "--json", "--events", self.ALLOCATED)
            return FlightRecording(parse_pinned(read("summary")), parse_allocations(allocations))


def read_scheduler(pid: int) -> Scheduler | None:
    """Return the state of the scheduler of virtual threads; None if the JVM is older than 24 or not a JVM."""
    return parse_scheduler(jcmd.run_jcmd(pid, "Thread.vthread_scheduler") or "")


class Perf:
    """perf with the CPU clock, for programs that are not JVMs; inferno folds its stacks.

    Raise `ProfilerError` if perf may not attach.
    """

    def __init__(self, pid: int, inferno: Path) -> None:
        self._pid = pid
        self._inferno = inferno
        self._folder = run_lock.scratch_folder("perf")
        self._data = Path(self._folder.name, "perf.data")
        self._child: subprocess.Popen[str] | None = None
        self.name = subprocess.run([perf(), "--version"], capture_output=True, text=True, check=False).stdout.strip()

    def start(self) -> None:
        """Start perf and return when it records."""
        control, acknowledged = (Path(self._folder.name, name) for name in ("control", "acknowledged"))
        for fifo in (control, acknowledged):
            fifo.unlink(missing_ok=True)
            os.mkfifo(fifo)
        events = ["-e", "cpu-clock", "-F", str(HERTZ), "-g", "-p", str(self._pid)]
        when = ["--delay=-1", f"--control=fifo:{control},{acknowledged}"]
        words = [perf(), "record", "-q", *events, *when, "-o", str(self._data)]
        self._child = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, process_group=0)
        # a FIFO that is open for both never waits for its other end
        with os.fdopen(os.open(control, os.O_RDWR), "wb", buffering=0) as asking:
            asking.write(b"enable\n")
            self._wait_for_answer(acknowledged)

    def _wait_for_answer(self, fifo: Path) -> None:
        assert self._child is not None
        with os.fdopen(os.open(fifo, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as answers:
            deadline = time.monotonic() + ATTACH_S
            while not select.select([answers], [], [], 0.1)[0]:
                if self._child.poll() is not None or time.monotonic() > deadline:
                    self._child.kill()
                    said = self._child.communicate()[1].strip()
                    raise ProfilerError(f"perf cannot attach: {said}\n{permission_advice()}")

    def stop(self) -> Counter[Stack]:
        assert self._child is not None
        self._child.send_signal(signal.SIGINT)
        self._child.communicate()
        script = subprocess.run(
            [perf(), "script", "-i", str(self._data)], capture_output=True, text=True, errors="replace", check=True
        )
        folded = subprocess.run(
            [self._inferno, "--kernel"], input=script.stdout, capture_output=True, text=True, check=True
        )
        self._data.unlink(missing_ok=True)
        found: Counter[Stack] = Counter()
        # inferno puts the thread's name first, and weighs each sample by its period, which this clock counts in ns
        for (_, *frames), ns in parse_collapsed(folded.stdout).items():
            found[tuple(frames)] += ns
        return found


def perf() -> str:
    """Return the path of perf; raise `ProfilerError` if there is none."""
    found = shutil.which("perf")
    if found is None:
        raise ProfilerError(
            "perf is missing; install it: apt-get install linux-perf (Debian), linux-tools-generic (Ubuntu)"
        )
    return found


def permission_advice() -> str:
    """Return the command that allows a user to profile on this host."""
    level = read_text("/proc/sys/kernel/perf_event_paranoid").strip()
    return f"kernel.perf_event_paranoid is {level}; as root: sysctl kernel.perf_event_paranoid=1"


def require_attachable(pid: int) -> None:
    """Raise `ProfilerError` if the process cannot be profiled from here, with the command that helps."""
    try:
        libraries = Path(f"{PROC}/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ProfilerError(
            f"process {pid} cannot be read ({error.strerror}): run this command as the user of that process or as root"
        ) from None
    if "/libjvm.so" in libraries and jcmd.jdk_tool(pid, "jcmd") is None:
        raise ProfilerError(
            f"process {pid} is a JVM without jcmd on this host, because it runs on a JRE or in a container: "
            "start the server on a JDK of this host (in a container, the profiler would have to be inside)"
        )


def find_async_profiler(tools: Path) -> Path:
    """Return the path of async-profiler's library for this processor; raise `ProfilerError` if it is missing."""
    return _find_tool(tools / "async-profiler" / ASYNC_PROFILER / "libasyncProfiler.so")


def find_inferno(tools: Path) -> Path:
    """Return the path of the tool that folds perf's stacks; raise `ProfilerError` if it is missing."""
    return _find_tool(tools / "inferno-collapse-perf")


def _find_tool(path: Path) -> Path:
    if not path.exists():
        raise ProfilerError(f"{path.name} is missing; install the profilers: make profilers")
    return path


class CallCounter:
    """strace in its counting mode, attached to all threads of a process."""

    def __init__(self, pid: int) -> None:
        """Attach and return when all threads are traced; raise `ProfilerError` if that is not possible."""
        strace = shutil.which("strace")
        if strace is None:
            raise ProfilerError("system calls were not counted: strace is missing (apt-get install strace)")
        self._folder = run_lock.scratch_folder("strace")
        self._output = Path(self._folder.name, "summary")
        words = [strace, "-c", "-f", "-q", "-o", str(self._output), "-p", str(pid)]
        self._child = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, process_group=0)
        deadline = time.monotonic() + ATTACH_S
        while not _is_traced(pid):
            if self._child.poll() is not None or time.monotonic() > deadline:
                self._end()
                said = self._child.stderr.read().strip() if self._child.stderr else ""
                raise ProfilerError(
                    f"system calls were not counted: strace cannot attach ({said}); "
                    "as root: sysctl kernel.yama.ptrace_scope=0"
                )
            time.sleep(0.05)

    def stop(self) -> str:
        """Detach and return the summary."""
        self._end()
        return self._output.read_text(encoding="utf-8") if self._output.exists() else ""

    def _end(self) -> None:
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGINT)
        self._child.wait()


def _is_traced(pid: int) -> bool:
    """Return True if every thread of the process has a tracer."""
    tasks = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 (thousands of threads: names are cheaper than paths)
    statuses = [read_text(f"/proc/{pid}/task/{task}/status") for task in tasks]
    return all("TracerPid:\t0\n" not in status for status in statuses if status)
