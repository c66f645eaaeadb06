"""A thread that records what a process uses while a cell runs, cheaply."""

import os
import re
import threading
import time
from dataclasses import dataclass

from zoo.model.samples import Samples, Switches
from zoo.sample.net import parse_established, parse_sockstat
from zoo.sample.proc import DEAD, PROC, TICKS, parse_stat, parse_statm, tree
from zoo.sample.switches import Watcher

# Children are looked for this often: it means reading every process of the host.
CHILDREN_EVERY_S = 10.0


@dataclass(frozen=True)
class SampleRow:
    """One sample."""

    rss_kb: int
    cpu_s: float
    threads: int
    established: int | None = None
    tcp_mem_kb: int | None = None
    runnable: int | None = None


def parse_runnable(loadavg: str) -> int | None:
    """`1.23 1.57 0.76 3/93 8023` -> 2: the reader runs too and is left out."""
    found = re.match(r"\S+ \S+ \S+ ([0-9]+)/[0-9]+", loadavg, re.ASCII)
    return max(0, int(found.group(1)) - 1) if found else None


class File:
    """A file of /proc kept open: reading it again at 0 gives its content anew."""

    def __init__(self, path: str) -> None:
        try:
            self._handle: int | None = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._handle = None

    def read(self) -> str:
        """Empty when the process is gone."""
        if self._handle is None:
            return ""
        try:
            return os.pread(self._handle, 16_384, 0).decode("ascii", "replace")
        except OSError:
            return ""

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


class Member:
    """One process of the tree."""

    def __init__(self, pid: int) -> None:
        self._stat = File(f"{PROC}/{pid}/stat")
        self._statm = File(f"{PROC}/{pid}/statm")

    def row(self) -> SampleRow | None:
        """None when it has ended, waited for or not."""
        stat, rss_kb = parse_stat(self._stat.read()), parse_statm(self._statm.read())
        if stat is None or rss_kb is None or stat.state in DEAD:
            return None
        return SampleRow(rss_kb, stat.cpu_ticks / TICKS, stat.threads)

    def close(self) -> None:
        self._stat.close()
        self._statm.close()


class ProcessProbe:
    """Reads a process tree and its network namespace from /proc."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._members: dict[int, Member] = {}
        self._snmp = File(f"{PROC}/{pid}/net/snmp")
        self._sockstat = File(f"{PROC}/{pid}/net/sockstat")
        self._loadavg = File("/proc/loadavg")
        self._looked = -CHILDREN_EVERY_S
        self._watcher = Watcher()

    def row(self) -> SampleRow | None:
        """None when the process has ended."""
        self._look_for_children()
        rows = {pid: member.row() for pid, member in self._members.items()}
        if rows.get(self._pid) is None:
            return None
        alive = [row for row in rows.values() if row is not None]
        sockets = parse_sockstat(self._sockstat.read())
        return SampleRow(
            rss_kb=sum(row.rss_kb for row in alive),
            cpu_s=sum(row.cpu_s for row in alive),
            threads=sum(row.threads for row in alive),
            established=parse_established(self._snmp.read()),
            tcp_mem_kb=sockets.memory_kb if sockets else None,
            runnable=parse_runnable(self._loadavg.read()),
        )

    def watch(self, *, now: bool) -> None:
        """Count the context switches of all threads; unless now, only when it is time to."""
        self._look_for_children()
        (self._watcher.look if now else self._watcher.look_if_due)(self._members)

    def switches(self) -> Switches | None:
        """All that were counted."""
        return self._watcher.total()

    def close(self) -> None:
        for member in self._members.values():
            member.close()
        for file in (self._snmp, self._sockstat, self._loadavg):
            file.close()

    def _look_for_children(self) -> None:
        now = time.monotonic()
        if now - self._looked < CHILDREN_EVERY_S:
            return
        self._looked = now
        present = tree(self._pid)
        for pid in set(present).difference(self._members):
            self._members[pid] = Member(pid)
        for pid in set(self._members).difference(present):
            self._members.pop(pid).close()


class Sampler:
    """Records from `start` to `stop`, or until the process ends, which the samples then say."""

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
        """Returns when all threads have been looked at once."""
        self._probe.watch(now=True)
        self._thread.start()
        return self

    def stop(self) -> Samples:
        """Ends the recording and gives it. May be called again."""
        self._done.set()
        self._thread.join()
        return Samples(
            hz=self._hz,
            elapsed_s=self._elapsed_s,
            own_cpu_s=self._own_cpu_s,
            vanished=self._vanished,
            t=[round(at, 4) for at in self._times],
            rss_kb=[row.rss_kb for row in self._rows],
            cpu_s=[row.cpu_s for row in self._rows],
            threads=[row.threads for row in self._rows],
            established=[row.established for row in self._rows],
            tcp_mem_kb=[row.tcp_mem_kb for row in self._rows],
            runnable=[row.runnable for row in self._rows],
            switches=self._switches,
        )

    def _run(self) -> None:
        started, cpu = time.monotonic(), time.thread_time()
        try:
            self._record(started)
            self._elapsed_s = time.monotonic() - started
            self._own_cpu_s = time.thread_time() - cpu
            self._probe.watch(now=True)
            self._switches = self._probe.switches()
        finally:
            self._probe.close()

    def _record(self, started: float) -> None:
        """At whole steps of 1/hz after the start; a late sample skips steps instead of bunching up."""
        step = 1.0 / self._hz
        while True:
            at = time.monotonic() - started
            row = self._probe.row()
            if row is None:
                self._vanished = True
                return
            self._times.append(at)
            self._rows.append(row)
            self._probe.watch(now=False)
            now = time.monotonic() - started
            if self._done.wait(step - now % step):
                return
