"""Strict HTTP/1.1 client over a plain socket: it rejects protocol errors that libraries tolerate."""

from __future__ import annotations

import os
import re
import select
import socket
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE = float(os.environ.get("CONTRACT_PATIENCE", "60"))
"""Seconds to wait for an expected response or for the end of a process; read at each wait."""


class WireError(AssertionError):
    """Broken framing, closed connection or missing response."""


class Closed(WireError):
    """Connection that the peer ended before a complete response."""


@dataclass(frozen=True)
class Response:
    """HTTP response: the head, byte for byte, and the body without its framing."""

    version: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    asked: float
    """Time when the last bytes before the response were sent, in seconds since the epoch."""

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name: str) -> str | None:
        """Return the value of a header that may appear only once, or None."""
        values = self.all(name)
        if len(values) > 1:
            raise WireError(f"header {name} appears {len(values)} times: {values}")
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
    """Return the bytes of one request, with a Content-Length if it has a body."""
    lines = [f"{method} {target} {version}", "Host: localhost", *headers]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


STATUS_LINE = re.compile(r"(HTTP/1\.[01]) ([1-5][0-9]{2})(?: [ -~]*)?")
HEADER_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")


class Wire:
    """Connection to a server."""

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

    @property
    def port(self) -> int:
        """Local port of this connection."""
        return int(self.socket.getsockname()[1])

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self._asked = time.time()
        self.socket.sendall(data)

    def try_send(self, data: bytes) -> None:
        """Send to a peer that may close the connection meanwhile, for example because it rejects the request."""
        try:
            self.send(data)
        except (BrokenPipeError, ConnectionResetError):
            return

    def get(self, target: str, method: str = "GET") -> Response:
        """Send one request on this connection and return its response."""
        try:
            self.send(request(target, method))
            return self.read(method)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed(f"closed instead of an answer: {error}") from error

    def read(self, method: str = "GET") -> Response:
        """Return the next final response; interim ones (1xx) are skipped."""
        while True:
            response = self._read_one(method, time.monotonic() + self._patience)
            if response.status >= 200:
                return response

    def expect_close(self) -> None:
        """Expect the peer to end the connection without sending anything more."""
        deadline = time.monotonic() + PATIENCE
        try:
            while self._fill(deadline):
                pass
        except ConnectionResetError:
            return
        if self._buffer:
            raise WireError(f"unexpected bytes before the end: {bytes(self._buffer[:200])!r}")

    def answer_or_close(self) -> Response | None:
        """Return the response to a rejected request, or None for a closed connection. Silence is an error."""
        try:
            return self.read()
        except (Closed, ConnectionResetError, BrokenPipeError):
            return None

    @property
    def silent(self) -> bool:
        """True until a byte or the end of the connection arrives."""
        return not self._buffer and not select.select([self.socket], [], [], 0)[0]

    def _read_one(self, method: str, deadline: float) -> Response:
        version, status, headers = self._read_head(deadline)
        head = Response(version, status, headers, b"", self._asked)
        if method == "HEAD" or status < 200 or status in (204, 304):
            return head
        return replace(head, body=self._read_body(head, deadline))

    def _read_body(self, head: Response, deadline: float) -> bytes:
        """Read a body in any of the framings that HTTP defines."""
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
            raise WireError(f"no Content-Length in the {head.status} response, and nothing else ends its body")
        while self._fill(deadline):
            pass
        return self._take(len(self._buffer), deadline)

    def _read_chunk(self, deadline: float) -> bytes:
        """Read one chunk; the last one is empty. Trailers are not supported."""
        while (end := self._buffer.find(b"\r\n")) < 0:
            self._need(deadline)
        size = self._take(end + 2, deadline)[:-2]
        if not re.fullmatch(rb"[0-9a-fA-F]+", size):
            raise WireError(f"not a chunk size: {size[:200]!r}")
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
            raise Closed(f"closed in the middle of a body; unread bytes: {bytes(self._buffer[:200])!r}")

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
        """Read more data; return False at the end of the stream."""
        self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            data = self.socket.recv(262144)
        except TimeoutError:
            raise WireError(f"no answer in time; received so far: {bytes(self._buffer[:200])!r}") from None
        self._buffer += data
        return bool(data)


def tries(complaint: str, pause: float = 0.01) -> Iterator[None]:
    """Yield again and again until the caller stops; raise `complaint` when the time is up."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
    raise WireError(complaint)


def in_transit(sender: Collection[int], receiver: Collection[int]) -> int:
    """Return the bytes between these local ports that are unsent or unread, from /proc/net/tcp."""
    total = 0
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text(encoding="ascii").splitlines()[1:]:
            _, *ends, _, queues, _ = line.split(maxsplit=5)
            local, remote = (int(end.rpartition(":")[2], 16) for end in ends)
            unsent, unread = (int(queue, 16) for queue in queues.split(":"))
            if local in sender and remote in receiver:
                total += unsent
            if local in receiver and remote in sender:
                total += unread
    return total


def wait_until_read(port: int, wires: Collection[Wire]) -> None:
    """Wait until a local server has read all bytes sent to it, so that it reads the next ones separately."""
    for _ in tries("the server does not read what it was sent", pause=0.001):
        if in_transit({wire.port for wire in wires}, {port}) == 0:
            return


def fetch(port: int, target: str, method: str = "GET", *, slower: float = 0.0) -> Response:
    """Send one request on a separate connection and return its response."""
    with Wire(port, slower=slower) as wire:
        return wire.get(target, method)
