"""Everything a session reads off the world, behind one protocol that tests replace."""

from __future__ import annotations

import http.client
import socket
import subprocess
import time
import urllib.parse
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Protocol

from zoo.catalog import Entry, Model
from zoo.host.limits import Feasible, Limits
from zoo.records import Condition
from zoo.runtime.base import RuntimeFailure
from zoo.sample import net
from zoo.sample.diag import established_on
from zoo.sample.jvm import Info, InfoError, fetch_info
from zoo.sample.net import TcpCounters
from zoo.sample.noise import Noise, NoiseProbe, canary
from zoo.sample.proc import Snapshot, reset_peak, snapshot
from zoo.sample.sampler import Sampler
from zoo.sample.samples import Samples

BODY = b"Hello, World!"
DATE_SLACK_S = 5.0


class Recording(Protocol):
    """A sampler that is running."""

    def stop(self) -> Samples: ...


class NoiseRecording(Protocol):
    """A noise probe that is running."""

    def stop(
        self,
        server_cpu_s: float = 0.0,
        generator_cpu_s: float = 0.0,
        harness_cpu_s: float | None = None,
        runnable: float | None = None,
    ) -> Noise: ...


class Instruments(Protocol):
    """What a session asks of the world besides servers and load."""

    def feasible(self, connections: int) -> Feasible: ...
    def free_port(self, preferred: int) -> int: ...
    def probe(self, url: str, entry: Entry, condition: Condition) -> Info:
        """Check body, headers and thread model; `RuntimeFailure` of kind `contract` when they are not as promised."""
        ...

    def info(self, url: str) -> Info | None: ...
    def answers(self, url: str) -> bool:
        """True when the server has time for a request, false when a queue keeps it busy."""
        ...

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot: ...
    def reset_peak(self, pid: int) -> bool: ...
    def sample(self, pid: int) -> Recording: ...
    def noise(self) -> NoiseRecording: ...
    def counters(self, pid: int) -> TcpCounters | None: ...
    def established(self, url: str) -> int | None:
        """Connections that the server has open now; None where they cannot be counted."""
        ...

    def settle_sockets(self, wait: bool) -> int | None:
        """Sockets in TIME_WAIT now, after waiting for them to go where that is asked."""
        ...

    def canary(self) -> float: ...
    def rest(self, seconds: float) -> None: ...
    def now(self) -> str: ...
    def thread_dump(self, pid: int, to: Path) -> bool: ...


class RealInstruments:
    """This machine."""

    def __init__(self, limits: Limits, jdk_home: Path | None, hz: float = 5.0) -> None:
        self._limits = limits
        self._jdk_home = jdk_home
        self._hz = hz

    def feasible(self, connections: int) -> Feasible:
        return self._limits.feasible(connections)

    def free_port(self, preferred: int) -> int:
        """The server's own port, else the next free one below the range of outgoing connections."""
        low, _ = self._limits.ports or (32768, 60999)
        candidates: list[int] = [preferred, *range(preferred + 1000, low)]
        for port in candidates:
            if _is_free(port):
                return port
        raise RuntimeFailure("no_port", f"no free port from {preferred} to {low}")

    def probe(self, url: str, entry: Entry, condition: Condition) -> Info:
        fault = _hello_fault(url)
        if fault:
            raise RuntimeFailure("contract", f"contract probe: {fault}")
        try:
            info = fetch_info(url)
        except InfoError as error:
            raise RuntimeFailure("contract", f"contract probe: {error}") from error
        fault = _model_fault(info, entry)
        if fault:
            raise RuntimeFailure("contract", f"contract probe: {fault}")
        return info

    def info(self, url: str) -> Info | None:
        try:
            return fetch_info(url, timeout=2.0)
        except InfoError:
            return None

    def answers(self, url: str) -> bool:
        return _hello_fault(url, timeout_s=2.0) is None

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot:
        return snapshot(pid, deep)

    def reset_peak(self, pid: int) -> bool:
        return reset_peak(pid)

    def sample(self, pid: int) -> Recording:
        return Sampler(pid, self._hz).start()

    def noise(self) -> NoiseRecording:
        return NoiseProbe().start()

    def counters(self, pid: int) -> TcpCounters | None:
        return net.counters(pid)

    def established(self, url: str) -> int | None:
        return established_on(urllib.parse.urlsplit(url).port or 80)

    def settle_sockets(self, wait: bool) -> int | None:
        return net.wait_for_lingering().sockets if wait else net.lingering()

    def canary(self) -> float:
        return canary()

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> str:
        return datetime.now(UTC).isoformat(timespec="seconds")

    def thread_dump(self, pid: int, to: Path) -> bool:
        """Have a JVM write all its threads, virtual ones too; false where that does not work."""
        if self._jdk_home is None:
            return False
        command = [str(self._jdk_home / "bin" / "jcmd"), str(pid), "Thread.dump_to_file", "-format=json", str(to)]
        try:
            return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _hello_fault(url: str, timeout_s: float = 5.0) -> str | None:
    """What is wrong with the answer to `GET /`; None when it is the contract's."""
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"GET / gave no answer ({error or type(error).__name__})"
    finally:
        connection.close()
    if answer.status != 200 or body != BODY:
        return f"GET / answered {answer.status} with {body[:40]!r}, expected 200 with {BODY!r}"
    for name, expected in (("Content-Type", "text/plain;charset=utf-8"), ("Content-Length", str(len(BODY)))):
        if answer.getheader(name) != expected:
            return f"GET / has {name}: {answer.getheader(name)}, expected {expected}"
    return _date_fault(answer.getheader("Date"))


def _date_fault(date: str | None) -> str | None:
    try:
        age = abs((datetime.now(UTC) - parsedate_to_datetime(date or "")).total_seconds())
    except (TypeError, ValueError):
        return f"GET / has Date: {date}, expected the time now"
    return f"GET / has a Date {age:.0f} s away from now" if age > DATE_SLACK_S else None


def _model_fault(info: Info, entry: Entry) -> str | None:
    model = entry.variant.model
    if (info.server, info.variant, info.model) != (entry.server.name, entry.variant.name, model):
        return f"/info says {info.server}:{info.variant} ({info.model}), expected {entry.id} ({model})"
    if info.virtual != (model is Model.VIRTUAL_THREAD):
        return f"/info ran on thread {info.thread!r} (virtual: {info.virtual}), which is not what {entry.id} claims"
    return None
