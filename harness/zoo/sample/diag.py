"""Exact counts of the connections of one port, from the kernel (sock_diag(7), which `ss` uses)."""

import socket
import struct
from collections.abc import Iterator

AF_NETLINK = 16
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST_DUMP = 0x301

# sets of states, one bit per state
ESTABLISHED = 1 << 1
UNCLOSED = ESTABLISHED | 1 << 8  # includes CLOSE_WAIT: only the client has closed the connection
CLOSED_HERE = 1 << 4 | 1 << 5 | 1 << 6 | 1 << 11  # FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSING

HEADER = struct.Struct("=IHHII")
# family, protocol, extensions, padding, states; then the socket: source port, and 46 zero bytes that match anything
QUERY = struct.Struct("=BBBBIH46x")


def count_sockets(port: int, states: int) -> int | None:
    """Count the server ends of connections to `port` in these states, IPv4 and IPv6, in this network namespace.

    The count walks the kernel's socket table, which takes milliseconds. That is acceptable once in the middle of a run,
    but not in every sample. Return None if the kernel cannot list the sockets.
    """
    try:
        with socket.socket(AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
            link.settimeout(2.0)
            return sum(_count(link, family, port, states) for family in (socket.AF_INET, socket.AF_INET6))
    except OSError:
        return None


def message_types(packet: bytes) -> Iterator[int]:
    """Yield the types of the netlink messages in a packet; each message is aligned to four bytes."""
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
                raise OSError("the kernel did not list the sockets")
            found += kind == SOCK_DIAG_BY_FAMILY
