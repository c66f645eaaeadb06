"""A server that something else started: the harness checks, loads and observes it, but never starts or stops it."""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil

from zoo.core.condition import Condition
from zoo.core.entry_id import TARGET
from zoo.core.errors import RuntimeFailure, UserError
from zoo.core.run import Target
from zoo.core.samples import Samples
from zoo.core.scenario import SCENARIOS
from zoo.host import network
from zoo.host.files import read_text
from zoo.load.ab import Ab
from zoo.load.slow_readers import SlowReaders
from zoo.load.vegeta import Vegeta
from zoo.load.wrk import Wrk
from zoo.runtime.base import HostedServer
from zoo.sample import net
from zoo.sample.instruments import LOADED_TIMEOUT_S, Instruments, NoiseRecording, Recording
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot, snapshot, tree
from zoo.sample.requests import Info, Response, get, responses

PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class TargetError(UserError):
    """A target that cannot be measured; the message says why and what to do."""


def targets(urls: Sequence[str], pids: Sequence[int]) -> dict[str, Target]:
    """Return the targets by id, in the given order; the n-th pid belongs to the n-th URL."""
    if pids and len(pids) != len(urls):
        raise TargetError(
            f"each target needs its own PID, got {len(pids)} for {len(urls)} targets: give --pid as often as --target"
        )
    made: dict[str, Target] = {}
    for place, url in enumerate(urls):
        name = f"{TARGET}:{_port(url)}"
        if name in made:
            raise TargetError(
                f"two targets use port {_port(url)}, so their connections cannot be told apart: "
                "let one listen on another port"
            )
        made[name] = Target(url=quote(url, safe=PRINTABLE), pid=pids[place] if pids else None)
    return made


def _port(url: str) -> int:
    wanted = f'a target must be a URL such as http://127.0.0.1:9000/, got "{url}"'
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError:
        raise TargetError(wanted) from None
    if parts.scheme == "https":
        raise TargetError(
            f"{url}: https:// is not supported, because TLS is not measured; name a port that serves plain HTTP"
        )
    if not parts.netloc.isascii() or any(c.isspace() for c in parts.netloc):
        raise TargetError(f"{url}: the host is not ASCII; write it as xn--…")
    if parts.scheme != "http" or not parts.hostname or parts.username is not None or parts.fragment:
        raise TargetError(wanted)
    return port


ANSWER_S = 5.0
SLEEP_MS = 200


class Address:
    """The one address at which a target is loaded and observed; its URL's host is sent in the Host header."""

    def __init__(self, target: Target) -> None:
        parts = urlsplit(target.url)
        self.ip, self.port = resolve(target).address or "", parts.port or 80
        self.origin = f"http://{f'[{self.ip}]' if ':' in self.ip else self.ip}:{self.port}"
        self.path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.host = parts.netloc
        self.local = network.is_local(self.ip)

    def fault(self, path: str | None = None, timeout_s: float = ANSWER_S) -> str | None:
        """Return why the target cannot be measured: it sends no response, or not one with status 2xx.

        `path` replaces the path of the target.
        """
        path = path or self.path
        try:
            answer, _ = get(self.origin, path, timeout_s, self.host)
        except (OSError, http.client.HTTPException) as error:
            return f"GET {self.origin}{path} returned no response ({error or type(error).__name__})"
        return None if 200 <= answer.status < 300 else f"GET {path} returned {answer.status}, expected 2xx"


class HostedTarget(HostedServer):
    """A target as a hosted server; the harness has no log of it."""

    def __init__(self, target: Target) -> None:
        self._at = Address(target)
        self.url, self.home, self.pid = self._at.origin, self._at.path, target.pid or 0
        self.instruments = TargetInstruments(self._at, target.pid)
        self.generator = Wrk(options=(f"-HHost: {self._at.host}",))
        self.attacker, self.benchmarker = Vegeta(host=self._at.host), Ab(host=self._at.host)
        self.slow_readers = SlowReaders(host=self._at.host)

    def probe(self) -> Info | None:
        """Return `/info` if it matches the contract; a target need not have one.

        Raise `RuntimeFailure` if the target itself does not respond with status 2xx.
        """
        if fault := self._at.fault():
            raise RuntimeFailure("contract", fault)
        return self.instruments.info(self.url)

    def is_alive(self) -> bool:
        if not self.pid:
            return network.accepts_connections(self._at.ip, self._at.port)
        try:
            snapshot(self.pid)
        except ProcessLookupError:
            return False
        return True

    def stop(self, grace_s: float = 15.0) -> int | None:
        """Do nothing: whoever started the target stops it."""
        return 0


