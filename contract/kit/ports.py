"""Ports of the suite's own."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.host.ports import is_free

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
            if is_free(port):
                yield port
                return
    raise RuntimeError(f"no free port in {PORTS.start}-{PORTS.stop - 1}")


@contextmanager
def this_or_free_port(port: int) -> Iterator[int]:
    if is_free(port):
        yield port
        return
    with free_port() as another:
        yield another
