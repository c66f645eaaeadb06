"""A thread that records at low cost what a process uses while a cell runs."""

import re
import threading
import time
from typing import Any, NamedTuple

from zoo.core.samples import Samples, Switches
from zoo.host.files import read_text
from zoo.sample.net import parse_established, parse_sockstat
from zoo.sample.proc import PROC, tree, usage
from zoo.sample.switches import SwitchReader

# Interval of the search for child processes, which is long because it reads every process of the host.
CHILDREN_EVERY_S = 10.0


class SampleRow(NamedTuple):
    """One sample; its fields are the columns of `Samples`."""

    rss_kb: int
    cpu_s: float
    threads: int
    established: int | None = None
    tcp_mem_kb: int | None = None
    runnable: int | None = None


def parse_runnable(loadavg: str) -> int | None:
    """Return the number of runnable tasks without the reader itself: `1.23 1.57 0.76 3/93 8023` -> 2."""
    found = re.match(r"\S+ \S+ \S+ ([0-9]+)/[0-9]+", loadavg, re.ASCII)
    return max(0, int(found.group(1)) - 1) if found else None


class ProcessProbe:
    """A reader of a process tree and its network namespace through /proc."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._pids: list[int] = []
        self._children_at = -CHILDREN_EVERY_S
        self._switch_reader = SwitchReader()

    def row(self) -> SampleRow | None:
        """Return one sample; None if the process has ended."""
        self._find_children()
        used = {pid: usage(pid) for pid in self._pids}
        if used.get(self._pid) is None:
            return None
        alive = [one for one in used.values() if one is not None]
        sockets = parse_sockstat(read_text(f"{PROC}/{self._pid}/net/sockstat"))
        return SampleRow(
            rss_kb=sum(one.rss_kb for one in alive),
            cpu_s=sum(one.cpu_s for one in alive),
            threads=sum(one.threads for one in alive),
            established=parse_established(read_text(f"{PROC}/{self._pid}/net/snmp")),
            tcp_mem_kb=sockets.memory_kb if sockets else None,
            runnable=parse_runnable(read_text("/proc/loadavg")),
        )

    def read_switches(self, *, now: bool) -> None:
        """Count the context switches of all threads, either now or only if the interval has elapsed."""
        self._find_children()
        (self._switch_reader.read if now else self._switch_reader.read_if_due)(self._pids)

    def switches(self) -> Switches | None:
        """Return all context switches counted so far."""
        return self._switch_reader.total()

    def _find_children(self) -> None:
        now = time.monotonic()
        if now - self._children_at >= CHILDREN_EVERY_S:
            self._children_at, self._pids = now, tree(self._pid)


class Sampler:
    """A recording from `start` to `stop`, or until the process ends, which the samples then report."""

    def __init__(self, pid: int, hz: float = 5.0) -> None:
        if hz <= 0:
            raise ValueError("hz must be above 0")
        self._pid = pid
        self._hz = hz
        self._probe = ProcessProbe(pid)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._times: list[float] = []
        self._rows: list[SampleRow] = []
        self._vanished = False
        self._elapsed_s = 0.0
        self._own_cpu_s = 0.0
        self._switches: Switches | None = None

    def start(self) -> "Sampler":
        """Start recording; return after all threads have been read once."""
        self._probe.read_switches(now=True)
        self._thread.start()
        return self

    def stop(self) -> Samples:
        """Stop and return the recording. A second call returns the same recording."""
        self._done.set()
        self._thread.join()
        columns: dict[str, list[Any]] = {n: [getattr(row, n) for row in self._rows] for n in SampleRow._fields}
        return Samples(
            hz=self._hz,
            elapsed_s=self._elapsed_s,
            own_cpu_s=self._own_cpu_s,
            vanished=self._vanished,
            t=[round(at, 4) for at in self._times],
            switches=self._switches,
            **columns,
        )

    def _run(self) -> None:
        started, cpu = time.monotonic(), time.thread_time()
        self._record(started)
        self._elapsed_s = time.monotonic() - started
        self._own_cpu_s = time.thread_time() - cpu
        self._probe.read_switches(now=True)
        self._switches = self._probe.switches()

    def _record(self, started: float) -> None:
        """Take samples at multiples of 1/hz after the start; a late sample skips steps instead of causing a burst."""
        step = 1.0 / self._hz
        while True:
            at = time.monotonic() - started
            row = self._probe.row()
            if row is None:
                self._vanished = True
                return
            self._times.append(at)
            self._rows.append(row)
            self._probe.read_switches(now=False)
            now = time.monotonic() - started
            if self._done.wait(step - now % step):
                return
