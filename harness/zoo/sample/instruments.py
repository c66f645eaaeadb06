"""All readings that a session takes of a server and its machine."""

from __future__ import annotations

import time
import urllib.parse
from typing import Protocol

import psutil

from zoo.core.errors import RuntimeFailure
from zoo.core.manifest import Entry
from zoo.core.measurement import ContainerUse, TaskLimit
from zoo.core.samples import Noise, Samples, ThreadTimes
from zoo.host.cgroup import group_folders
from zoo.host.facts import gather, read_limits
from zoo.host.network import is_loopback_only
from zoo.sample import cgroup as cgroups
from zoo.sample import jcmd, net, requests
from zoo.sample import noise as noises
from zoo.sample.diag import ESTABLISHED, UNCLOSED, count_closed, count_sockets
from zoo.sample.peak_memory import reset_peak
from zoo.sample.proc import Snapshot, snapshot
from zoo.sample.requests import Info, InfoError, Response
from zoo.sample.run_queue import thread_times
from zoo.sample.sampler import Sampler

HZ = 5.0
PROBE_TIMEOUT_S = 5.0
LOADED_TIMEOUT_S = 2.0
"""Maximum response times in seconds: for a probe, and under load."""


READINGS = {
    *("hello_fault", "fetch_info", "fetch_responses", "snapshot", "reset_counters", "counters", "cgroup", "task_limit"),
    "thread_times",
    *(
        "count_connections",
        "count_closed",
        "has_own_network",
        "settle_sockets",
        "canary",
        "available_kb",
        "seconds_per_round",
    ),
    *("limits", "facts", "link", "clock", "cpu_s"),
}
"""The methods of `Instruments` whose arguments and results fit into JSON, so that an agent can execute them."""


class Recording(Protocol):
    """A running sampler."""

    def stop(self) -> Samples: ...


class NoiseRecording(Protocol):
    """A running noise probe."""

    def stop(self, known_cpu_s: float | None = 0.0, runnable: float | None = None, /) -> Noise:
        """Stop and return the noise.

        `known_cpu_s` is the CPU time that the server and the generator used meanwhile, or None if unknown.
        """
        ...


class Instruments:
    """Readings of a server and its machine, taken on this host, in this process's network namespace.

    `sampler` says where a process is read: `host` or `agent`. Readings of a process raise ProcessLookupError if it has
    ended; its snapshot is None if the process is not known. Socket counts are None if the sockets cannot be counted.
    """

    sampler = "host"

    hello_fault = staticmethod(requests.hello_fault)
    fetch_info = staticmethod(requests.fetch_info)
    fetch_responses = staticmethod(requests.responses)
    link = staticmethod(requests.link)
    canary = staticmethod(noises.canary)
    has_own_network = staticmethod(is_loopback_only)
    limits = staticmethod(read_limits)
    facts = staticmethod(gather)

    def __init__(self, hz: float = HZ, patience: float = 1.0) -> None:
        """Multiply the permitted response times by `patience`, for servers on a slow machine."""
        self._hz = hz
        self._patience = patience

    def probe(self, url: str, entry: Entry) -> Info:
        """Check body, headers and thread model; raise `RuntimeFailure` of kind `contract` if one is wrong."""
        fault = self.hello_fault(url, PROBE_TIMEOUT_S * self._patience)
        if fault is None:
            try:
                info = self.fetch_info(url, PROBE_TIMEOUT_S * self._patience)
            except InfoError as error:
                fault = str(error)
            else:
                fault = requests.model_fault(info, entry)
                if fault is None:
                    return info
        raise RuntimeFailure("contract", f"contract probe: {fault}")

    def info(self, url: str) -> Info | None:
        try:
            return self.fetch_info(url, LOADED_TIMEOUT_S * self._patience)
        except InfoError:
            return None

    def is_responsive(self, url: str) -> bool:
        """Return True if the server has time for a request, and False if a queue keeps it busy."""
        return self.hello_fault(url, LOADED_TIMEOUT_S * self._patience) is None

    def responses(self, url: str, count: int) -> list[Response]:
        """Return `count` responses to the request that the generators send, or fewer if one does not arrive."""
        return self.fetch_responses(url, count, PROBE_TIMEOUT_S * self._patience)

    def clock(self) -> float:
        """Return the monotonic time in seconds; the starting point is arbitrary."""
        return time.monotonic()

    def cpu_s(self) -> float:
        """Return the CPU time of the process that takes the readings, in seconds."""
        return time.process_time()

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        seen = snapshot(pid, deep)
        by_jcmd = {**jcmd.read_native_memory(pid), "lock_waits": jcmd.read_lock_waits(pid)} if deep else {}
        return seen.model_copy(update=by_jcmd)

    def reset_counters(self, pid: int) -> bool:
        """Reset a process's peak memory and its count of lock waits; return False if the peak cannot be reset."""
        jcmd.count_lock_waits(pid)
        return reset_peak(pid)

    def thread_times(self, pid: int) -> list[ThreadTimes]:
        """Return the CPU time and run-queue wait of each thread; empty if the kernel does not provide them."""
        return thread_times(pid)

    def sample(self, pid: int) -> Recording:
        return Sampler(pid, self._hz).start()

    def noise(self, pid: int | None = None) -> NoiseRecording:
        """Start recording the machine's other work; the CPU quotas of the server `pid` are included."""
        return noises.NoiseProbe(group_folders("cpu", pid))

    def counters(self, pid: int) -> net.TcpCounters | None:
        return net.read_counters(pid)

    def task_limit(self, pid: int) -> TaskLimit | None:
        """Return the lowest limit of threads among the server's control groups; None if they set none."""
        return cgroups.task_limit(pid)

    def cgroup(self, pid: int) -> ContainerUse | None:
        """Return what the control group of a container used; None if the server has no control group of its own."""
        return None

    def count_established(self, url: str) -> int | None:
        """Return the number of connections that the server has open now."""
        return self.count_connections(url, ESTABLISHED)

    def count_unclosed(self, url: str) -> int | None:
        """Return the number of open connections, including those that only the client has closed."""
        return self.count_connections(url, UNCLOSED)

    def count_closed(self, url: str, oldest_s: float, newest_s: float) -> int | None:
        """Return how many connections ended between so many seconds ago, at most a minute."""
        return count_closed(_port(url), oldest_s, newest_s)

    def count_connections(self, url: str, states: int) -> int | None:
        return count_sockets(_port(url), states)

    def settle_sockets(self, wait: bool) -> int | None:
        """Return the number of sockets in TIME_WAIT; if `wait`, first wait until only few are left."""
        return net.wait_for_lingering() if wait else net.count_lingering()

    def seconds_per_round(self, url: str) -> float:
        """Return the seconds that one round of `/cpu` takes on an idle server."""
        return requests.seconds_per_round(url)

    def available_kb(self) -> int:
        """Return the memory in kB that is available without swapping."""
        return int(psutil.virtual_memory().available) // 1024


def _port(url: str) -> int:
    return urllib.parse.urlsplit(url).port or 80


def require_process(seen: Snapshot | None) -> Snapshot:
    """Return a snapshot that must not be None; raise `RuntimeFailure` otherwise.

    For servers that the harness started: all servers are, in scenarios that exclude external targets.
    """
    if seen is None:
        raise RuntimeFailure("no_process", "the server's process is unknown")
    return seen
