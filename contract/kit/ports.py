"""Ports of the suite's own."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from zoo.host.network import is_free

PORTS = range(21500, 22000)
"""Below the range from which the kernel takes ports for outgoing connections."""


@contextmanager
def free_port() -> Iterator[int]:
    """Reserve a port that nobody uses until the block ends, among all processes of the suite and all users.

    The UDP port of the same number is the lock: it needs no file, and is free again however the process ends.
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
