"""The one address that a target is loaded at, and the processes of this host that accept connections there."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import psutil

CONNECT_S = 2.0

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class Listener(NamedTuple):
    """A listening socket; `pid` is None where this user cannot see whose it is."""

    address: str
    port: int
    pid: int | None


@dataclass(frozen=True)
class Accepting:
    """The processes that have the socket which a connection reaches, and of those on the port, the others."""

    there: frozenset[int]
    elsewhere: dict[int, str]


def resolve(host: str, port: int) -> str:
    """Return the address that a client reaches; the first one where none accepts a connection. OSError for no host."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(_reachable(str(info[4][0])) for info in found))
    return next((one for one in addresses if len(addresses) == 1 or accepts(one, port)), addresses[0])


def accepts(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=CONNECT_S):
            return True
    except OSError:
        return False


def is_local(address: str) -> bool:
    """Return True for loopback and for the addresses of this host's interfaces."""
    wanted = _plain(address)
    own = (_plain(a.address) for each in psutil.net_if_addrs().values() for a in each if a.family in _FAMILIES)
    return wanted.is_loopback or wanted in own


def accepting(address: str, port: int) -> Accepting:
    """Return the processes that listen on the port, as far as this user can see them."""
    found = psutil.net_connections("tcp")
    listeners = (
        Listener(str(c.laddr[0]), int(c.laddr[1]), c.pid) for c in found if c.status == psutil.CONN_LISTEN and c.laddr
    )
    return reached(listeners, address, port)


def reached(listeners: Iterable[Listener], address: str, port: int) -> Accepting:
    """Choose as the kernel does: a socket with the very address before one with any address. Pure."""
    wanted = _plain(address)
    ranked: dict[int, list[Listener]] = {}
    on_port = [one for one in listeners if one.port == port]
    for one in on_port:
        rank = _rank(ipaddress.ip_address(one.address.partition("%")[0]), wanted)
        if rank is not None:
            ranked.setdefault(rank, []).append(one)
    best = ranked[min(ranked)] if ranked else []
    there = frozenset(one.pid for one in best if one.pid is not None)
    others = {one.pid: one.address for one in on_port if one.pid is not None and one.pid not in there}
    return Accepting(there, others)


_FAMILIES = (socket.AF_INET, socket.AF_INET6)


def _rank(listens: IPAddress, wanted: IPAddress) -> int | None:
    """None for a socket that gets no connection to this address."""
    if _plain(str(listens)) == wanted:
        return 0
    if listens.is_unspecified and listens.version == wanted.version:
        return 1
    return 2 if listens.is_unspecified and listens.version == 6 else None


def _plain(address: str) -> IPAddress:
    """Without an interface's name, and as IPv4 where IPv6 only wraps it."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return found.ipv4_mapped or found if isinstance(found, ipaddress.IPv6Address) else found


def _reachable(address: str) -> str:
    """`0.0.0.0` and `::` name every address of this machine; connections to them go to loopback."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if not found.is_unspecified:
        return address
    return "127.0.0.1" if found.version == 4 else "::1"
