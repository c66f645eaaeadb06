"""A network namespace for a run: its own ports, sockets and counters, and nothing reachable from outside.

In the host's namespace, connections to one address share its ephemeral ports: past half of them each connect() searches
them all, and sockets of the cell before linger among them. Inside, the range and the backlog can be wide without
changing the host.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from zoo.model.host import Limits

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
SETTINGS = {
    # servers' ports stay below
    "net/ipv4/ip_local_port_range": "10240 65535",
    "net/core/somaxconn": "65535",
    "net/ipv4/tcp_max_syn_backlog": "65535",
    # sockets of the cell before go at once instead of after 60 s
    "net/ipv4/tcp_max_tw_buckets": "4096",
}


def wrapper() -> list[str] | None:
    """Words in front of a command that start it in a namespace of its own; None where this system refuses."""
    if shutil.which("unshare") is None:
        return None
    # Without root a user namespace gives the right to make one; some systems forbid that.
    words = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--net"]
    done = subprocess.run([*words, "true"], capture_output=True, check=False)
    return words if done.returncode == 0 else None


def widened(limits: Limits) -> Limits:
    """The host's limits as they are inside."""
    low, high = SETTINGS["net/ipv4/ip_local_port_range"].split()
    return limits.model_copy(update={"port_low": int(low), "port_high": int(high)})


def prepare(proc: Path = Path("/proc/sys"), settings: Mapping[str, str] = SETTINGS) -> list[str]:
    """Inside: loopback up, wide limits. Gives the names of settings that could not be made."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))
    refused = []
    for name, value in settings.items():
        try:
            (proc / name).write_text(value, encoding="ascii")
        except OSError:
            refused.append(name.replace("/", "."))
    return refused
