"""Garbage, huge and unfinished requests: a 4xx or the end of that connection, while others are served."""

import random

import pytest
from kit.rules import HELLO, expect_hello
from kit.server import Server
from kit.shared import LongSleep
from kit.wire import Wire, fetch, request

HELLO_REQUEST = request("/")

GARBAGE = {
    "word": b"GARBAGE\r\n\r\n",
    "no-target": b"GET\r\n\r\n",
    "no-version": b"GET / \r\nHost: localhost\r\n\r\n",
    "nul-bytes": b"\x00\x01\x02\x03\r\n\r\n",
    "tls-hello": bytes.fromhex("160301007a0100007603037f") + bytes(112) + b"\r\n\r\n",
    "random": random.Random(1).randbytes(2000) + b"\r\n\r\n",
    "ftp": b"USER anonymous\r\nPASS x\r\n\r\n",
    "wrong-protocol": b"GET / FTP/1.1\r\nHost: localhost\r\n\r\n",
    "http-nine": b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    "space-before-colon": b"GET / HTTP/1.1\r\nHost : localhost\r\nX Y: z\r\n\r\n",
    "bad-content-length": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: abc\r\n\r\n",
    "negative-content-length": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    "two-content-lengths": b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "bad-chunk": b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
}

TOO_LARGE = {
    "header-100-KiB": request("/", headers=("X-Huge: " + "a" * 100 * 1024,)),
    "header-1-MiB": request("/", headers=("X-Huge: " + "a" * 1024 * 1024,)),
    "many-headers": request("/", headers=tuple(f"X-{n}: {'b' * 90}" for n in range(2000))),
    "target-100-KiB": request("/" + "a" * 100 * 1024),
    "query-100-KiB": request("/sleep?ms=0&x=" + "a" * 100 * 1024),
    "method-100-KiB": request("/", "A" * 100 * 1024),
    "endless-line": b"GET /" + b"a" * 1024 * 1024,
}


def expect_refused(port: int, data: bytes) -> None:
    """The connection gets a 4xx (505 for the version) or ends; the next one is served."""
    with Wire(port) as wire:
        wire.try_send(data)
        answer = wire.answer_or_close()
        assert answer is None or 400 <= answer.status < 500 or answer.status == 505, f"answered {answer}"
    expect_hello(fetch(port, "/"))


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage(port: int, name: str) -> None:
    expect_refused(port, GARBAGE[name])


@pytest.mark.parametrize("name", TOO_LARGE)
def test_too_large(port: int, name: str) -> None:
    expect_refused(port, TOO_LARGE[name])


def test_common_sizes_are_served(port: int) -> None:
    """6 KiB of cookies or of query is no attack."""
    with Wire(port) as wire:
        wire.send(request("/", headers=("Cookie: " + "c" * 6 * 1024,)))
        expect_hello(wire.read())
        wire.send(request("/sleep?ms=0&x=" + "a" * 6 * 1024))
        expect_hello(wire.read())


@pytest.mark.parametrize("size", [1, 10, 30, len(HELLO_REQUEST) - 1])
def test_half_a_request_and_then_the_end(port: int, size: int) -> None:
    with Wire(port) as wire:
        wire.send(HELLO_REQUEST[:size])
        wire.socket.shutdown(1)
        answer = wire.answer_or_close()
        assert answer is None or 400 <= answer.status < 500, f"half a request was answered {answer}"
    expect_hello(fetch(port, "/"))


def test_half_sent_requests_hold_up_nobody(port: int) -> None:
    """More of them than there are threads in the pool; each is served when its rest arrives."""
    wires = [Wire(port) for _ in range(230)]
    try:
        for number, wire in enumerate(wires):
            wire.send(HELLO_REQUEST[: 1 + number % (len(HELLO_REQUEST) - 1)])
        for _ in range(5):
            with Wire(port) as wire:
                wire.send(HELLO_REQUEST)
                expect_hello(wire.read(patience=3))
        for number, wire in enumerate(wires):
            wire.send(HELLO_REQUEST[1 + number % (len(HELLO_REQUEST) - 1) :])
            expect_hello(wire.read())
    finally:
        for wire in wires:
            wire.close()


def test_idle_connections_hold_up_nobody(port: int) -> None:
    wires = [Wire(port) for _ in range(230)]
    try:
        for wire in wires[:100]:
            expect_hello(wire.get("/"))
        with Wire(port) as wire:
            wire.send(HELLO_REQUEST)
            expect_hello(wire.read(patience=3))
    finally:
        for wire in wires:
            wire.close()


def test_clients_that_leave(port: int, server: Server) -> None:
    """In the middle of a large body, and while the server sleeps for them."""
    for _ in range(20):
        with Wire(port) as wire:
            wire.send(request("/bytes?n=16777216"))
            wire.socket.recv(1000)
        with Wire(port) as wire:
            wire.send(request("/sleep?ms=100"))
    expect_hello(fetch(port, "/"))
    assert server.exit_code() is None


def test_default_delay_is_ten_seconds(long_sleep: LongSleep) -> None:
    """Asked when the server started, and not disturbed by all that was done to it since."""
    assert long_sleep.done.wait(30), "/sleep without ms gave no answer"
    assert long_sleep.response is not None, "/sleep without ms gave no whole answer"
    assert (long_sleep.response.status, long_sleep.response.body) == (200, HELLO)
    assert 10 <= long_sleep.took < 13, f"/sleep without ms took {long_sleep.took:.3f} s"
