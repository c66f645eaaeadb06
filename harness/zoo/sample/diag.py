"""Counts the connections of one port exactly, by asking the kernel (sock_diag(7), as `ss` does)."""

import socket
import struct
from collections.abc import Iterator

AF_NETLINK = 16
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST_DUMP = 0x301
ESTABLISHED, CLOSE_WAIT = 1 << 1, 1 << 8  # bits of a set of states
CLOSED_HERE = 1 << 4 | 1 << 5 | 1 << 6 | 1 << 11  # FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSING

HEADER = struct.Struct("=IHHII")
# family, protocol, extensions, padding, states; then the socket: source port, and 46 bytes that match any.
QUERY = struct.Struct("=BBBBIH46x")


def established_on(port: int) -> int | None:
    """Server ends of established connections to `port`, IPv4 and IPv6, in this process's network namespace.

    It walks the kernel's table of sockets, which takes milliseconds: for mid-run, not for every sample.
    None where the kernel cannot be asked.
    """
    return _on(port, ESTABLISHED)


def unclosed_on(port: int) -> int | None:
    """The same, and those that only the client has closed."""
    return _on(port, ESTABLISHED | CLOSE_WAIT)


def closed_on(port: int) -> int | None:
    """Count the connections to `port` that the server closed first, in the last minute."""
    return _on(port, CLOSED_HERE)


def _on(port: int, states: int) -> int | None:
    try:
        with socket.socket(AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
            link.settimeout(2.0)
            return sum(_count(link, family, port, states) for family in (socket.AF_INET, socket.AF_INET6))
    except OSError:
        return None


def message_types(packet: bytes) -> Iterator[int]:
    """The types of the netlink messages in a packet, aligned to four bytes each."""
    at = 0
    while at + HEADER.size <= len(packet):
        length, kind, *_ = HEADER.unpack_from(packet, at)
        if length < HEADER.size:
            return
        yield kind
        at += (length + 3) & ~3


def _count(link: socket.socket, family: int, port: int, states: int) -> int:
    query = QUERY.pack(family, socket.IPPROTO_TCP, 0, 0, states, socket.htons(port))
    link.send(HEADER.pack(HEADER.size + len(query), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 0, 0) + query)
    found = 0
    while True:
        for kind in message_types(link.recv(1 << 16)):
            if kind == NLMSG_DONE:
                return found
            if kind == NLMSG_ERROR:
                raise OSError("the kernel refused to list sockets")
            found += kind == SOCK_DIAG_BY_FAMILY
