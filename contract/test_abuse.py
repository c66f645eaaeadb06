"""Tests of slow clients, floods, ambiguous framing and stalled readers: each affects only its own connection."""

from __future__ import annotations

import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from kit.delays import CROWD, connections
from kit.rules import about, expect_hello, expect_served, pattern
from kit.server import HEAP_MB, Server
from kit.wire import Wire, WireError, fetch, request

POOLED = ("platform-thread", "async-servlet")
"""Thread models that write a response on a pool thread, which a stalled reader blocks."""

IDLE = 10_000

HIDDEN = request("/bytes?n=27")
LAST = request("/cpu?rounds=0")

AMBIGUOUS = {
    "length-and-chunked": ("Transfer-Encoding: chunked", f"Content-Length: {5 + len(HIDDEN)}"),
    "chunked-and-length": (f"Content-Length: {5 + len(HIDDEN)}", "Transfer-Encoding: chunked"),
    "unknown-coding": ("Transfer-Encoding: xchunked",),
    "identity": ("Transfer-Encoding: identity",),
    "coding-with-parameter": ("Transfer-Encoding: chunked;q=1",),
    "coding-after-tab": ("Transfer-Encoding:\tchunked", f"Content-Length: {5 + len(HIDDEN)}"),
    "two-codings": ("Transfer-Encoding: chunked", "Transfer-Encoding: identity"),
    "space-before-colon": (f"Content-Length : {5 + len(HIDDEN)}",),
    "folded-length": (f"Content-Length:\r\n {5 + len(HIDDEN)}",),
    "length-with-sign": (f"Content-Length: +{5 + len(HIDDEN)}",),
    "list-of-lengths": (f"Content-Length: {5 + len(HIDDEN)}, 0",),
}
"""Headers of a POST whose body is `0`, an empty line and a request, which only one reading of the headers hides."""

ODD = {
    "nul-in-header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
    "nul-in-target": b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bytes-above-127-in-target": b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bytes-above-127-in-header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: \xc3\x28\r\n\r\n",
    "folded-header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n",
    "bare-line-feeds": b"GET / HTTP/1.1\nHost: localhost\n\n",
    "bare-carriage-return": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\rb\r\n\r\n",
    "http-0.9": b"GET /\r\n\r\n",
    "http-1.2": b"GET / HTTP/1.2\r\nHost: localhost\r\n\r\n",
    "http-2-preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9),
    "no-host": b"GET / HTTP/1.1\r\n\r\n",
    "two-hosts": b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
}


@contextmanager
def many(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Open plain connections, and raise this process's soft descriptor limit for them."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with ExitStack() as opened:
            yield [opened.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(count)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_slow_headers_hold_up_nobody(server: Server) -> None:
    head = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "
    with connections(server.port, CROWD) as wires:
        for place in range(len(head)):
            for wire in wires:
                wire.send(head[place : place + 1])
            if place % 10 == 0:
                expect_hello(fetch(server.port, "/"))
    expect_served(server)


def test_slow_bodies_cost_no_more_than_their_connection(server: Server) -> None:
    """Check that slow bodies block a pool for at most its upload timeout."""
    with connections(server.port, CROWD) as wires:
        for wire in wires:
            wire.send(request("/", "POST", ("Content-Length: 100000",)) + b"x")
        expect_served(server)
        for wire in wires:
            wire.try_send(b"x")
    expect_served(server)


def test_idle_connections_beside_live_ones(server: Server) -> None:
    with many(server.port, IDLE):
        expect_served(server)
    expect_served(server)


def test_no_hidden_request_is_answered(server: Server) -> None:
    """Check that if a body's length is ambiguous, the connection ends before the body can be read as a request."""
    for name, headers in AMBIGUOUS.items():
        with about(name), Wire(server.port) as wire:
            wire.try_send(request("/", "POST", headers) + b"0\r\n\r\n" + HIDDEN + LAST)
            try:
                for _ in range(3):
                    answer = wire.read()
                    assert answer.body != pattern(27), "the hidden request was answered"
            except (WireError, OSError):
                pass
    expect_served(server)


def test_odd_requests_cost_their_own_connection(server: Server) -> None:
    for name, data in ODD.items():
        with about(name):
            with Wire(server.port) as wire:
                wire.try_send(data)
                with suppress(OSError):
                    wire.socket.shutdown(socket.SHUT_WR)
                    wire.socket.recv(65_536)
            expect_hello(fetch(server.port, "/"))


def test_readers_that_stop_take_bounded_memory(server: Server) -> None:
    """Check the memory, and that others are served while a pool has a free thread (each stalled reader takes one)."""
    before = server.resident_mb()
    count = 150 if server.target.model in POOLED else 200
    with connections(server.port, count) as wires:
        for wire in wires:
            wire.send(request("/bytes?n=16777216"))
        for wire in wires:
            wire.socket.recv(1)
        expect_served(server)
        grown = server.resident_mb() - before
        assert grown < (HEAP_MB if server.target.jvm else 400), f"{count} readers that stopped took {grown} MB"
    expect_served(server)
