"""A server that something else started: asked and read, never started or stopped."""

from __future__ import annotations

import http.client
import ipaddress
import os
import socket
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from zoo.load.ab import Benchmarker, LocalAb
from zoo.load.base import Generator
from zoo.load.vegeta import Attacker, LocalVegeta
from zoo.load.wrk import Wrk
from zoo.model.condition import Condition
from zoo.model.errors import RuntimeFailure
from zoo.model.run import Target
from zoo.model.samples import Samples
from zoo.runtime.target_url import TargetError, home, origin
from zoo.sample import net
from zoo.sample.instruments import LocalInstruments, NoiseRecording, Recording
from zoo.sample.jvm import Info
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot, snapshot, tree
from zoo.scenarios import SCENARIOS

ANSWER_S = 5.0
SLEEP_MS = 200


class HostedTarget:
    """Where to send and what to read; it has no log that the harness knows."""

    ready_s = None
    apart = None

    def __init__(self, target: Target) -> None:
        self._target = target
        self.url = origin(target.url)
        self.home = home(target.url)
        self.pid = target.pid or 0
        self.instruments = TargetInstruments(target)
        self.generator: Generator = Wrk()
        self.attacker: Attacker = LocalVegeta()
        self.benchmarker: Benchmarker = LocalAb()

    def probe(self) -> Info | None:
        """What `/info` says, where it is the contract's; a server need not have one."""
        fault = answer_fault(self._target.url)
        if fault is not None:
            raise RuntimeFailure("contract", fault)
        return self.instruments.info(self.url)

    def alive(self) -> bool:
        if not self.pid:
            return _listens(self.url)
        try:
            snapshot(self.pid)
        except ProcessLookupError:
            return False
        return True

    def ended(self, when: str) -> RuntimeFailure:
        return RuntimeFailure("crashed", f"the server ended {when}")

    def log_tail(self, lines: int = 20) -> str:
        return ""

    def thread_dump(self, to: Path) -> bool:
        return False

    def stop(self, grace_s: float = 15.0) -> int | None:
        """Whoever started it stops it."""
        return 0


class TargetInstruments(LocalInstruments):
    """Without a process only the host is read; the sockets of another machine or network namespace are not counted."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target
        self._pid = target.pid
        self._here = on_loopback(target.url) and (target.pid is None or _in_this_network(target.pid))

    def answers(self, url: str) -> bool:
        return answer_fault(self._target.url, timeout_s=2.0) is None

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        return None if self._pid is None else snapshot(self._pid, deep)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        return super().noise(self._pid)

    def sample(self, pid: int) -> Recording:
        return _TargetRecording(
            super().sample(self._pid or os.getpid()), process=self._pid is not None, here=self._here
        )

    def counters(self, pid: int) -> TcpCounters | None:
        return net.counters(os.getpid()) if self._here else None

    def established(self, url: str) -> int | None:
        return super().established(url) if self._here else None

    def unclosed(self, url: str) -> int | None:
        return super().unclosed(url) if self._here else None


class _TargetRecording:
    """The host's columns are read through a process in its network: through this one where the server's is unknown."""

    def __init__(self, recording: Recording, *, process: bool, here: bool) -> None:
        self._recording = recording
        self._process = process
        self._here = here

    def stop(self) -> Samples:
        seen = self._recording.stop()
        unknown: dict[str, list[None] | None] = {}
        if not self._process:
            unknown |= {"rss_kb": [], "cpu_s": [], "threads": [], "switches": None}
        if not self._here:
            unknown |= {"established": [None] * len(seen.t), "tcp_mem_kb": [None] * len(seen.t)}
        return seen.model_copy(update=unknown)


def condition(target: Target) -> Condition:
    """Under which a target is measured; what it was started with is not known."""
    return Condition(runtime="target", network="host" if on_loopback(target.url) else "remote")


def check(targets: Mapping[str, Target], scenarios: Sequence[str], *, remote: bool) -> None:
    """`TargetError` for a target that is not to be loaded, does not answer, or is another process than named."""
    for name, target in targets.items():
        local = on_loopback(target.url)
        if not local and not remote:
            raise TargetError(
                f"{target.url} is not on this machine's loopback; --remote (REMOTE=1) loads it all the same: "
                "only with the leave of whoever it belongs to"
            )
        fault = answer_fault(target.url)
        if fault is not None:
            raise TargetError(f"{name}: {fault}")
        if any(SCENARIOS[scenario].delay_s for scenario in scenarios):
            _check_sleep(name, origin(target.url))
        if target.pid is not None:
            _check_process(name, target, target.pid)


def answer_fault(url: str, timeout_s: float = ANSWER_S) -> str | None:
    """Why an answer cannot be measured: none came, or it is not 2xx."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)
    try:
        connection.request("GET", home(url))
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"GET {url} gave no answer ({error or type(error).__name__})"
    finally:
        connection.close()
    return None if 200 <= answer.status < 300 else f"GET {url} answered {answer.status}, expected 2xx"


def on_loopback(url: str) -> bool:
    """True when every address of its host is; `TargetError` for a host without one."""
    host = urllib.parse.urlsplit(url).hostname or ""
    try:
        found = {str(info[4][0]) for info in socket.getaddrinfo(host, None)}
    except OSError as error:
        raise TargetError(f"{url}: {error}") from None
    return all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in found)


def listening(url: str) -> set[int]:
    """The processes of this host that listen on the URL's port, as far as they can be seen."""
    if not on_loopback(url):
        return set()
    port = urllib.parse.urlsplit(url).port or 80
    found = psutil.net_connections("tcp")
    return {c.pid for c in found if c.pid and c.status == psutil.CONN_LISTEN and c.laddr and c.laddr.port == port}


def _check_sleep(name: str, server: str) -> None:
    """The contract's `/sleep`, which a target need not have."""
    began = time.monotonic()
    fault = answer_fault(f"{server}/sleep?ms={SLEEP_MS}")
    took_ms = (time.monotonic() - began) * 1000
    if fault is None and took_ms < SLEEP_MS:
        fault = f"GET /sleep?ms={SLEEP_MS} was answered after {took_ms:.0f} ms"
    if fault is not None:
        raise TargetError(f"{name} cannot take part in sleep: {fault}")


def _check_process(name: str, target: Target, pid: int) -> None:
    """In a network namespace of its own the process may listen on another port than is published here."""
    if not psutil.pid_exists(pid):
        raise TargetError(f"{name}: there is no process {pid}")
    known = listening(target.url)
    if _in_this_network(pid) and known and known.isdisjoint(tree(pid)):
        others = ", ".join(map(str, sorted(known)))
        raise TargetError(f"{name}: process {pid} does not listen there; {others} does")


def _in_this_network(pid: int) -> bool:
    """As far as this system tells."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino
    except OSError:
        return True


def _listens(url: str) -> bool:
    parts = urllib.parse.urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=2.0):
            return True
    except OSError:
        return False
