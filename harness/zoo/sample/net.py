"""Counters of the TCP stack, and a wait for lingering sockets."""

import re
import time
from dataclasses import dataclass

from zoo.core.measurement import Kernel
from zoo.host.files import read_text
from zoo.sample.proc import PAGE_KB, PROC


class TcpCounters(Kernel):
    """The counters of a record and the number of accepted connections, since boot or between two readings."""

    passive_opens: int = 0

    def since(self, earlier: "TcpCounters") -> "TcpCounters":
        """Return the increase since an earlier reading; 0 for a counter that has restarted."""
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
    """The TCP part of /proc/net/sockstat; `time_wait` includes IPv6, and `memory_kb` covers the whole kernel."""

    time_wait: int
    memory_kb: int


def parse_table(text: str, protocol: str) -> dict[str, int]:
    """Parse /proc/net/netstat or snmp: a line of names and a line of numbers, both beginning with `protocol:`."""
    lines = [line.split()[1:] for line in text.splitlines() if line.startswith(f"{protocol}:")]
    if len(lines) < 2:
        return {}
    pairs = zip(lines[0], lines[1], strict=False)
    return {name: int(number) for name, number in pairs if re.fullmatch(r"-?[0-9]+", number, re.ASCII)}


def parse_counters(netstat: str, snmp: str = "") -> TcpCounters | None:
    """Parse the counters; None if the kernel has none of them. A single missing counter is 0."""
    table = parse_table(netstat, "TcpExt")
    if not table:
        return None
    accepted = parse_table(snmp, "Tcp").get("PassiveOpens", 0)
    return TcpCounters(**{field: table.get(name, 0) for field, name in NAMES.items()}, passive_opens=accepted)


def parse_established(snmp: str) -> int | None:
    """Return `CurrEstab`: the network namespace's TCP sockets in ESTABLISHED or CLOSE_WAIT, IPv4 and IPv6.

    Both ends of a loopback connection count.
    """
    return parse_table(snmp, "Tcp").get("CurrEstab")


def parse_sockstat(text: str) -> Sockets | None:
    found = re.search(r"^TCP:((?: \w+ -?\d+)+)", text, re.MULTILINE | re.ASCII)
    if not found:
        return None
    words = found.group(1).split()
    fields = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    return Sockets(fields.get("tw", 0), fields.get("mem", 0) * PAGE_KB)


def read_counters(pid: int | str = "self") -> TcpCounters | None:
    """Return the counters of the network namespace of `pid`."""
    return parse_counters(read_text(f"{PROC}/{pid}/net/netstat"), read_text(f"{PROC}/{pid}/net/snmp"))


def count_lingering(pid: int | str = "self") -> int | None:
    """Return the number of sockets in TIME_WAIT; None if unknown."""
    sockets = parse_sockstat(read_text(f"{PROC}/{pid}/net/sockstat"))
    return sockets.time_wait if sockets else None


def wait_for_lingering(max_sockets: int = 5_000, timeout: float = 60.0) -> int | None:
    """Wait until at most `max_sockets` are in TIME_WAIT, or until the timeout in seconds; return how many are.

    Return None immediately if the number is unknown.
    """
    until = time.monotonic() + timeout
    while (
        (sockets := count_lingering()) is not None and sockets > max_sockets and (left := until - time.monotonic()) > 0
    ):
        time.sleep(min(0.5, left))
    return sockets
