"""Exact counts of the connections of one port, from the kernel (sock_diag(7), which `ss` uses)."""

import socket
import struct
from collections.abc import Iterator

from zoo.core.samples import ClosedEnds

AF_NETLINK = 16
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST_DUMP = 0x301

# sets of states, one bit per state
ESTABLISHED = 1 << 1
UNCLOSED = ESTABLISHED | 1 << 8  # includes CLOSE_WAIT: only the client has closed the connection
TIME_WAIT = 1 << 6
CLOSED_HERE = 1 << 4 | 1 << 5 | TIME_WAIT | 1 << 11  # FIN_WAIT1, FIN_WAIT2, TIME_WAIT, CLOSING

HEADER = struct.Struct("=IHHII")
# family, protocol, extensions, padding, states; then the socket: its port, its peer's port, zeros; 0 matches anything
QUERY = struct.Struct("=BBBBIHH44x")
# family, state, timer, retransmissions; the socket; milliseconds until the timer expires
ANSWER = struct.Struct("=BBBB48xI")
TIME_WAIT_TIMER = 3
TIME_WAIT_S = 60.0
"""Seconds that Linux keeps a socket in TIME_WAIT (TCP_TIMEWAIT_LEN, which no setting changes)."""


def count_sockets(port: int, states: int) -> int | None:
    """Count the server ends of connections to `port` in these states, IPv4 and IPv6, in this network namespace.

    The count walks the kernel's socket table, which takes milliseconds. That is acceptable once in the middle of a run,
    but not in every sample. Return None if the kernel cannot list the sockets.
    """
    return _count(port, 0, states)


def count_closed(port: int, seconds: float) -> ClosedEnds | None:
    """Count the connections to `port` that either end closed first in the last `seconds`, at most a minute.

    Only the end that closes first is in TIME_WAIT afterwards. Return None if the kernel cannot list the sockets.
    """
    server = _count(port, 0, CLOSED_HERE, seconds)
    client = _count(0, port, TIME_WAIT, seconds)
    return None if server is None or client is None else ClosedEnds(server, client)


def messages(packet: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and content of the netlink messages in a packet; each message is aligned to four bytes."""
    at = 0
    while at + HEADER.size <= len(packet):
        length, kind, *_ = HEADER.unpack_from(packet, at)
        if length < HEADER.size:
            return
        yield kind, packet[at + HEADER.size : at + length]
        at += (length + 3) & ~3


def _count(port: int, peer_port: int, states: int, seconds: float = TIME_WAIT_S) -> int | None:
    """Count the sockets with these ports and states; those in TIME_WAIT only if they are so for up to `seconds`."""
    try:
        with socket.socket(AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
            link.settimeout(2.0)
            families = (socket.AF_INET, socket.AF_INET6)
            answers = (one for family in families for one in _list_sockets(link, family, port, peer_port, states))
            return sum(_seconds_closed(one) <= seconds for one in answers)
    except OSError:
        return None


def _seconds_closed(answer: bytes) -> float:
    """Return for how many seconds a socket has been in TIME_WAIT; 0 in another state."""
    _, _, timer, _, left_ms = ANSWER.unpack_from(answer)
    return TIME_WAIT_S - left_ms / 1000 if timer == TIME_WAIT_TIMER else 0.0


def _list_sockets(link: socket.socket, family: int, port: int, peer_port: int, states: int) -> Iterator[bytes]:
    query = QUERY.pack(family, socket.IPPROTO_TCP, 0, 0, states, socket.htons(port), socket.htons(peer_port))
    link.send(HEADER.pack(HEADER.size + len(query), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 0, 0) + query)
    while True:
        for kind, content in messages(link.recv(1 << 16)):
            if kind == NLMSG_DONE:
                return
            if kind == NLMSG_ERROR:
                raise OSError("the kernel did not list the sockets")
            if kind == SOCK_DIAG_BY_FAMILY:
                yield content
