"""Everything a session reads off a server and the machine it runs on, behind one protocol."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable
from typing import Protocol

import psutil

from zoo.catalog.manifest import Entry
from zoo.host.cgroup import levels
from zoo.model.errors import RuntimeFailure
from zoo.model.noise import Noise
from zoo.model.samples import Samples
from zoo.sample import lock_waits, net, nmt
from zoo.sample.cgroup import CgroupUse
from zoo.sample.contract_probe import hello_fault, model_fault
from zoo.sample.cpu_work import seconds_a_round
from zoo.sample.diag import closed_on, established_on, unclosed_on
from zoo.sample.jvm import Info, InfoError, fetch_info
from zoo.sample.net import TcpCounters
from zoo.sample.noise import NoiseProbe, canary
from zoo.sample.proc import Snapshot, reset_peak, snapshot
from zoo.sample.response import Response, responses
from zoo.sample.sampler import Sampler

HZ = 5.0


class Recording(Protocol):
    """A sampler that is running."""

    def stop(self) -> Samples: ...


class NoiseRecording(Protocol):
    """A noise probe that is running."""

    def stop(
        self, server_cpu_s: float | None = 0.0, generator_cpu_s: float = 0.0, runnable: float | None = None
    ) -> Noise: ...


class Instruments(Protocol):
    """What can be read off a hosted server from where it runs; `sampler` says from where: `host` or `agent`.

    Readings of a process raise ProcessLookupError when it has ended; its snapshot is None where it is not known.
    """

    @property
    def sampler(self) -> str: ...
    def probe(self, url: str, entry: Entry) -> Info:
        """Check body, headers and thread model; `RuntimeFailure` of kind `contract` when they are not as promised."""
        ...

    def info(self, url: str) -> Info | None: ...
    def answers(self, url: str) -> bool:
        """True when the server has time for a request, false when a queue keeps it busy."""
        ...

    def responses(self, url: str, count: int) -> list[Response]:
        """Responses to the request that the generators send; fewer where one does not come."""
        ...

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None: ...
    def count_anew(self, pid: int) -> bool:
        """What is counted of a process since some moment, is so from now on: the peak of its memory, and waits for
        locks; False where the peak cannot be."""
        ...

    def sample(self, pid: int) -> Recording: ...
    def noise(self, pid: int | None = None) -> NoiseRecording:
        """Begin to record what else the machine does; `pid` is a server whose CPU quotas count too."""
        ...

    def counters(self, pid: int) -> TcpCounters | None: ...
    def cgroup(self, pid: int) -> CgroupUse | None:
        """What the control group of a container used; None where the server is in no group of its own."""
        ...

    def established(self, url: str) -> int | None:
        """Connections that the server has open now; None where they cannot be counted."""
        ...

    def unclosed(self, url: str) -> int | None:
        """These, and those that only the client has closed."""
        ...

    def closed(self, url: str) -> int | None:
        """Connections that the server closed in the last minute; None where they cannot be counted."""
        ...

    def settle_sockets(self, wait: bool) -> int | None:
        """Sockets in TIME_WAIT now, after waiting for them to go where that is asked."""
        ...

    def canary(self) -> float: ...
    def available_kb(self) -> int:
        """Memory that can still be taken without swapping."""
        ...

    def seconds_a_round(self, url: str) -> float:
        """What a round of `/cpu` costs an idle server."""
        ...


class LocalInstruments:
    """For a process on this host, in this process's network namespace."""

    sampler = "host"

    def __init__(self, hz: float = HZ) -> None:
        self._hz = hz

    def probe(self, url: str, entry: Entry) -> Info:
        return checked(hello_fault(url), lambda: fetch_info(url), entry)

    def info(self, url: str) -> Info | None:
        try:
            return fetch_info(url, timeout=2.0)
        except InfoError:
            return None

    def answers(self, url: str) -> bool:
        return hello_fault(url, timeout_s=2.0) is None

    def responses(self, url: str, count: int) -> list[Response]:
        return responses(url, count)

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        seen = snapshot(pid, deep)
        if seen is None or not deep:
            return seen
        return seen.model_copy(update={**nmt.told(pid), "lock_waits": lock_waits.counted(pid)})

    def count_anew(self, pid: int) -> bool:
        lock_waits.begin(pid)
        return reset_peak(pid)

    def sample(self, pid: int) -> Recording:
        return Sampler(pid, self._hz).start()

    def noise(self, pid: int | None = None) -> NoiseRecording:
        return NoiseProbe(levels("cpu", pid)).start()

    def counters(self, pid: int) -> TcpCounters | None:
        return net.counters(pid)

    def cgroup(self, pid: int) -> CgroupUse | None:
        return None

    def established(self, url: str) -> int | None:
        return established_on(_port(url))

    def unclosed(self, url: str) -> int | None:
        return unclosed_on(_port(url))

    def closed(self, url: str) -> int | None:
        return closed_on(_port(url))

    def settle_sockets(self, wait: bool) -> int | None:
        return net.wait_for_lingering().sockets if wait else net.lingering()

    def canary(self) -> float:
        return canary()

    def available_kb(self) -> int:
        return int(psutil.virtual_memory().available) // 1024

    def seconds_a_round(self, url: str) -> float:
        return seconds_a_round(url)


def _port(url: str) -> int:
    return urllib.parse.urlsplit(url).port or 80


def known(seen: Snapshot | None) -> Snapshot:
    """Of a server that the zoo started, as all are in scenarios that a target cannot take part in."""
    if seen is None:
        raise RuntimeFailure("no_process", "the server's process is not known")
    return seen


def checked(fault: str | None, fetch: Callable[[], Info], entry: Entry) -> Info:
    """What the server says of itself, when neither that nor its first answer breaks the contract."""
    if fault is None:
        try:
            info = fetch()
        except InfoError as error:
            fault = str(error)
        else:
            fault = model_fault(info, entry)
            if fault is None:
                return info
    raise RuntimeFailure("contract", f"contract probe: {fault}")
