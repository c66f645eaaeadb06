"""Tests of the bytes on a connection: split requests, pipelines, rejected bodies, keep-alive and HTTP/1.0."""

from collections.abc import Iterator
from itertools import permutations

import pytest
from kit.delays import connections
from kit.rules import (
    BINARY,
    GOOD_TARGETS,
    JSON,
    TEXT,
    about,
    date_of,
    expect,
    expect_hello,
    expect_not_allowed,
    expect_status,
    pattern,
)
from kit.targets import Target
from kit.wire import Closed, Response, Wire, request, tries, wait_until_read

SPLIT = b"GET /bytes?n=27&x=1 HTTP/1.1\r\nHost: localhost\r\nX-Padding: abc\r\n\r\n"
BATCHES, BATCH = 11, 100

LENGTH = f"Content-Length: {5 + len(SPLIT)}"
"""Header with the length of the empty chunk and the request after it."""

CHUNKED = "Transfer-Encoding: chunked"
CODINGS = ("gzip", "xchunked", "identity", "chunked")


def ambiguous_framings() -> Iterator[tuple[str, ...]]:
    """Yield headers that give a body two lengths, or a coding that the server does not know, in every order."""
    yield from permutations((CHUNKED, LENGTH))
    for coding in CODINGS:
        header = f"Transfer-Encoding: {coding}"
        yield from permutations((CHUNKED, header))
        yield from permutations((CHUNKED, header, LENGTH))
        yield from permutations(("TRANSFER-encoding:\tChUnKeD \t", f"transfer-encoding:{coding.upper()}"))
        for first, second in permutations(("chunked", coding)):
            yield (f"Transfer-Encoding: {first}, {second}",)
        if coding != "chunked":
            yield (header,)
            yield from permutations((header, LENGTH))
    yield ("Transfer-Encoding: chunked;q=1",)
    yield ('Transfer-Encoding: "chunked"',)


def expect_27(response: Response) -> None:
    expect(response, BINARY, pattern(27))


def test_request_split_at_every_byte(port: int) -> None:
    """Open one connection per cut, and send the second parts when the server has read all the first ones."""
    with connections(port, len(SPLIT) - 1) as wires:
        for cut, wire in enumerate(wires, 1):
            wire.send(SPLIT[:cut])
        wait_until_read(port, wires)
        for cut, wire in enumerate(wires, 1):
            wire.send(SPLIT[cut:])
        for cut, wire in enumerate(wires, 1):
            with about(f"cut after byte {cut}"):
                expect_27(wire.read())


def test_request_byte_by_byte(port: int) -> None:
    with Wire(port) as wire:
        for byte in SPLIT:
            wire.send(bytes([byte]))
            wait_until_read(port, [wire])
        expect_27(wire.read())
        expect_hello(wire.get("/"))


def test_second_request_begins_in_the_first_ones_segment(port: int) -> None:
    """Check that the first response does not wait for the rest of the second request, which is sent only after it."""
    for cut in range(1, len(SPLIT), 5):
        with Wire(port) as wire:
            wire.send(request("/") + SPLIT[:cut])
            expect_hello(wire.read())
            wire.send(SPLIT[cut:])
            expect_27(wire.read())


def test_pipeline_is_answered_in_order(port: int) -> None:
    """Send slow, fast, large, small and bad requests in one segment; a rejection may be the last response."""
    with Wire(port) as wire:
        wire.send(
            request("/sleep?ms=150")
            + request("/")
            + request("/bytes?n=70000")
            + request("/cpu?rounds=0")
            + request("/bytes?n=27", "HEAD")
            + request("/sleep?ms=30")
            + request("/info")
            + request("/bytes?n=0")
            + request("/nope")
            + request("/bytes?n=27")
        )
        expect_hello(wire.read())
        expect_hello(wire.read())
        expect(wire.read(), BINARY, pattern(70_000))
        expect(wire.read(), TEXT, b"0" * 64)
        expect_status(wire.read("HEAD"), 200)
        expect_hello(wire.read())
        expect(wire.read(), JSON)
        expect(wire.read(), BINARY, b"")
        refusal = wire.read()
        expect_status(refusal, 404)
        if refusal.closes:
            wire.expect_close()
        else:
            expect_27(wire.read())


