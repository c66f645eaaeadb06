"""Counters of the TCP stack, and waiting for sockets that linger."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from zoo.sample.proc import PAGE_KB, PROC, read


class TcpCounters(BaseModel):
    """Connections accepted, and attempts dropped or answered with cookies, since boot or between two readings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    listen_overflows: int
    listen_drops: int
    req_q_full_drop: int
    req_q_full_cookies: int
    passive_opens: int = 0

    def since(self, earlier: "TcpCounters") -> "TcpCounters":
        """The increase; 0 where a counter began anew."""
        before = earlier.model_dump()
        return TcpCounters(**{name: max(0, value - before[name]) for name, value in self.model_dump().items()})


NAMES = {
    "listen_overflows": "ListenOverflows",
    "listen_drops": "ListenDrops",
    "req_q_full_drop": "TCPReqQFullDrop",
    "req_q_full_cookies": "TCPReqQFullDoCookies",
}


@dataclass(frozen=True)
class Sockets:
    """TCP part of /proc/net/sockstat; `time_wait` covers IPv6 too, memory the whole kernel."""

    inuse: int
    time_wait: int
    memory_kb: int


def parse_table(text: str, protocol: str) -> dict[str, int]:
    """/proc/net/netstat and snmp: a line of names, then a line of numbers, both led by `protocol:`."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(f"{protocol}:")]
    if len(lines) < 2:
        return {}
    pairs = zip(lines[0], lines[1], strict=False)
    return {name: int(number) for name, number in pairs if re.fullmatch(r"-?[0-9]+", number, re.ASCII)}


def parse_counters(netstat: str, snmp: str = "") -> TcpCounters | None:
    """None where the kernel has no such counters at all; a single one it lacks counts as 0."""
    table = parse_table(netstat, "TcpExt")
    if not table:
        return None
    accepted = parse_table(snmp, "Tcp").get("PassiveOpens", 0)
    return TcpCounters(**{field: table.get(name, 0) for field, name in NAMES.items()}, passive_opens=accepted)


def parse_established(snmp: str) -> int | None:
    """`CurrEstab`: TCP sockets that are ESTABLISHED or CLOSE_WAIT, IPv4 and IPv6, in the network namespace.

    Both ends of a loopback connection count.
    """
    return parse_table(snmp, "Tcp").get("CurrEstab")


def parse_sockstat(text: str) -> Sockets | None:
    found = re.search(r"^TCP:((?: \w+ -?\d+)+)", text, re.MULTILINE | re.ASCII)
    if not found:
        return None
    words = found.group(1).split()
    fields = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return Sockets(fields.get("inuse", 0), fields.get("tw", 0), fields.get("mem", 0) * PAGE_KB)


def counters(pid: int | str = "self") -> TcpCounters | None:
    """Of the network namespace that `pid` lives in."""
    return parse_counters(read(f"{PROC}/{pid}/net/netstat"), read(f"{PROC}/{pid}/net/snmp"))


def lingering(pid: int | str = "self") -> int | None:
    """Sockets in TIME_WAIT."""
    sockets = parse_sockstat(read(f"{PROC}/{pid}/net/sockstat"))
    return sockets.time_wait if sockets else None


class SleepClock(Protocol):
    """Time that a test can fake; the `time` module is one."""

    def monotonic(self) -> float: ...
    def sleep(self, seconds: float, /) -> None: ...


@dataclass(frozen=True)
class Wait:
    """How a wait ended: `sockets` is None where they cannot be counted."""

    sockets: int | None
    seconds: float
    reached: bool


def wait_for_lingering(
    max_sockets: int = 5_000,
    timeout: float = 60.0,
    clock: SleepClock = time,
    count: Callable[[], int | None] = lingering,
) -> Wait:
    """Until at most `max_sockets` linger in TIME_WAIT, or the time is up. Does not wait where nothing is known."""
    started = clock.monotonic()
    while True:
        sockets = count()
        waited = clock.monotonic() - started
        reached = sockets is None or sockets <= max_sockets
        if reached or waited >= timeout:
            return Wait(sockets, waited, reached)
        clock.sleep(min(0.5, timeout - waited))
