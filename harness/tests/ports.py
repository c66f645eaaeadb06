"""TCP ports that no other process of these tests uses, for every copy of the tests and every user of this machine."""

from __future__ import annotations

import os
import socket

from zoo.host.network import is_free

PORTS = range(22_500, 27_500)
"""Ports below the range from which the kernel takes ports for outgoing connections."""

LOCKS: list[socket.socket] = []


def claim() -> int:
    """Return a port for the lifetime of this process.

    The UDP port with the same number is the lock. It needs no file, and it is released no matter how the process ends.
    """
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
