"""Requests and answers as bytes on a connection: splits, pipelines, bodies, keep-alive, HTTP/1.0."""

import time

import pytest
from kit.rules import (
    BINARY,
    GOOD_TARGETS,
    JSON,
    TEXT,
    date_of,
    expect,
    expect_hello,
    expect_not_allowed,
    expect_not_found,
    pattern,
)
from kit.wire import Closed, Response, Wire, fetch, request

SPLIT = b"GET /bytes?n=27&x=%31 HTTP/1.1\r\nHost: localhost\r\nX-Padding: abc\r\n\r\n"
KEEP_ALIVE_REQUESTS = 1_100


def expect_27(response: Response) -> None:
    expect(response, 200, BINARY, pattern(27))


def test_request_split_at_every_byte(port: int) -> None:
    """One connection for each place to cut at; the second halves follow when all first halves have arrived."""
    wires = [Wire(port) for _ in range(1, len(SPLIT))]
    try:
        for cut, wire in enumerate(wires, 1):
            wire.send(SPLIT[:cut])
        time.sleep(0.05)
        for cut, wire in enumerate(wires, 1):
            wire.send(SPLIT[cut:])
        for cut, wire in enumerate(wires, 1):
            try:
                expect_27(wire.read())
            except AssertionError as error:
                raise AssertionError(f"cut after byte {cut}: {error}") from error
    finally:
        for wire in wires:
            wire.close()


def test_request_byte_by_byte(port: int) -> None:
    with Wire(port) as wire:
        for byte in SPLIT:
            wire.send(bytes([byte]))
            time.sleep(0.001)
        expect_27(wire.read())
        expect_hello(wire.get("/"))


def test_second_request_begins_in_the_first_ones_segment(port: int) -> None:
    """The first answer must not wait for the rest of the second request."""
    for cut in range(1, len(SPLIT), 5):
        with Wire(port) as wire:
            wire.send(request("/") + SPLIT[:cut])
            expect_hello(wire.read(patience=5))
            wire.send(SPLIT[cut:])
            expect_27(wire.read())


def test_pipeline_is_answered_in_order(port: int) -> None:
    """Slow and quick, big and small, refused and served, all in one segment; a refusal may be the last answer."""
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
            + request("/", "BREW")
            + request("/bytes?n=27")
        )
        expect_hello(wire.read())
        expect_hello(wire.read())
        expect(wire.read(), 200, BINARY, pattern(70_000))
        expect(wire.read(), 200, TEXT, b"0" * 64)
        assert wire.read("HEAD").header("Content-Length") == "27"
        expect_hello(wire.read())
        expect(wire.read(), 200, JSON, None)
        expect(wire.read(), 200, BINARY, b"")
        for expected in (expect_not_found, expect_not_allowed):
            refusal = wire.read()
            expected(refusal)
            if refusal.closes:
                wire.expect_close()
                return
        expect_27(wire.read())


def test_long_pipeline(port: int) -> None:
    sizes = range(100)
    with Wire(port) as wire:
        wire.send(b"".join(request(f"/bytes?n={size}") for size in sizes))
        for size in sizes:
            expect(wire.read(), 200, BINARY, pattern(size))


@pytest.mark.parametrize(
    "body",
    [b"x", b"GET /nope HTTP/1.1\r\nHost: localhost\r\n\r\n", b"y" * 100_000],
    ids=["one-byte", "looks-like-a-request", "100-kB"],
)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "BREW"])
def test_body_of_a_wrong_method(port: int, method: str, body: bytes) -> None:
    """The body is taken off the connection or the connection ends; never is it read as a request."""
    with Wire(port) as wire:
        wire.try_send(request("/", method, body=body) + request("/bytes?n=27"))
        _refused_then_27_or_end(wire)


def test_chunked_body_of_a_wrong_method(port: int) -> None:
    with Wire(port) as wire:
        wire.try_send(request("/", "POST", ("Transfer-Encoding: chunked",)) + b"5\r\nhello\r\n0\r\n\r\n")
        wire.try_send(request("/bytes?n=27"))
        _refused_then_27_or_end(wire)


def test_body_that_waits_to_be_wanted(port: int) -> None:
    """With `Expect: 100-continue` the answer may come before the body or after an interim answer."""
    with Wire(port) as wire:
        wire.send(request("/", "POST", ("Expect: 100-continue", "Content-Length: 5")))
        time.sleep(0.1)
        wire.try_send(b"hello" + request("/bytes?n=27"))
        _refused_then_27_or_end(wire)


def _refused_then_27_or_end(wire: Wire) -> None:
    refusal = wire.read()
    expect_not_allowed(refusal)
    try:
        expect_27(wire.read())
    except (Closed, ConnectionResetError):
        wire.expect_close()


def test_get_with_a_body(port: int) -> None:
    with Wire(port) as wire:
        wire.send(request("/", body=b"GET /nope HTTP/1.1\r\n\r\n") + request("/bytes?n=27"))
        expect_hello(wire.read())
        expect_27(wire.read())


def test_keep_alive_without_a_limit(port: int) -> None:
    with Wire(port) as wire:
        for number in range(KEEP_ALIVE_REQUESTS):
            try:
                response = wire.get("/")
            except (Closed, OSError) as error:
                raise AssertionError(f"connection ended after {number} requests: {error}") from error
            assert response.status == 200
            assert not response.closes, f"Connection: close after {number + 1} requests"


def test_refused_requests_keep_the_connection_or_say_that_they_close_it(port: int) -> None:
    with Wire(port) as wire:
        for path, method in (("/nope", "GET"), ("/", "DELETE"), ("/sleep?ms=x", "GET")):
            refusal = wire.get(path, method)
            assert refusal.status in (400, 404, 405)
            if refusal.closes:
                wire.expect_close()
                return
        expect_hello(wire.get("/"))


def test_connection_close_is_obeyed(port: int) -> None:
    for path in GOOD_TARGETS:
        with Wire(port) as wire:
            wire.send(request(path, headers=("Connection: close",)))
            assert wire.read().status == 200
            wire.expect_close()


@pytest.mark.parametrize("path", GOOD_TARGETS)
def test_http_1_0(port: int, path: str) -> None:
    """Answered whole, then closed; without a Host header too."""
    with Wire(port) as wire:
        wire.send(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        response = wire.read()
        assert response.status == 200
        assert response.header("Content-Length") == str(len(response.body))
        wire.expect_close()


def test_date_is_live(port: int) -> None:
    """On a kept connection, and after a pause in which nothing was asked."""
    with Wire(port) as wire:
        first = wire.get("/")
        expect_hello(first)
        time.sleep(1.25)
        second = wire.get("/")
    assert date_of(second) - date_of(first) in (1.0, 2.0), "Date does not advance with the clock"
    expect_hello(second)
    expect_not_found(fetch(port, "/nope"))
