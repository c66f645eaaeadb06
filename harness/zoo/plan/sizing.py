"""What a count of connections takes of the server's host and of each generator's. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from zoo.plan.feasible import SERVER_DESCRIPTORS, SPARE_PORTS

USUAL_PORTS = (32_768, 60_999)
"""Linux's `ip_local_port_range`."""

ALL_PORTS = (1_024, 65_535)
"""What it can be raised to."""


@dataclass(frozen=True)
class ServerNeed:
    """Of the server's host, for the connections alone; `sockets_kb` is the kernel's memory of one end of each."""

    memory_kb: float
    sockets_kb: float
    descriptors: int


@dataclass(frozen=True)
class GeneratorNeed:
    """Of each generator's host. `addresses`: of the server, so that the ports of one host suffice."""

    connections: int
    descriptors: int
    sockets_kb: float
    addresses: int


def server_need(connections: int, rss_kb: float, socket_kb: float) -> ServerNeed:
    """`rss_kb`: resident memory of a held connection; `socket_kb`: the kernel's, of both its ends."""
    return ServerNeed(connections * rss_kb, connections * socket_kb / 2, connections + SERVER_DESCRIPTORS)


def generator_need(
    connections: int, hosts: int, socket_kb: float, ports: tuple[int, int] = USUAL_PORTS
) -> GeneratorNeed:
    """Of each of so many hosts, between which the connections are dealt out; a port is used once for each address."""
    each = math.ceil(connections / hosts)
    low, high = ports
    addresses = math.ceil(each / (high - low + 1 - SPARE_PORTS))
    return GeneratorNeed(each, each, each * socket_kb / 2, addresses)
