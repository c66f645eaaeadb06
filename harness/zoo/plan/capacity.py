"""Connection counts: their names, how many this host can hold and what limits them, and what they take. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from zoo.model.errors import UserError
from zoo.model.host import Limits

UNITS = {"k": 1_000, "M": 1_000_000}


class PlanError(UserError):
    """A plan that cannot be made from the words given; the message says what was expected."""


@dataclass(frozen=True)
class Tier:
    """A connection count by the name a person types: `100`, `1k`, `25k`."""

    name: str
    connections: int


def tier(name: str) -> Tier:
    """Parse a tier's name; `PlanError` for anything that is not a whole number of connections."""
    found = re.fullmatch(r"[1-9]\d{0,6}[kK]?|[1-9]M", name.strip())
    if not found:
        raise PlanError(f'tier must be a connection count such as 100, 1k or 25k, got "{name}"')
    shown = found.group(0).replace("K", "k")
    return Tier(shown, count(shown))


def count(name: str) -> int:
    number, unit = (name[:-1], name[-1]) if name[-1] in UNITS else (name, "")
    return int(number) * UNITS.get(unit, 1)


# What a server has open besides connections: jars, libraries, epoll, log, listening sockets.
SERVER_DESCRIPTORS = 500


# Ports left to sockets that linger and to other programs.
SPARE_PORTS = 1_000


Setting = Literal["descriptors", "ports", "files"]
"""What stands in the way of connections."""


@dataclass(frozen=True)
class Feasible:
    """`limited_by` is None when nothing stands in the way."""

    actual: int
    limited_by: str | None
    setting: Setting | None = None


def connections(limits: Limits, requested: int, addresses: int = 1) -> Feasible:
    """How many of `requested` connections a host with these limits can hold, in hundreds when a limit cuts it.

    The server needs a descriptor a connection. The generator can be split over processes, so its own limit does not
    count, but all share the ephemeral ports of the server's `addresses`. The kernel-wide bound counts both ends.
    """
    bounds: list[tuple[int, str, Setting]] = []
    if limits.nofile_hard is not None:
        reason = f"nofile hard limit {limits.nofile_hard:,}"
        bounds.append((limits.nofile_hard - SERVER_DESCRIPTORS, reason, "descriptors"))
    if limits.ports is not None:
        low, high = limits.ports
        most = (high - low + 1 - SPARE_PORTS) * addresses * limits.generators
        bounds.append((most, f"ip_local_port_range {low}-{high}", "ports"))
    if limits.file_max is not None:
        bounds.append((limits.file_max // 2 - SERVER_DESCRIPTORS, f"fs.file-max {limits.file_max:,}", "files"))
    most, reason, setting = min(bounds, default=(requested, "", None))
    if most >= requested:
        return Feasible(requested, None)
    host = limits.ports_host if setting == "ports" else limits.server_host
    return Feasible(max(0, most // 100 * 100), f"{reason} on {host}" if host else reason, setting)


def threads(limits: Limits) -> Feasible:
    """How many OS threads one process may have, at two memory maps a thread."""
    bounds = [
        ("ulimit -u", limits.nproc),
        ("kernel.threads-max", limits.threads_max),
        ("kernel.pid_max", limits.pid_max),
        ("cgroup pids.max", limits.cgroup.pids),
        ("vm.max_map_count", None if limits.max_map_count is None else limits.max_map_count // 2),
    ]
    known = [(value, name) for name, value in bounds if value is not None]
    return Feasible(*min(known)) if known else Feasible(0, None)


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


def percent(text: str, what: str = "a precision") -> float:
    """Read `3%` or `0.03`; `PlanError` for anything outside 0.1–50 %."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    value = float(found.group(1)) / (100 if found.group(2) else 1) if found else 0.0
    if not 0.001 <= value <= 0.5:
        raise PlanError(f'{what} must be a share such as 3% (0.1% to 50%), got "{text}"')
    return value
