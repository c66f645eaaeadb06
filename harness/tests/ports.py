"""TCP ports that no other process of any copy of these tests takes, whoever runs it on this machine."""

from __future__ import annotations

import os
import socket

from zoo.host.network import is_free

PORTS = range(22_500, 27_500)
"""Below the range from which the kernel takes ports for outgoing connections."""

LOCKS: list[socket.socket] = []


def claim() -> int:
    """A port for the life of this process. The UDP port of the same number is the lock: it needs no file, and is
    free again however the process ends."""
    first = os.getpid() * 7
    for offset in range(len(PORTS)):
        port = PORTS[(first + offset) % len(PORTS)]
        lock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            lock.bind(("127.0.0.1", port))
        except OSError:
            lock.close()
            continue
        if is_free(port):
            LOCKS.append(lock)
            return port
        lock.close()
    raise RuntimeError(f"no free port in {PORTS.start}-{PORTS.stop - 1}")
