"""A server that something else started: its URL and id, requests to it and readings; it is never started or stopped."""

from __future__ import annotations

import http.client
import os
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil

from zoo.host import network
from zoo.load.ab import Ab
from zoo.load.base import Generator
from zoo.load.vegeta import Vegeta
from zoo.load.wrk import Wrk
from zoo.model.condition import Condition
from zoo.model.entry_id import TARGET
from zoo.model.errors import RuntimeFailure, UserError
from zoo.model.run import Target
from zoo.model.samples import Samples
from zoo.plan.scenario import SCENARIOS
from zoo.sample import net
from zoo.sample.instruments import Instruments, NoiseRecording, Recording
from zoo.sample.net import TcpCounters
from zoo.sample.proc import Snapshot, snapshot, tree
from zoo.sample.requests import Info, Response, get, responses

PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))


class TargetError(UserError):
    """A target that cannot be measured; the message says why and what to do."""


def targets(urls: Sequence[str], pids: Sequence[int]) -> dict[str, Target]:
    """By id, in the order given; the n-th process is that of the n-th URL."""
    if pids and len(pids) != len(urls):
        raise TargetError(f"as many PIDs as targets are expected, got {len(pids)} for {len(urls)}")
    made: dict[str, Target] = {}
    for place, url in enumerate(urls):
        name = f"{TARGET}:{_port(url)}"
        if name in made:
            raise TargetError(f"two targets on port {_port(url)}: they could not be told apart")
        made[name] = Target(url=quote(url, safe=PRINTABLE), pid=pids[place] if pids else None)
    return made


def origin(url: str) -> str:
    """The server's address, without a path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def at_address(url: str, address: str) -> str:
    """The server's address with this one for its host."""
    host = f"[{address}]" if ":" in address else address
    return f"http://{host}:{port_of(url)}"


def port_of(url: str) -> int:
    return urlsplit(url).port or 80


def home(url: str) -> str:
    """Path and query."""
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _port(url: str) -> int:
    wanted = f'a target is a URL such as http://127.0.0.1:9000/, got "{url}"'
    try:
        parts = urlsplit(url)
        port = parts.port or 80
    except ValueError:
        raise TargetError(wanted) from None
    if parts.scheme == "https":
        raise TargetError(
            f"{url}: https:// is not supported, as TLS is not measured; name a port that speaks plain HTTP"
        )
    if not parts.netloc.isascii() or any(c.isspace() for c in parts.netloc):
        raise TargetError(f"{url}: write the host in ASCII (xn--…)")
    if parts.scheme != "http" or not parts.hostname or parts.username is not None or parts.fragment:
        raise TargetError(wanted)
    return port


ANSWER_S = 5.0
SLEEP_MS = 200


class HostedTarget:
    """Where to send and what to read; it has no log that the harness knows.

    All requests go to one address; the Host header is that of the URL.
    """

    ready_s = None
    apart = None

    def __init__(self, target: Target) -> None:
        self._target = resolved(target)
        host = host_header(target.url)
        self.url = at_address(target.url, address_of(self._target))
        self.home = home(target.url)
        self.pid = target.pid or 0
        self.instruments = TargetInstruments(self._target)
        self.generator: Generator = Wrk(options=(f"-HHost: {host}",))
        self.attacker = Vegeta(host=host)
        self.benchmarker = Ab(host=host)

    def probe(self) -> Info | None:
        """What `/info` says, where it is the contract's; a server need not have one."""
        fault = answer_fault(self._target)
        if fault is not None:
            raise RuntimeFailure("contract", fault)
        return self.instruments.info(self.url)

    def alive(self) -> bool:
        if not self.pid:
            return network.accepts(address_of(self._target), port_of(self._target.url))
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


