"""What this host allows, and how many connections it can hold."""

import resource
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from zoo.host.cgroup import CgroupLimits, parse_amount, read_cgroup

# What a server has open besides connections: jars, libraries, epoll, log, listening sockets.
SERVER_DESCRIPTORS = 500
# Ports left to sockets that linger and to other programs.
SPARE_PORTS = 1_000


class Limits(BaseModel):
    """Host limits that pose as results; None where unknown or unlimited."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    nofile_soft: int | None = None
    nofile_hard: int | None = None
    file_max: int | None = None
    somaxconn: int | None = None
    tcp_max_syn_backlog: int | None = None
    tcp_tw_reuse: int | None = None
    port_low: int | None = None
    port_high: int | None = None
    pid_max: int | None = None
    threads_max: int | None = None
    max_map_count: int | None = None
    nproc: int | None = None
    cgroup: CgroupLimits = CgroupLimits()

    @property
    def ports(self) -> tuple[int, int] | None:
        if self.port_low is None or self.port_high is None:
            return None
        return self.port_low, self.port_high

    def feasible(self, requested: int, addresses: int = 1) -> "Feasible":
        """How many of `requested` connections this host can hold."""
        return feasible_connections(
            requested,
            nofile_hard=self.nofile_hard,
            ports=self.ports,
            file_max=self.file_max,
            addresses=addresses,
        )

    def threads(self) -> "Feasible":
        """How many OS threads one process may have, at two memory maps a thread."""
        bounds = [
            ("ulimit -u", self.nproc),
            ("kernel.threads-max", self.threads_max),
            ("kernel.pid_max", self.pid_max),
            ("cgroup pids.max", self.cgroup.pids),
            ("vm.max_map_count", None if self.max_map_count is None else self.max_map_count // 2),
        ]
        known = [(value, name) for name, value in bounds if value is not None]
        return Feasible(*min(known)) if known else Feasible(0, None)


@dataclass(frozen=True)
class Feasible:
    """`limited_by` is None when nothing stands in the way."""

    actual: int
    limited_by: str | None


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
    bounds: list[tuple[int, str]] = []
    if nofile_hard is not None:
        bounds.append((nofile_hard - SERVER_DESCRIPTORS, f"nofile hard limit {nofile_hard:,}"))
    if ports is not None:
        low, high = ports
        bounds.append(((high - low + 1 - SPARE_PORTS) * addresses, f"ip_local_port_range {low}-{high}"))
    if file_max is not None:
        bounds.append((file_max // 2 - SERVER_DESCRIPTORS, f"fs.file-max {file_max:,}"))
    most, reason = min(bounds, default=(requested, ""))
    if most >= requested:
        return Feasible(requested, None)
    return Feasible(max(0, most // 100 * 100), reason)


def parse_range(text: str | None) -> tuple[int, int] | None:
    """`ip_local_port_range`: two numbers."""
    words = (text or "").split()
    if len(words) != 2:
        return None
    low, high = parse_amount(words[0]), parse_amount(words[1])
    return (low, high) if low is not None and high is not None and low <= high else None


def read_limits(proc: Path = Path("/proc/sys")) -> Limits:
    """The limits of this process and kernel."""
    soft, hard = _rlimit(resource.RLIMIT_NOFILE)
    ports = parse_range(_text(proc / "net/ipv4/ip_local_port_range"))
    return Limits(
        nofile_soft=soft,
        nofile_hard=hard,
        file_max=_number(proc / "fs/file-max"),
        somaxconn=_number(proc / "net/core/somaxconn"),
        tcp_max_syn_backlog=_number(proc / "net/ipv4/tcp_max_syn_backlog"),
        tcp_tw_reuse=_number(proc / "net/ipv4/tcp_tw_reuse"),
        port_low=ports[0] if ports else None,
        port_high=ports[1] if ports else None,
        pid_max=_number(proc / "kernel/pid_max"),
        threads_max=_number(proc / "kernel/threads-max"),
        max_map_count=_number(proc / "vm/max_map_count"),
        nproc=_rlimit(resource.RLIMIT_NPROC)[1],
        cgroup=read_cgroup(),
    )


def _rlimit(which: int) -> tuple[int | None, int | None]:
    soft, hard = resource.getrlimit(which)
    return _bounded(soft), _bounded(hard)


def _bounded(limit: int) -> int | None:
    return None if limit == resource.RLIM_INFINITY else limit


def _number(file: Path) -> int | None:
    return parse_amount(_text(file))


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
