"""Everything a session reads off a server and the machine it runs on."""

from __future__ import annotations

import time
import urllib.parse
from typing import Protocol

import psutil

from zoo.catalog.manifest import Entry
from zoo.host.cgroup import levels
from zoo.host.facts import gather, read_limits
from zoo.model.errors import RuntimeFailure
from zoo.model.host import HostFacts, Limits
from zoo.model.samples import Noise, Samples
from zoo.sample import jcmd, net
from zoo.sample.cgroup import CgroupUse
from zoo.sample.diag import closed_on, established_on, unclosed_on
from zoo.sample.net import TcpCounters
from zoo.sample.noise import NoiseProbe, canary
from zoo.sample.proc import Snapshot, reset_peak, snapshot
from zoo.sample.requests import (
    Info,
    InfoError,
    Link,
    Response,
    fetch_info,
    hello_fault,
    link,
    model_fault,
    responses,
    seconds_a_round,
)
from zoo.sample.sampler import Sampler

HZ = 5.0
CONTRACT_S = 5.0
LOOK_S = 2.0
"""How long a server may take to answer, when it is probed, and under load."""


READINGS = {
    *("hello_fault", "fetch_info", "fetch_responses", "snapshot", "count_anew", "counters", "cgroup"),
    *("established", "unclosed", "closed", "settle_sockets", "canary", "available_kb", "seconds_a_round"),
    *("limits", "facts", "link", "clock", "cpu_s"),
}
"""The methods of `Instruments` whose arguments and values JSON can carry, so that an agent can be asked for them."""


class Recording(Protocol):
    """A sampler that is running."""

    def stop(self) -> Samples: ...


class NoiseRecording(Protocol):
    """A noise probe that is running."""

    def stop(
        self, server_cpu_s: float | None = 0.0, generator_cpu_s: float = 0.0, runnable: float | None = None
    ) -> Noise: ...


class Instruments:
    """Readings of a server and its machine, taken on this host, in this process's network namespace.

    `sampler` says where a process is read: `host` or `agent`. Readings of a process raise ProcessLookupError when it
    has ended; its snapshot is None where it is not known. Counts of sockets are None where they cannot be counted.
    """

    sampler = "host"

    def __init__(self, hz: float = HZ, patience: float = 1.0) -> None:
        """A server on a slow machine is given `patience` times as long to answer."""
        self._hz = hz
        self._patience = patience

    def probe(self, url: str, entry: Entry) -> Info:
        """Check body, headers and thread model; `RuntimeFailure` of kind `contract` when they are not as promised."""
        fault = self.hello_fault(url, CONTRACT_S * self._patience)
        if fault is None:
            try:
                info = self.fetch_info(url, CONTRACT_S * self._patience)
            except InfoError as error:
                fault = str(error)
            else:
                fault = model_fault(info, entry)
                if fault is None:
                    return info
        raise RuntimeFailure("contract", f"contract probe: {fault}")

    def info(self, url: str) -> Info | None:
        try:
            return self.fetch_info(url, LOOK_S * self._patience)
        except InfoError:
            return None

    def answers(self, url: str) -> bool:
        """True when the server has time for a request, false when a queue keeps it busy."""
        return self.hello_fault(url, LOOK_S * self._patience) is None

    def responses(self, url: str, count: int) -> list[Response]:
        """Responses to the request that the generators send; fewer where one does not come."""
        return self.fetch_responses(url, count, CONTRACT_S * self._patience)

    def hello_fault(self, url: str, timeout_s: float) -> str | None:
        return hello_fault(url, timeout_s)

    def fetch_info(self, url: str, timeout_s: float) -> Info:
        return fetch_info(url, timeout_s)

    def fetch_responses(self, url: str, count: int, timeout_s: float) -> list[Response]:
        return responses(url, count, timeout_s)

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        seen = snapshot(pid, deep)
        return (
            seen.model_copy(update={**jcmd.read_native_memory(pid), "lock_waits": jcmd.read_lock_waits(pid)})
            if deep
            else seen
        )

    def count_anew(self, pid: int) -> bool:
        """Reset the peak of a process's memory and its waits for locks; False where the peak cannot be."""
        jcmd.count_lock_waits(pid)
        return reset_peak(pid)

    def sample(self, pid: int) -> Recording:
        return Sampler(pid, self._hz).start()

    def noise(self, pid: int | None = None) -> NoiseRecording:
        """Begin to record what else the machine does; `pid` is a server whose CPU quotas count too."""
        return NoiseProbe(levels("cpu", pid)).start()

    def counters(self, pid: int) -> TcpCounters | None:
        return net.counters(pid)

    def cgroup(self, pid: int) -> CgroupUse | None:
        """What the control group of a container used; None where the server is in no group of its own."""
        return None

    def established(self, url: str) -> int | None:
        """Connections that the server has open now."""
        return established_on(_port(url))

    def unclosed(self, url: str) -> int | None:
        """These, and those that only the client has closed."""
        return unclosed_on(_port(url))

    def closed(self, url: str) -> int | None:
        """Connections that the server closed in the last minute."""
        return closed_on(_port(url))

    def settle_sockets(self, wait: bool) -> int | None:
        """Sockets in TIME_WAIT now, after waiting for them to go where that is asked."""
        return net.wait_for_lingering().sockets if wait else net.lingering()

    def canary(self) -> float:
        return canary()

    def available_kb(self) -> int:
        """Memory that can still be taken without swapping."""
        return int(psutil.virtual_memory().available) // 1024

    def seconds_a_round(self, url: str) -> float:
        """What a round of `/cpu` costs an idle server."""
        return seconds_a_round(url)

    def limits(self) -> Limits:
        return read_limits()

    def facts(self) -> HostFacts:
        return gather()

    def link(self, url: str) -> Link:
        return link(url)

    def clock(self) -> float:
        """Monotonic time in seconds; the starting point is arbitrary."""
        return time.monotonic()

    def cpu_s(self) -> float:
        """CPU time of the process that takes the readings."""
        return time.process_time()


def _port(url: str) -> int:
    return urllib.parse.urlsplit(url).port or 80


def known(seen: Snapshot | None) -> Snapshot:
    """Of a server that the zoo started, as all are in scenarios that a target cannot take part in."""
    if seen is None:
        raise RuntimeFailure("no_process", "the server's process is not known")
    return seen
