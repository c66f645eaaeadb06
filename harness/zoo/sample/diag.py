"""Exact counts of the connections of one port, from the kernel (sock_diag(7), which `ss` uses)."""

import socket
import struct
from collections.abc import Callable, Iterator

AF_NETLINK = 16
NETLINK_SOCK_DIAG = 4
SOCK_DIAG_BY_FAMILY = 20
NLMSG_ERROR, NLMSG_DONE = 2, 3
REQUEST_DUMP = 0x301

# sets of states, one bit per state
ESTABLISHED = 1 << 1
UNCLOSED = ESTABLISHED | 1 << 8  # includes CLOSE_WAIT: only the client has closed the connection
TIME_WAIT = 1 << 6

HEADER = struct.Struct("=IHHII")
# family, protocol, extensions, padding, states; then the socket: its port, its peer's port, zeros; 0 matches anything
QUERY = struct.Struct("=BBBBIHH44x")
# family, state, timer, retransmissions; the socket; milliseconds until the timer expires
ANSWER = struct.Struct("=BBBB48xI")
TIME_WAIT_S = 60.0
"""Seconds that Linux keeps a socket in TIME_WAIT (TCP_TIMEWAIT_LEN, which no setting changes)."""


def count_sockets(port: int, states: int) -> int | None:
    """Count the server ends of connections to `port` in these states, IPv4 and IPv6, in this network namespace.

    The count walks the kernel's socket table, which takes milliseconds. That is acceptable once in the middle of a run,
    but not in every sample. Return None if the kernel cannot list the sockets.
    """
    return _count(port, 0, states, lambda _: True)


def count_closed(port: int, oldest_s: float, newest_s: float = 0.0) -> int | None:
    """Count the connections to `port` that ended between `oldest_s` and `newest_s` seconds ago, at most a minute.

    Only the end that closes first is in TIME_WAIT afterwards: the server's, or the client's if it is in this network
    namespace. The kernel keeps a limited number of them (tcp_max_tw_buckets). Return None as `count_sockets` does.
    """

    def in_time(answer: bytes) -> bool:
        left_ms: int = ANSWER.unpack_from(answer)[-1]
        return newest_s <= TIME_WAIT_S - left_ms / 1000 <= oldest_s

    ends = [_count(own, peer, TIME_WAIT, in_time) for own, peer in ((port, 0), (0, port))]
    known = [count for count in ends if count is not None]
    return sum(known) if len(known) == len(ends) else None


def messages(packet: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and content of the netlink messages in a packet; each message is aligned to four bytes."""
    at = 0
    while at + HEADER.size <= len(packet):
        length, kind, *_ = HEADER.unpack_from(packet, at)
        if length < HEADER.size:
            return
        yield kind, packet[at + HEADER.size : at + length]
        at += (length + 3) & ~3


def _count(port: int, peer_port: int, states: int, counts: Callable[[bytes], bool]) -> int | None:
    """Count the sockets with these ports and states whose description `counts` accepts; 0 stands for any port."""
    try:
        with socket.socket(AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
            link.settimeout(2.0)
            families = (socket.AF_INET, socket.AF_INET6)
            found = (one for family in families for one in _list_sockets(link, family, port, peer_port, states))
            return sum(map(counts, found))
    except OSError:
        return None


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
