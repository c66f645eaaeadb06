"""What this host allows, and how many connections it can hold."""

import resource
from pathlib import Path

from zoo.host.cgroup import parse_amount, read_cgroup
from zoo.model.host import Limits


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
