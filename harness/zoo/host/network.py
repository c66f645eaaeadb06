"""Addresses, ports and listening sockets of this machine, and a network namespace for a run.

The namespace has its own ports, sockets and counters, and nothing in it is reachable from outside. In the host's
namespace, connections to one address share its ephemeral ports. Once half of them are used, each connect() searches
them all, and sockets of the previous cell linger among them. In the namespace, the port range and the backlog can be
large without changing the host.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from zoo.core.host_facts import Limits

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
NAMESPACE_SETTINGS = {
    # the servers' ports are below this range
    "net/ipv4/ip_local_port_range": "10240 65535",
    "net/core/somaxconn": "65535",
    "net/ipv4/tcp_max_syn_backlog": "65535",
    # sockets of the previous cell are removed immediately instead of after 60 s
    "net/ipv4/tcp_max_tw_buckets": "4096",
}

DEFAULT_LOW = 32_768
"""Linux's default for the lowest port of outgoing connections."""

CONNECT_S = 2.0

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
_FAMILIES = (socket.AF_INET, socket.AF_INET6)


class Listener(NamedTuple):
    """A listening socket; `pid` is None if this user cannot see its process."""

    address: str
    port: int
    pid: int | None


@dataclass(frozen=True)
class PortProcesses:
    """The processes whose socket a connection reaches, and the other processes on the port with their addresses."""

    accepting: frozenset[int]
    others: dict[int, str]


def namespace_command() -> list[str] | None:
    """Return the words that start the command after them in a namespace; None if this system does not permit it."""
    if shutil.which("unshare") is None:
        return None
    # Without root, a user namespace gives the right to make a network namespace, but some systems forbid that.
    words = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    done = subprocess.run([*words, "true"], capture_output=True, check=False)
    return words if done.returncode == 0 else None


def is_loopback_only() -> bool:
    """Return True if this process has no network beyond its own loopback, as in the image of all servers."""
    # A new namespace may have tunnel devices, which are down.
    return {name for name, device in psutil.net_if_stats().items() if "up" in device.flags.split(",")} == {"lo"}


def namespace_limits(limits: Limits) -> Limits:
    """Return the host's limits as they are in the namespace."""
    low, high = NAMESPACE_SETTINGS["net/ipv4/ip_local_port_range"].split()
    return limits.model_copy(update={"port_low": int(low), "port_high": int(high)})


def prepare_namespace(settings: Mapping[str, str] = NAMESPACE_SETTINGS) -> list[str]:
    """Bring loopback up and raise the limits, from inside the namespace; return the settings that could not be made."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
    refused = []
    for name, value in settings.items():
        try:
            Path("/proc/sys", name).write_text(value, encoding="ascii")
        except OSError:
            refused.append(name.replace("/", "."))
    return refused


def is_free(port: int) -> bool:
    """Return whether a server could listen on this port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(preferred: int, low: int | None) -> int | None:
    """Return `preferred`, otherwise the next free port below the range of outgoing connections.

    The search begins 1,000 ports above `preferred`, because the ports next to it are those of other servers.
    """
    low = low or DEFAULT_LOW
    ports = (preferred, *range(preferred + 1000, low), *range(preferred + 1, min(preferred + 1000, low)))
    return next((port for port in ports if is_free(port)), None)


def any_free_port() -> int:
    """Return a free port on loopback, chosen by the system."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def resolve(host: str, port: int) -> str:
    """Return the address that a client reaches, or the first one if none accepts a connection.

    Raise OSError if there is no such host.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(_connectable(str(info[4][0])) for info in found))
    return next((one for one in addresses if len(addresses) == 1 or accepts_connections(one, port)), addresses[0])


def accepts_connections(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=CONNECT_S):
            return True
    except OSError:
        return False


def is_local(address: str) -> bool:
    """Return True for loopback addresses and for those of this host's interfaces."""
    wanted = _parse_address(address)
    own = (_parse_address(a.address) for each in psutil.net_if_addrs().values() for a in each if a.family in _FAMILIES)
    return wanted.is_loopback or wanted in own


def find_port_processes(address: str, port: int) -> PortProcesses:
    """Find the processes that listen on the port, as far as this user can see them."""
    found = psutil.net_connections("tcp")
    listeners = (
        Listener(str(c.laddr[0]), int(c.laddr[1]), c.pid) for c in found if c.status == psutil.CONN_LISTEN and c.laddr
    )
    return match_listeners(listeners, address, port)


def match_listeners(listeners: Iterable[Listener], address: str, port: int) -> PortProcesses:
    """Choose like the kernel: a socket with exactly this address comes before one for any address. Pure."""
    wanted = _parse_address(address)
    ranked: dict[int, list[Listener]] = {}
    on_port = [one for one in listeners if one.port == port]
    for one in on_port:
        rank = _rank(ipaddress.ip_address(one.address.partition("%")[0]), wanted)
        if rank is not None:
            ranked.setdefault(rank, []).append(one)
    best = ranked[min(ranked)] if ranked else []
    there = frozenset(one.pid for one in best if one.pid is not None)
    others = {one.pid: one.address for one in on_port if one.pid is not None and one.pid not in there}
    return PortProcesses(there, others)


def _rank(listens: IPAddress, wanted: IPAddress) -> int | None:
    """Return how closely a socket matches an address, 0 for best; None if it gets no connections to this address."""
    if _parse_address(str(listens)) == wanted:
        return 0
    if listens.is_unspecified and listens.version == wanted.version:
        return 1
    return 2 if listens.is_unspecified and listens.version == 6 else None


def _parse_address(address: str) -> IPAddress:
    """Parse an address without its interface's name; an IPv4 address mapped to IPv6 becomes IPv4."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found


def _connectable(address: str) -> str:
    """Return loopback for `0.0.0.0` and `::`, because connections to them go there, and other addresses unchanged."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if not found.is_unspecified:
        return address
    return "127.0.0.1" if found.version == 4 else "::1"