def test_keep_alive_without_a_limit_in_long_pipelines(port: int) -> None:
    with Wire(port) as wire:
        for batch in range(BATCHES):
            try:
                wire.send(b"".join(request(f"/bytes?n={size}") for size in range(BATCH)))
                for size in range(BATCH):
                    response = wire.read()
                    expect(response, BINARY, pattern(size))
                    assert not response.closes, f"Connection: close after {batch * BATCH + size + 1} requests"
            except (Closed, OSError) as error:
                raise AssertionError(f"connection ended after {batch * BATCH} requests or more: {error}") from error


@pytest.mark.parametrize(
    "body",
    [b"GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n", b"y" * 100_000, None],
    ids=["looks-like-a-request", "100-kB", "chunked"],
)
def test_body_of_a_post(port: int, body: bytes | None) -> None:
    """Check that the body is discarded or the connection ends, and that the body is never read as a request."""
    chunked = request("/", "POST", ("Transfer-Encoding: chunked",)) + b"5\r\nhello\r\n0\r\n\r\n"
    with Wire(port) as wire:
        wire.try_send((chunked if body is None else request("/", "POST", body=body)) + request("/bytes?n=27"))
        expect_not_allowed(wire.read())
        try:
            expect_27(wire.read())
        except (Closed, ConnectionResetError):
            wire.expect_close()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_ambiguous_framing_is_refused_and_hides_no_request(port: int, method: str) -> None:
    """Check that the server returns 400 or 501 (unknown coding), and closes before it reads the hidden request.

    HTTP allows a framework to serve a request with one `chunked` and a length, but it must close the connection then.
    """
    for headers in ambiguous_framings():
        with about(f"{method} with {headers}"), Wire(port) as wire:
            wire.try_send(request("/", method, headers) + b"0\r\n\r\n" + SPLIT)
            response = wire.read()
            if sorted(headers) != sorted((CHUNKED, LENGTH)):
                assert response.status in (400, 501), f"status {response.status} instead of 400 or 501"
            wire.expect_close()


@pytest.mark.parametrize("header", [CHUNKED, "transfer-ENCODING:\tChUnKeD \t"], ids=["usual", "odd"])
def test_one_chunked_is_understood_however_it_is_spelled(port: int, header: str) -> None:
    with Wire(port) as wire:
        wire.send(request("/", "GET", (header,)) + b"5\r\nhello\r\n0\r\n\r\n")
        expect_hello(wire.read())


def test_refused_requests_keep_the_connection_or_say_that_they_close_it(port: int) -> None:
    for path, method in (("/nope", "GET"), ("/", "POST"), ("/sleep?ms=x", "GET")):
        with about(f"{method} {path}"), Wire(port) as wire:
            if wire.get(path, method).closes:
                wire.expect_close()
            else:
                expect_hello(wire.get("/"))


def test_connection_close_is_obeyed(port: int) -> None:
    for path in GOOD_TARGETS:
        with about(path), Wire(port) as wire:
            wire.send(request(path, headers=("Connection: close",)))
            expect_status(wire.read(), 200)
            wire.expect_close()


def test_http_1_0(port: int, target: Target) -> None:
    """Check for a complete response and then a closed connection, without a Host header in the request.

    A server whose manifest says that it does not speak HTTP/1.0 only closes it.
    """
    for path in ("/", "/sleep?ms=0", "/cpu?rounds=3"):
        with about(path), Wire(port) as wire:
            wire.send(f"GET {path} HTTP/1.0\r\n\r\n".encode())
            if target.http10:
                expect(wire.read(), TEXT)
            wire.expect_close()


def test_date_is_live(port: int) -> None:
    """Check that Date advances on a kept-alive connection."""
    with Wire(port) as wire:
        first = wire.get("/")
        expect_hello(first)
        for _ in tries("Date does not advance with the clock", pause=0.3):
            later = wire.get("/")
            expect_hello(later)
            if date_of(later) > date_of(first):
                return
