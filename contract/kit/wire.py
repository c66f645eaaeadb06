"""HTTP/1.1 over a plain socket, read strictly: what breaks HTTP is an error here, though a library would forgive it."""

from __future__ import annotations

import os
import re
import select
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

PATIENCE = float(os.environ.get("CONTRACT_PATIENCE", "60"))
"""Seconds after which an expected answer, or the end of a process, counts as missing; looked up at each wait."""


class WireError(AssertionError):
    """The peer broke HTTP's framing, closed, or kept silent where an answer was due."""


class Closed(WireError):
    """The peer ended the connection before a (whole) answer."""


@dataclass(frozen=True)
class Response:
    """One answer: what stood in the head, byte for byte, and the body without its framing."""

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

    @property
    def chunked(self) -> bool:
        return self.header("Transfer-Encoding") is not None


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

    def __init__(self, port: int, host: str = "127.0.0.1", *, slower: float = 0.0) -> None:
        self._patience = PATIENCE + slower
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

    def read(self, method: str = "GET") -> Response:
        """The next final answer; interim ones (1xx) are passed over."""
        while True:
            response = self._read_one(method, time.monotonic() + self._patience)
            if response.status >= 200:
                return response

    def expect_close(self) -> None:
        """The peer must end the connection, and may send nothing more before."""
        deadline = time.monotonic() + PATIENCE
        try:
            while self._fill(deadline):
                pass
        except ConnectionResetError:
            return
        if self._buffer:
            raise WireError(f"unexpected bytes before the end: {bytes(self._buffer[:200])!r}")

    def answer_or_close(self) -> Response | None:
        """What a refused request gets: an answer, or None for a closed connection. Silence is an error."""
        try:
            return self.read()
        except (Closed, ConnectionResetError, BrokenPipeError):
            return None

    @property
    def silent(self) -> bool:
        """True while neither a byte nor the end has arrived."""
        return not self._buffer and not select.select([self.socket], [], [], 0)[0]

    def _read_one(self, method: str, deadline: float) -> Response:
        version, status, headers = self._read_head(deadline)
        head = Response(version, status, headers, b"", self._asked)
        if method == "HEAD" or status < 200 or status in (204, 304):
            return head
        return replace(head, body=self._read_body(head, deadline))

    def _read_body(self, head: Response, deadline: float) -> bytes:
        """Framed in one of the ways that HTTP knows."""
        length, coding = head.header("Content-Length"), head.header("Transfer-Encoding")
        if coding is not None:
            if coding.lower() != "chunked" or length is not None:
                raise WireError(f"Transfer-Encoding is {coding!r}, Content-Length {length!r}")
            return b"".join(iter(lambda: self._read_chunk(deadline), b""))
        if length is not None:
            if not re.fullmatch(r"[0-9]+", length):
                raise WireError(f"Content-Length is {length!r}")
            return self._take(int(length), deadline)
        if not head.closes:
            raise WireError(f"no Content-Length in the {head.status} answer, nor another end of its body")
        while self._fill(deadline):
            pass
        return self._take(len(self._buffer), deadline)

    def _read_chunk(self, deadline: float) -> bytes:
        """The last one is empty; this reader knows no trailers."""
        while (end := self._buffer.find(b"\r\n")) < 0:
            self._need(deadline)
        size = self._take(end + 2, deadline)[:-2]
        if not re.fullmatch(rb"[0-9a-fA-F]+", size):
            raise WireError(f"not a chunk's size: {size[:200]!r}")
        chunk = self._take(int(size, 16) + 2, deadline)
        if not chunk.endswith(b"\r\n"):
            raise WireError(f"a chunk ends with {chunk[-2:]!r}")
        return chunk[:-2]

    def _take(self, size: int, deadline: float) -> bytes:
        while len(self._buffer) < size:
            self._need(deadline)
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _need(self, deadline: float) -> None:
        if not self._fill(deadline):
            raise Closed(f"closed in the middle of a body; left of it: {bytes(self._buffer[:200])!r}")

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


def tries(complaint: str, pause: float = 0.01) -> Iterator[None]:
    """One turn after another for what is due; an error when it is missing once patience ends."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
    raise WireError(complaint)


def fetch(port: int, target: str, method: str = "GET", *, slower: float = 0.0) -> Response:
    """One request on a connection of its own."""
    with Wire(port, slower=slower) as wire:
        return wire.get(target, method)
