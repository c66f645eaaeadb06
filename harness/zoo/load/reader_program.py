"""A program that keeps slow readers and requests something small next to them.

    python3 reader_program.py HOST:PORT HOST_HEADER LARGE SMALL READERS SECONDS PATIENCE

Each of READERS connections requests the path LARGE and reads nothing of the response. Then the path SMALL is requested
again and again for SECONDS, each time on a new connection. The program prints the microseconds until each of these
responses began as JSON; null if that took longer than PATIENCE seconds or the status was not 2xx.

The program fails if a reader's response has another status than 2xx, because then nothing large is left to read.

It needs no library, because it runs next to the server.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from contextlib import ExitStack

INTERVAL_S = 0.05
RECEIVE_BUFFER = 4_096
"""Bytes of a reader's receive buffer, so that the server's own buffer fills up."""

SETTLE_S = 1.0
"""Time in which the server fills its buffers and its threads block."""

CONNECT_S = 10.0

STATUS = slice(9, 12)
"""Place of the status in the first line of a response."""

Address = tuple[str, int]


def get(path: str, host: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("ascii")


def begin_reader(address: Address, request: bytes) -> socket.socket:
    """Send the request on a new connection, and return the connection."""
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
    reader.settimeout(CONNECT_S)
    reader.connect(address)
    reader.sendall(request)
    return reader


def status_of(reader: socket.socket) -> bytes:
    """Return the status of a response that has begun, without reading it; empty if none has begun."""
    reader.setblocking(False)
    try:
        return reader.recv(STATUS.stop, socket.MSG_PEEK)[STATUS]
    except BlockingIOError:
        return b""


def probe(address: Address, request: bytes, patience_s: float) -> int | None:
    """Return the microseconds until the response begins; None if it does not in time or its status is not 2xx."""
    began = time.monotonic()
    try:
        with socket.create_connection(address, timeout=patience_s) as connection:
            connection.sendall(request)
            connection.settimeout(max(0.001, began + patience_s - time.monotonic()))
            head = connection.recv(RECEIVE_BUFFER)
    except OSError:
        return None
    return round((time.monotonic() - began) * 1e6) if head[STATUS].startswith(b"2") else None


def main(at: str, header: str, large: str, small: str, readers: str, seconds: str, patience: str) -> None:
    host, _, port = at.rpartition(":")
    address, took = (host, int(port)), []
    with ExitStack() as stack:
        slow = [stack.enter_context(begin_reader(address, get(large, header))) for _ in range(int(readers))]
        time.sleep(SETTLE_S)
        for status in filter(None, map(status_of, slow)):
            if not status.startswith(b"2"):
                sys.exit(f"GET {large} returned {status.decode('ascii', 'replace')}, expected 2xx")
        due = time.monotonic()
        end = due + float(seconds)
        while due < end:
            took.append(probe(address, get(small, header), float(patience)))
            due = max(due + INTERVAL_S, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
    json.dump(took, sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
