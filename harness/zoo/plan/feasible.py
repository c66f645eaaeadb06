"""How many connections and threads this host can hold, and what limits them: why 25k becomes 19,500. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from zoo.model.host import Limits

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
    """How many of `requested` connections a host with these limits can hold."""
    found = feasible_connections(
        requested,
        nofile_hard=limits.nofile_hard,
        ports=limits.ports,
        file_max=limits.file_max,
        addresses=addresses * limits.generators,
    )
    host = limits.ports_host if found.setting == "ports" else limits.server_host
    return replace(found, limited_by=f"{found.limited_by} on {host}") if found.setting and host else found


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


def feasible_connections(
    requested: int,
    *,
    nofile_hard: int | None,
    ports: tuple[int, int] | None,
    file_max: int | None = None,
    addresses: int = 1,
) -> Feasible:
    """The largest count up to `requested`, rounded down to hundreds when a limit cuts it.

    The server needs a descriptor a connection. The generator can be split over processes, so its own limit does not
    count, but all share the ephemeral ports of the server's `addresses`. The kernel-wide bound counts both ends.
    """
    bounds: list[tuple[int, str, Setting]] = []
    if nofile_hard is not None:
        bounds.append((nofile_hard - SERVER_DESCRIPTORS, f"nofile hard limit {nofile_hard:,}", "descriptors"))
    if ports is not None:
        low, high = ports
        bounds.append(((high - low + 1 - SPARE_PORTS) * addresses, f"ip_local_port_range {low}-{high}", "ports"))
    if file_max is not None:
        bounds.append((file_max // 2 - SERVER_DESCRIPTORS, f"fs.file-max {file_max:,}", "files"))
    most, reason, setting = min(bounds, default=(requested, "", None))
    if most >= requested:
        return Feasible(requested, None)
    return Feasible(max(0, most // 100 * 100), reason, setting)
