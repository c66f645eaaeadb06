"""Requests that the harness itself sends: to probe a server, to read its `/info`, and to time what a load costs."""

from __future__ import annotations

import http.client
import io
import math
import socket
import statistics
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zoo.catalog.manifest import Entry, Model

BODY = b"Hello, World!"
DATE_SLACK_S = 5.0
MOST_INFO_BYTES = 1 << 20
SAMPLE_BYTES = 60
ROUND_TRIPS = 21
LINK_BYTES = 16_777_216
"""The most that `/bytes` gives at once."""

LINK_TIMEOUT_S = 20.0

ModelName = Literal["platform-thread", "virtual-thread", "event-loop", "async-task", "async-servlet"]


def get(
    url: str, path: str, timeout_s: float, host: str | None = None, most_bytes: int | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    """Return the response and its body, whatever its status; a proxy of the environment is not used.

    `url` is the server's; `host` is sent as the Host header in place of the URL's. `OSError` or `HTTPException` when no
    response comes, `ValueError` where the URL is none.
    """
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        answer = connection.getresponse()
        return answer, answer.read(most_bytes)
    finally:
        connection.close()


def hello_fault(url: str, timeout_s: float = 5.0) -> str | None:
    """What is wrong with the answer to `GET /`; None when it is the contract's."""
    try:
        answer, body = get(url, "/", timeout_s)
    except (OSError, http.client.HTTPException) as error:
        return f"GET / gave no answer ({error or type(error).__name__})"
    if answer.status != 200 or body != BODY:
        return f"GET / answered {answer.status} with {body[:40]!r}, expected 200 with {BODY!r}"
    for name, expected in (("Content-Type", "text/plain;charset=utf-8"), ("Content-Length", str(len(BODY)))):
        if answer.getheader(name) != expected:
            return f"GET / has {name}: {answer.getheader(name)}, expected {expected}"
    return _date_fault(answer.getheader("Date"))


def model_fault(info: Info, entry: Entry) -> str | None:
    """What in `/info` is not as the entry's manifest claims. Pure."""
    model = entry.variant.model
    if (info.server, info.variant, info.model) != (entry.server.name, entry.variant.name, model):
        return f"/info says {info.server}:{info.variant} ({info.model}), expected {entry.id} ({model})"
    if info.virtual != (model is Model.VIRTUAL_THREAD):
        return f"/info ran on thread {info.thread!r} (virtual: {info.virtual}), which is not what {entry.id} claims"
    return None


def _date_fault(date: str | None) -> str | None:
    try:
        age = abs((datetime.now(UTC) - parsedate_to_datetime(date or "")).total_seconds())
    except (TypeError, ValueError):
        return f"GET / has Date: {date}, expected the time now"
    return f"GET / has a Date {age:.0f} s away from now" if age > DATE_SLACK_S else None


class InfoError(Exception):
    """No answer, or not the one the contract promises."""


class ServerLimits(BaseModel):
    """None: unbounded, or (nofile) unknown."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_threads: int | None
    max_connections: int | None
    backlog: int
    nofile: int | None


class Info(BaseModel):
    """The contract's keys, no more and no less; None where there is no JVM, and for direct buffers where none tells."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    server: str
    variant: str
    model: ModelName
    framework: str
    framework_version: str
    runtime: str
    runtime_version: str
    transport: str | None = None
    """How the server waits for its sockets, as in `epoll` or `nio`; None for a server that does not say."""

    pid: int = Field(gt=0)
    processors: int = Field(gt=0)
    thread: str
    virtual: bool
    os_threads: int = Field(gt=0)
    heap_used: int | None
    heap_committed: int | None
    heap_max: int | None
    direct_used: int | None = None
    gc: list[str]
    gc_count: int = Field(ge=0)
    gc_time_ms: int = Field(ge=0)
    requests: int = Field(ge=0)
    limits: ServerLimits


def parse_info(text: str | bytes) -> Info:
    """InfoError names each key that is missing, extra or of the wrong type."""
    try:
        return Info.model_validate_json(text)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in error.errors())
        raise InfoError("/info is not as promised: " + "; ".join(faults)) from error


def fetch_info(url: str, timeout: float = 5.0) -> Info:
    """`url` is the server's, without a path; any failure is an InfoError."""
    address = url.rstrip("/") + "/info"
    try:
        answer, body = get(url, urllib.parse.urlsplit(address).path, timeout, most_bytes=MOST_INFO_BYTES)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise InfoError(f"{address}: {error}") from error
    if answer.status != 200:
        raise InfoError(f"{address} answered {answer.status}")
    return parse_info(body)


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


@dataclass(frozen=True)
class Link:
    """What lies between a generator and the server."""

    round_trip_us: float  # the median of some TCP handshakes
    bandwidth_mb_s: float  # 10⁶ bytes per second of one large response


def link(url: str) -> Link:
    at = urllib.parse.urlsplit(url)
    handshakes = [_handshake_s(at.hostname or "", at.port or 80) for _ in range(ROUND_TRIPS)]
    before = time.monotonic()
    answer, body = get(url, f"/bytes?n={LINK_BYTES}", LINK_TIMEOUT_S)
    if answer.status != 200:
        raise OSError(f"{url}/bytes answered {answer.status}")
    took_s = time.monotonic() - before
    return Link(1e6 * statistics.median(handshakes), len(body) / 1e6 / took_s)


def _handshake_s(host: str, port: int) -> float:
    before = time.monotonic()
    with socket.create_connection((host, port), LINK_TIMEOUT_S):
        return time.monotonic() - before


ENOUGH_S = 0.02
MOST_ROUNDS = 10_000_000
SAMPLES = 15
WARM_S = 5.0
SLOPES = 5


def seconds_a_round(url: str, timeout_s: float = 30.0, warm_s: float = WARM_S) -> float:
    """What one round costs the idle server at this URL when it is warm: to a fresh JVM it costs twenty times as much.

    It is asked for `warm_s` before it is timed; then the median of five slopes, as even warm code runs at one of
    several speeds, by how it was compiled.
    """
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)

    def ask(rounds: int) -> float:
        begun = time.perf_counter()
        connection.request("GET", f"/cpu?rounds={rounds}")
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise OSError(f"/cpu?rounds={rounds} answered {answer.status}")
        return time.perf_counter() - begun

    try:
        warm = time.monotonic() + warm_s
        while time.monotonic() < warm:
            slope(ask)
        return statistics.median(slope(ask) for _ in range(SLOPES))
    finally:
        connection.close()


def slope(ask: Callable[[int], float]) -> float:
    """Seconds a round, where `ask` gives the seconds that a request with so many rounds took.

    The difference of two request sizes, so that what a request costs besides its rounds is left out; of each the
    fastest of 15, as whatever else happens on the machine only makes a request longer. Pure.
    """
    many = 1_000
    while ask(many) < ENOUGH_S and many < MOST_ROUNDS:
        many = min(2 * many, MOST_ROUNDS)
    few = many // 4
    fastest = dict.fromkeys((few, many), math.inf)
    for _ in range(SAMPLES):
        for rounds in (few, many):
            fastest[rounds] = min(fastest[rounds], ask(rounds))
    return (fastest[many] - fastest[few]) / (many - few)
