"""What the guest's first process does first: makes a host of a bare kernel."""

from __future__ import annotations

import ctypes
import os
import resource
import runpy
import socket
from collections.abc import Mapping
from pathlib import Path

from zoo.host import namespace
from zoo.host.limits import parse_range
from zoo.model.host import Limits

NAME = "guest"
PATHS = "/usr/bin:/bin:/java/bin"
NOFILE = 1_048_576
SETTINGS = {
    "fs/nr_open": str(NOFILE),
    "fs/file-max": str(4 * NOFILE),
    "kernel/pid_max": "4194304",
    "kernel/threads-max": "400000",
    "vm/max_map_count": "1048576",
    # wrk asks for 8 bytes a microsecond of its timeout, and uses few of them
    "vm/overcommit_memory": "1",
    # always, as they take no place: while more than half of a backlog is taken, a handshake is given up after 7 s,
    # and here a server may need a minute to accept all
    "net/ipv4/tcp_syncookies": "2",
}
FILE_SYSTEMS = {"/proc": "proc", "/sys": "sysfs", "/dev": "devtmpfs", "/tmp": "tmpfs"}
FINIT_MODULE = 313  # x86_64's number


def limits() -> Limits:
    """Those that `prepare` sets, for a plan that is made before a guest runs."""
    low, high = parse_range(namespace.SETTINGS["net/ipv4/ip_local_port_range"]) or (None, None)
    return Limits(nofile_hard=NOFILE, port_low=low, port_high=high, file_max=4 * NOFILE)


def prepare() -> None:
    """Mounts, modules, loopback, and limits that are in nobody's way."""
    libc = ctypes.CDLL(None, use_errno=True)
    for at, kind in FILE_SYSTEMS.items():
        _done(libc.mount(kind.encode(), at.encode(), kind.encode(), 0, None), f"mount {at}")
    for module in sorted(Path("/modules").glob("*.ko")):
        with module.open("rb") as file:
            _done(libc.syscall(FINIT_MODULE, file.fileno(), b"", 0), f"load {module.name}")
    refused = [*namespace.prepare(), *_set(SETTINGS)]
    if refused:
        print("zoo guest: could not set", *refused, flush=True)
    socket.sethostname(NAME)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, NOFILE))
    resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    os.environ["PATH"] = PATHS


def _set(settings: Mapping[str, str]) -> list[str]:
    refused = []
    for name, value in settings.items():
        try:
            Path("/proc/sys", name).write_text(value, encoding="ascii")
        except OSError:
            refused.append(name.replace("/", "."))
    return refused


def _done(code: int, what: str) -> None:
    if code:
        raise OSError(ctypes.get_errno(), f"cannot {what}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    prepare()
    # not before: some modules look at /proc when they are imported
    runpy.run_module("zoo.runtime.vm.guest", run_name="__main__")