class TargetInstruments(Instruments):
    """Without a process only the host is read; the sockets of another machine or network namespace are not counted."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target
        self._pid = target.pid
        self._here = network.is_local(address_of(target)) and (target.pid is None or _in_this_network(target.pid))

    def answers(self, url: str) -> bool:
        return answer_fault(self._target, timeout_s=2.0) is None

    def responses(self, url: str, count: int) -> list[Response]:
        return responses(url, count, host=host_header(self._target.url))

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

    def closed(self, url: str) -> int | None:
        return super().closed(url) if self._here else None


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
    return Condition(runtime="target", network="host" if network.is_local(address_of(target)) else "remote")


def resolved(target: Target) -> Target:
    """Return the target with the one address that is loaded and read. `TargetError` for a host without one."""
    if target.address is not None:
        return target
    host = urllib.parse.urlsplit(target.url).hostname or ""
    try:
        return target.model_copy(update={"address": network.resolve(host, port_of(target.url))})
    except OSError as error:
        raise TargetError(f"{target.url}: {error}") from None


def address_of(target: Target) -> str:
    return resolved(target).address or ""


def host_header(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


def check(targets: Mapping[str, Target], scenarios: Sequence[str], *, remote: bool) -> None:
    """`TargetError` for a target that is not to be loaded, does not answer, or is another process than named."""
    for name, target in targets.items():
        local = network.is_local(address_of(target))
        if not local and not remote:
            raise TargetError(
                f"{target.url} is not on this machine; --remote (REMOTE=1) loads it all the same: "
                "only with the leave of whoever it belongs to"
            )
        fault = answer_fault(target)
        if fault is not None:
            raise TargetError(f"{name}: {fault}")
        if any(SCENARIOS[scenario].delay_s for scenario in scenarios):
            _check_sleep(name, target)
        if target.pid is not None:
            _check_process(name, target, target.pid)


def answer_fault(target: Target, path: str | None = None, timeout_s: float = ANSWER_S) -> str | None:
    """Why an answer cannot be measured: none came, or it is not 2xx. `path` replaces that of the target."""
    path = path or home(target.url)
    url = at_address(target.url, address_of(target))
    try:
        answer, _ = get(url, path, timeout_s, host_header(target.url))
    except (OSError, http.client.HTTPException) as error:
        return f"GET {url}{path} gave no answer ({error or type(error).__name__})"
    return None if 200 <= answer.status < 300 else f"GET {path} answered {answer.status}, expected 2xx"


def listening(target: Target) -> frozenset[int]:
    """The processes of this host that listen where the target is loaded, as far as they can be seen."""
    if not network.is_local(address_of(target)):
        return frozenset()
    return network.accepting(address_of(target), port_of(target.url)).there


def _check_sleep(name: str, target: Target) -> None:
    """The contract's `/sleep`, which a target need not have."""
    began = time.monotonic()
    fault = answer_fault(target, f"/sleep?ms={SLEEP_MS}")
    took_ms = (time.monotonic() - began) * 1000
    if fault is None and took_ms < SLEEP_MS:
        fault = f"GET /sleep?ms={SLEEP_MS} was answered after {took_ms:.0f} ms"
    if fault is not None:
        raise TargetError(f"{name} cannot take part in sleep: {fault}")


def _check_process(name: str, target: Target, pid: int) -> None:
    """Check that all processes which accept the target's connections are the one named or its children.

    In a network namespace of its own the process may listen on another port than is published here. A parent may hold
    the socket for its children, so those above the process are not counted.
    """
    if not psutil.pid_exists(pid):
        raise TargetError(f"{name}: there is no process {pid}")
    if not _in_this_network(pid):
        return
    address = address_of(target)
    found = network.accepting(address, port_of(target.url))
    family = set(tree(pid))
    at = at_address(target.url, address)
    own = next((found.elsewhere[one] for one in sorted(family) if one in found.elsewhere), None)
    if found.there.isdisjoint(family) and (found.there or own):
        who = ", ".join(map(str, sorted(found.there))) or "another one"
        hint = f"; {pid} listens at {own}, so name that address in the URL" if own else ""
        raise TargetError(f"{name}: process {pid} does not listen at {at}; {who} does{hint}")
    more = sorted(found.there - family - {parent.pid for parent in _parents(pid)})
    if more:
        common = next((p.pid for p in _parents(pid) if p.pid > 1 and found.there <= set(tree(p.pid))), None)
        hint = f"; PID={common} would measure all of them" if common else ""
        raise TargetError(
            f"{name}: {', '.join(map(str, more))} listens at {at} too, and its share of the work would be missing{hint}"
        )


def _parents(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).parents()
    except psutil.Error:
        return []


def _in_this_network(pid: int) -> bool:
    """As far as this system tells."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino == Path("/proc/self/ns/net").stat().st_ino
    except OSError:
        return True
