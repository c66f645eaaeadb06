"""Sends the request that the load generators send, and measures the response as it comes over the wire."""

from __future__ import annotations

import http.client
import io
import socket
import urllib.parse
from dataclasses import dataclass

SAMPLE_BYTES = 60


@dataclass(frozen=True)
class Response:
    """`size` counts headers and body. `sample` is the status line and the first bytes of the body.

    A `chunked` body may be cut at other places each time, which changes its size a little.
    """

    status: int
    size: int
    sample: str
    chunked: bool = False

    @property
    def good(self) -> bool:
        return 200 <= self.status < 300


def responses(url: str, count: int, timeout_s: float = 5.0, host: str | None = None) -> list[Response]:
    """Send so many requests, one after the other; return the responses up to the first that does not come.

    `host` is sent as the Host header in place of the URL's.
    """
    found: list[Response] = []
    for _ in range(count):
        try:
            found.append(_response(url, timeout_s, host))
        except (OSError, http.client.HTTPException):
            break
    return found


def _response(url: str, timeout_s: float, host: str | None) -> Response:
    parts = urllib.parse.urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=timeout_s) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host or parts.netloc}\r\n\r\n".encode("ascii"))
        received = _Received(connection)
        response = http.client.HTTPResponse(received, method="GET")  # type: ignore[arg-type]
        response.begin()
        chunked = bool(response.chunked)
        body = response.read()
    line = f"HTTP/1.1 {response.status} {response.reason}".rstrip()
    where = response.getheader("Location")
    sample = f"{line}, " + (f"Location: {where}, " if where else "") + repr(body[:SAMPLE_BYTES])
    return Response(response.status, received.size, sample, chunked)


class _Received(io.RawIOBase):
    """Counts the bytes that a connection gives; HTTPResponse takes it for a socket."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.size = 0

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        count = self._connection.recv_into(buffer)
        self.size += count
        return count