class TargetInstruments(Instruments):
    """Instruments for a target: without a pid they read only the host.

    Sockets of another machine or network namespace are not counted.
    """

    def __init__(self, at: Address, pid: int | None) -> None:
        super().__init__()
        self._at = at
        self._pid = pid
        self._here = at.local and (pid is None or _in_this_network(pid))

    def is_responsive(self, url: str) -> bool:
        return self._at.fault(timeout_s=LOADED_TIMEOUT_S) is None

    def responses(self, url: str, count: int) -> list[Response]:
        return responses(url, count, host=self._at.host)

    def snapshot(self, pid: int, deep: bool = False) -> Snapshot | None:
        return None if self._pid is None else snapshot(self._pid, deep)

    def noise(self, pid: int | None = None) -> NoiseRecording:
        return super().noise(self._pid)

    def sample(self, pid: int) -> Recording:
        return _TargetRecording(super().sample(self._pid or os.getpid()), self._pid is not None, self._here)

    def counters(self, pid: int) -> TcpCounters | None:
        return net.read_counters(os.getpid()) if self._here else None

    def count_connections(self, url: str, states: int) -> int | None:
        return super().count_connections(url, states) if self._here else None

    def count_closed(self, url: str, oldest_s: float, newest_s: float) -> int | None:
        return super().count_closed(url, oldest_s, newest_s) if self._here else None


@dataclass(frozen=True)
class _TargetRecording:
    """A recording of a target that leaves out unknown columns.

    The host's columns are read through a process in its network, which is this one if the server's pid is unknown.
    """

    recording: Recording
    has_process: bool
    is_here: bool

    def stop(self) -> Samples:
        seen = self.recording.stop()
        unknown: dict[str, list[None] | None] = {}
        if not self.has_process:
            unknown |= {"rss_kb": [], "cpu_s": [], "threads": [], "switches": None}
        if not self.is_here:
            unknown |= {"established": [None] * len(seen.t), "tcp_mem_kb": [None] * len(seen.t)}
        return seen.model_copy(update=unknown)


def condition(target: Target) -> Condition:
    """Return the condition that a target is measured under; how it was started is not known."""
    return Condition(runtime="target", network="host" if Address(target).local else "remote")


def resolve(target: Target) -> Target:
    """Return the target with the one address to load and observe; raise `TargetError` if its host has none."""
    if target.address is not None:
        return target
    parts = urlsplit(target.url)
    try:
        return target.model_copy(update={"address": network.resolve(parts.hostname or "", parts.port or 80)})
    except OSError as error:
        raise TargetError(f"{target.url}: {error}") from None


def check(targets: Mapping[str, Target], scenarios: Sequence[str], *, remote: bool) -> None:
    """Raise `TargetError` for a target that may not be loaded, does not respond, or is not the named process."""
    for name, target in targets.items():
        at = Address(target)
        if not at.local and not remote:
            raise TargetError(
                f"{target.url} is not on this machine; if its owner allows this load, add --remote (REMOTE=1)"
            )
        if fault := at.fault():
            raise TargetError(f"{name}: {fault}")
        if any(SCENARIOS[scenario].delay_s for scenario in scenarios):
            _check_sleep(name, at)
        if target.pid is not None:
            _check_process(name, at, target.pid)


AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


def is_scheduled_apart(pid: int) -> bool:
    """Return True if the kernel divides the processors between this process's session and that of the harness."""
    try:
        return read_text(AUTOGROUP).strip() == "1" and os.getsid(pid) != os.getsid(0)
    except ProcessLookupError:
        return False


def listening_pids(target: Target) -> frozenset[int]:
    """Return the visible processes of this host that listen at the target's address."""
    at = Address(target)
    return network.find_port_processes(at.ip, at.port).accepting if at.local else frozenset()


def _check_sleep(name: str, at: Address) -> None:
    """Check the contract's `/sleep`, which a target need not have."""
    began = time.monotonic()
    fault = at.fault(f"/sleep?ms={SLEEP_MS}")
    took_ms = (time.monotonic() - began) * 1000
    if fault is None and took_ms < SLEEP_MS:
        fault = f"GET /sleep?ms={SLEEP_MS} returned after {took_ms:.0f} ms"
    if fault is not None:
        raise TargetError(f"{name} cannot take part in sleep: {fault}")


def _check_process(name: str, at: Address, pid: int) -> None:
    """Check that only the named process and its children accept the target's connections.

    A process in another network namespace is not checked: it may listen on a port other than the one published here.
    The process's parents are ignored, because a parent may hold the socket for its children.
    """
    if not psutil.pid_exists(pid):
        raise TargetError(f"{name}: process {pid} does not exist; set PID to the server's process")
    if not _in_this_network(pid):
        return
    found = network.find_port_processes(at.ip, at.port)
    family = set(tree(pid))
    own = next((found.others[one] for one in sorted(family) if one in found.others), None)
    if found.accepting.isdisjoint(family) and (found.accepting or own):
        who = ", ".join(map(str, sorted(found.accepting))) or "another one"
        hint = f"; {pid} listens at {own}, so use that address in the URL" if own else ""
        raise TargetError(f"{name}: process {pid} does not listen at {at.origin}, but {who} does{hint}")
    more = sorted(found.accepting - family - {parent.pid for parent in _parents(pid)})
    if more:
        common = next((p.pid for p in _parents(pid) if p.pid > 1 and found.accepting <= set(tree(p.pid))), None)
        hint = f"; PID={common} would measure all of them" if common else ""
        raise TargetError(
            f"{name}: {', '.join(map(str, more))} also listens at {at.origin}, and its share of "
            f"the work would be missing{hint}"
        )


def _parents(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).parents()
    except psutil.Error:
        return []


def _in_this_network(pid: int) -> bool:
    """Check whether a process shares our network namespace; assume so if that cannot be read."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino
    except OSError:
        return True
