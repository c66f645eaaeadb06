"""Connection counts: their names, how many this host can hold, what limits them and what they need. Pure."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from zoo.core.errors import UserError
from zoo.core.host_facts import Limits

UNITS = {"k": 1_000, "M": 1_000_000}


class PlanError(UserError):
    """A plan that cannot be made from the given options; the message names what was expected."""


@dataclass(frozen=True)
class Tier:
    """A connection count with the name that a person types: `100`, `1k`, `25k`."""

    name: str
    connections: int


def parse_tier(name: str) -> Tier:
    """Parse the name of a connection count; `PlanError` for anything but a whole number of connections."""
    found = re.fullmatch(r"[1-9]\d{0,6}[kK]?|[1-9]M", name.strip())
    if not found:
        raise PlanError(f'"{name}" is not a number of connections; use numbers such as 100, 1k or 25k')
    shown = found.group(0).replace("K", "k")
    return Tier(shown, parse_count(shown))


def parse_count(name: str) -> int:
    number, unit = (name[:-1], name[-1]) if name[-1] in UNITS else (name, "")
    return int(number) * UNITS.get(unit, 1)


# Descriptors that a server has open in addition to connections: jars, libraries, epoll, log, listening sockets.
SERVER_DESCRIPTORS = 500


# Ports left for sockets that linger and for other programs.
SPARE_PORTS = 1_000


Setting = Literal["descriptors", "ports", "files"]
"""The setting that limits the number of connections."""


@dataclass(frozen=True)
class Capacity:
    """The number of connections or threads that is possible. `limited_by` is None if nothing limits it."""

    actual: int
    limited_by: str | None
    setting: Setting | None = None


def feasible_connections(limits: Limits, requested: int, addresses: int = 1) -> Capacity:
    """Return how many of `requested` connections a host with these limits can hold.

    If a limit reduces the number, it is rounded down to hundreds. The server needs one descriptor per connection. The
    generator can be split over several processes, so its own descriptor limit does not count. All of them share the
    ephemeral ports, once for each of the server's `addresses`. The kernel-wide limit counts both ends of a connection.
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
        return Capacity(requested, None)
    host = limits.ports_host if setting == "ports" else limits.server_host
    return Capacity(max(0, most // 100 * 100), f"{reason} on {host}" if host else reason, setting)


def feasible_threads(limits: Limits) -> Capacity:
    """Return how many OS threads one process may have; each thread takes two memory maps."""
    bounds = [
        ("ulimit -u", limits.nproc),
        ("kernel.threads-max", limits.threads_max),
        ("kernel.pid_max", limits.pid_max),
        ("cgroup pids.max", limits.cgroup.pids),
        ("vm.max_map_count", None if limits.max_map_count is None else limits.max_map_count // 2),
    ]
    known = [(value, name) for name, value in bounds if value is not None]
    return Capacity(*min(known)) if known else Capacity(0, None)


USUAL_PORTS = (32_768, 60_999)
"""Linux's default `ip_local_port_range`."""

ALL_PORTS = (1_024, 65_535)
"""The largest range that `ip_local_port_range` can be set to."""


@dataclass(frozen=True)
class ServerNeed:
    """Resources that the server's host needs for the connections alone.

    `sockets_kb` is the kernel's memory for one end of each connection.
    """

    memory_kb: float
    sockets_kb: float
    descriptors: int


@dataclass(frozen=True)
class GeneratorNeed:
    """Resources that each generator host needs.

    `addresses` is the number of addresses that the server needs, so that one host's ports suffice.
    """

    connections: int
    descriptors: int
    sockets_kb: float
    addresses: int


def server_need(connections: int, rss_kb: float, socket_kb: float) -> ServerNeed:
    """Return the resources that the server's host needs.

    `rss_kb` is the resident memory per waiting request, and `socket_kb` the kernel's memory for both of its ends.
    """
    return ServerNeed(connections * rss_kb, connections * socket_kb / 2, connections + SERVER_DESCRIPTORS)


def generator_need(
    connections: int, hosts: int, socket_kb: float, ports: tuple[int, int] = USUAL_PORTS
) -> GeneratorNeed:
    """Return the needs of each of `hosts` generator hosts, between which the connections are divided evenly.

    Each port can be used once per server address.
    """
    each = math.ceil(connections / hosts)
    low, high = ports
    addresses = math.ceil(each / (high - low + 1 - SPARE_PORTS))
    return GeneratorNeed(each, each, each * socket_kb / 2, addresses)


def parse_percent(text: str, what: str = "a precision") -> float:
    """Parse `3%` or `0.03`; `PlanError` for anything outside 0.1–50%."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(%?)", text.strip())
    value = float(found.group(1)) / (100 if found.group(2) else 1) if found else 0.0
    if not 0.001 <= value <= 0.5:
        raise PlanError(f'{what} must be a percentage such as 3% (0.1% to 50%), got "{text}"')
    return value
