"""Ports of the suite's own."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PORTS = range(21500, 22000)
"""Below the range from which the kernel takes ports for outgoing connections."""


@contextmanager
def free_port() -> Iterator[int]:
    """A port nobody uses, reserved among all processes of the suite by a lock until the block ends."""
    locks = Path(tempfile.gettempdir()) / f"contract-ports-{os.getuid()}"
    locks.mkdir(exist_ok=True)
    start = os.getpid() * 7
    for offset in range(len(PORTS)):
        port = PORTS[(start + offset) % len(PORTS)]
        with (locks / str(port)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            if _bindable(port):
                yield port
                return
    raise RuntimeError(f"no free port in {PORTS.start}-{PORTS.stop - 1}")


def _bindable(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
