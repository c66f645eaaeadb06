"""HTTP/1.1 over a plain socket, read strictly: what a client library would forgive is an error here."""

from __future__ import annotations

import os
import re
import socket
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self

PATIENCE = float(os.environ.get("CONTRACT_PATIENCE", "20"))
"""Seconds after which an expected answer, or the end of a process, counts as missing."""


class WireError(AssertionError):
    """The peer broke HTTP's framing, closed, or kept silent where an answer was due."""


class Closed(WireError):
    """The peer ended the connection before a (whole) answer."""


@dataclass(frozen=True)
class Response:
    """One answer: what stood in the head, byte for byte, and exactly Content-Length bytes of body."""

    version: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    asked: float
    """When the last bytes before it were sent, in seconds since the epoch."""

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """The value of a header that may stand there once."""
        values = self.all(name)
        if len(values) > 1:
            raise WireError(f"header {name} stands {len(values)} times: {values}")
        return values[0] if values else None

    @property
    def closes(self) -> bool:
        return (self.header("Connection") or "").lower() == "close"


def request(
    target: str,
    method: str = "GET",
    headers: tuple[str, ...] = (),
    body: bytes = b"",
    version: str = "HTTP/1.1",
) -> bytes:
    """The bytes of one request; a body brings its Content-Length along."""
    lines = [f"{method} {target} {version}", "Host: localhost", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


STATUS_LINE = re.compile(r"(HTTP/1\.[01]) ([1-5][0-9]{2})(?: [ -~]*)?")
HEADER_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")


class Wire:
    """A connection to a server."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self._asked = time.time()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def fileno(self) -> int:
        return self.socket.fileno()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self._asked = time.time()
        self.socket.sendall(data)

    def try_send(self, data: bytes) -> None:
        """Send to a peer that may close in the middle, as it may with what it refuses."""
        try:
            self.send(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def get(self, target: str, method: str = "GET") -> Response:
        """One request and its answer on this connection."""
        try:
            self.send(request(target, method))
            return self.read(method)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed(f"closed instead of an answer: {error}") from error

    def read(self, method: str = "GET", patience: float = PATIENCE) -> Response:
        """The next final answer; interim ones (1xx) are passed over."""
        while True:
            response = self._read_one(method, time.monotonic() + patience)
            if response.status >= 200:
                return response

    def expect_close(self, patience: float = PATIENCE) -> None:
        """The peer must end the connection, and may send nothing more before."""
        deadline = time.monotonic() + patience
        try:
            while self._fill(deadline):
                pass
        except ConnectionResetError:
            return
        if self._buffer:
            raise WireError(f"unexpected bytes before the end: {bytes(self._buffer[:200])!r}")

    def answer_or_close(self, patience: float = 5.0) -> Response | None:
        """What a refused request gets: an answer, or None for a closed connection. Silence is an error."""
        try:
            return self.read(patience=patience)
        except (Closed, ConnectionResetError, BrokenPipeError):
            return None

    def silent_for(self, seconds: float) -> bool:
        """True when neither a byte nor the end arrives in that time."""
        self.socket.settimeout(seconds)
        try:
            self._buffer += self.socket.recv(65536)
        except TimeoutError:
            return True
        return False

    def _read_one(self, method: str, deadline: float) -> Response:
        version, status, headers = self._read_head(deadline)
        names = [name.lower() for name, _ in headers]
        if "transfer-encoding" in names:
            raise WireError("Transfer-Encoding instead of Content-Length")
        lengths = [value for name, value in headers if name.lower() == "content-length"]
        if status < 200 or status in (204, 304):
            return Response(version, status, headers, b"", self._asked)
        if len(lengths) != 1 or not re.fullmatch(r"[0-9]+", lengths[0]):
            raise WireError(f"exactly one Content-Length expected in the {status} answer, got {lengths}")
        size = 0 if method == "HEAD" else int(lengths[0])
        while len(self._buffer) < size:
            if not self._fill(deadline):
                raise Closed(f"closed after {len(self._buffer)} of {size} bytes of body")
        body = bytes(self._buffer[:size])
        del self._buffer[:size]
        return Response(version, status, headers, body, self._asked)

    def _read_head(self, deadline: float) -> tuple[str, int, tuple[tuple[str, str], ...]]:
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if not self._fill(deadline):
                raise Closed(f"closed instead of an answer; received {bytes(self._buffer[:200])!r}")
        lines = self._buffer[:end].decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        start = STATUS_LINE.fullmatch(lines[0])
        if not start:
            raise WireError(f"not a status line: {lines[0][:200]!r}")
        headers = []
        for line in lines[1:]:
            header = HEADER_LINE.fullmatch(line)
            if not header:
                raise WireError(f"not a header line: {line[:200]!r}")
            headers.append((header[1], header[2]))
        return start[1], int(start[2]), tuple(headers)

    def _fill(self, deadline: float) -> bool:
        """Take what has arrived; False at the end of the stream."""
        self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            data = self.socket.recv(262144)
        except TimeoutError:
            raise WireError(f"no answer in time; received so far: {bytes(self._buffer[:200])!r}") from None
        self._buffer += data
        return bool(data)


def fetch(port: int, target: str, method: str = "GET") -> Response:
    """One request on a connection of its own."""
    with Wire(port) as wire:
        return wire.get(target, method)
