"""Requests that the harness itself sends: to probe a server, to read its `/info`, and to time rounds of `/cpu`."""

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

from zoo.core.manifest import Entry, Model

BODY = b"Hello, World!"
DATE_SLACK_S = 5.0
MOST_INFO_BYTES = 1 << 20
SAMPLE_BYTES = 60
ROUND_TRIPS = 21
LINK_BYTES = 16_777_216
"""Maximum size of a `/bytes` response."""

LINK_TIMEOUT_S = 20.0

ModelName = Literal["platform-thread", "virtual-thread", "event-loop", "async-task", "async-servlet", "goroutine"]


def get(
    url: str, path: str, timeout_s: float, host: str | None = None, most_bytes: int | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    """Return the response and its body, whatever its status, without using a proxy from the environment.

    `url` is the server's; `host` is sent as the Host header instead of the URL's. Raise `OSError` or `HTTPException` if
    no response arrives, and `ValueError` if the URL is invalid.
    """
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers={"Host": host} if host else {})
        response = connection.getresponse()
        return response, response.read(most_bytes)
    finally:
        connection.close()


def hello_fault(url: str, timeout_s: float = 5.0) -> str | None:
    """Return what is wrong with the response to `GET /`; None if it is as the contract says."""
    try:
        response, body = get(url, "/", timeout_s)
    except (OSError, http.client.HTTPException) as error:
        return f"GET / returned no response ({error or type(error).__name__})"
    if response.status != 200 or body != BODY:
        return f"GET / returned {response.status} with {body[:40]!r}, expected 200 with {BODY!r}"
    for name, expected in (("Content-Type", "text/plain;charset=utf-8"), ("Content-Length", str(len(BODY)))):
        if response.getheader(name) != expected:
            return f"GET / returned {name}: {response.getheader(name)}, expected {expected}"
    return _date_fault(response.getheader("Date"))


def model_fault(info: Info, entry: Entry) -> str | None:
    """Return what in `/info` differs from the entry's manifest; None if nothing does. Pure."""
    model = entry.variant.model
    if (info.server, info.variant, info.model) != (entry.server.name, entry.variant.name, model):
        return f"/info reports {info.server}:{info.variant} ({info.model}), expected {entry.id} ({model})"
    if info.virtual != (model is Model.VIRTUAL_THREAD):
        return (
            f"/info ran on thread {info.thread!r} (virtual: {info.virtual}), which does not match "
            f"the thread model of {entry.id}"
        )
    return None


def _date_fault(date: str | None) -> str | None:
    try:
        age = abs((datetime.now(UTC) - parsedate_to_datetime(date or "")).total_seconds())
    except (TypeError, ValueError):
        return f"GET / returned Date: {date}, expected the current time"
    return f"GET / returned a Date {age:.0f} s from the current time" if age > DATE_SLACK_S else None


class InfoError(Exception):
    """The lack of a response from `/info`, or a response that violates the contract."""


class ServerLimits(BaseModel):
    """Effective limits of a server. None means unlimited, for `nofile` not reported."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    max_threads: int | None
    max_connections: int | None
    backlog: int
    nofile: int | None = None


class Info(BaseModel):
    """Exactly the contract's keys. JVM values are None without a JVM, and optional ones if a server omits them."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    server: str
    variant: str
    model: ModelName
    framework: str
    framework_version: str
    runtime: str
    runtime_version: str
    transport: str | None = None
    """How the server waits for its sockets, such as `epoll` or `nio`; None for a server that does not say."""

    pid: int = Field(gt=0)
    processors: int | None = Field(default=None, gt=0)
    thread: str
    virtual: bool
    os_threads: int | None = Field(default=None, gt=0)
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
    """Parse an `/info` response; raise an InfoError that names each missing, extra or wrongly typed key."""
    try:
        return Info.model_validate_json(text)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in error.errors())
        raise InfoError("/info does not match the contract: " + "; ".join(faults)) from error


def fetch_info(url: str, timeout: float = 5.0) -> Info:
    """Fetch `/info` from a server; `url` has no path. Raise InfoError for any failure."""
    address = url.rstrip("/") + "/info"
    try:
        response, body = get(url, urllib.parse.urlsplit(address).path, timeout, most_bytes=MOST_INFO_BYTES)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise InfoError(f"{address}: {error}") from error
    if response.status != 200:
        raise InfoError(f"{address} returned {response.status}")
    return parse_info(body)


@dataclass(frozen=True)
class Response:
    """A single response. `size` includes its headers; `sample` is its status line and the body's first bytes.

    A `chunked` body may be cut at different places each time, which changes its size a little.
    """

    status: int
    size: int
    sample: str
    chunked: bool = False

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


def responses(url: str, count: int, timeout_s: float = 5.0, host: str | None = None) -> list[Response]:
    """Send `count` requests, one after the other; return the responses up to the first that does not arrive.

    `host` is sent as the Host header instead of the URL's.
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
    """A stream that counts the bytes received on a connection; HTTPResponse uses it like a socket."""

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
    """The network between a generator and the server."""

    round_trip_us: float  # the median of several TCP handshakes
    bandwidth_mb_s: float  # 10⁶ bytes per second of one large response


def link(url: str) -> Link:
    at = urllib.parse.urlsplit(url)
    handshakes = [_handshake_s(at.hostname or "", at.port or 80) for _ in range(ROUND_TRIPS)]
    before = time.monotonic()
    response, body = get(url, f"/bytes?n={LINK_BYTES}", LINK_TIMEOUT_S)
    if response.status != 200:
        raise OSError(f"{url}/bytes returned {response.status}")
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


def seconds_per_round(url: str, timeout_s: float = 30.0, warm_s: float = WARM_S) -> float:
    """Return the seconds that one round takes on the idle, warm server at this URL.

    On a fresh JVM a round takes twenty times as long, so the server receives requests for `warm_s` before it is timed.
    The result is the median of five slopes, because even warm code runs at one of several speeds, depending on how it
    was compiled.
    """
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)

    def time_request(rounds: int) -> float:
        started = time.perf_counter()
        connection.request("GET", f"/cpu?rounds={rounds}")
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise OSError(f"/cpu?rounds={rounds} returned {response.status}")
        return time.perf_counter() - started

    try:
        warm = time.monotonic() + warm_s
        while time.monotonic() < warm:
            slope(time_request)
        return statistics.median(slope(time_request) for _ in range(SLOPES))
    finally:
        connection.close()


def slope(time_request: Callable[[int], float]) -> float:
    """Return the seconds per round; `time_request` returns the seconds for a request with a given number of rounds.

    The slope comes from two request sizes, which leaves out the cost of a request other than its rounds. For each size
    the fastest of 15 requests counts, because other work on the machine only makes a request slower. Pure.
    """
    many = 1_000
    while time_request(many) < ENOUGH_S and many < MOST_ROUNDS:
        many = min(2 * many, MOST_ROUNDS)
    few = many // 4
    fastest = dict.fromkeys((few, many), math.inf)
    for _ in range(SAMPLES):
        for rounds in (few, many):
            fastest[rounds] = min(fastest[rounds], time_request(rounds))
    return (fastest[many] - fastest[few]) / (many - few)
