"""Ports reserved for the suite."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from zoo.host.network import is_free

PORTS = range(21500, 22000)
"""Ports below the range that the kernel uses for outgoing connections."""


@contextmanager
def free_port() -> Iterator[int]:
    """Reserve a free port until the block ends, across all processes of the suite and all users.

    The UDP port of the same number is the lock. It needs no file, and the kernel releases it however the process ends.
    """
    start = os.getpid() * 7
    for offset in range(len(PORTS)):
        port = PORTS[(start + offset) % len(PORTS)]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lock:
            try:
                lock.bind(("127.0.0.1", port))
            except OSError:
                continue
            if is_free(port):
                yield port
                return
    raise RuntimeError(f"no free port in {PORTS.start}-{PORTS.stop - 1}")
