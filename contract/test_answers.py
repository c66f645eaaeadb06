"""What each path answers, to the byte."""

import hashlib
from functools import cache

import pytest
from kit.rules import (
    BINARY,
    BYTES,
    CPU,
    GOOD_TARGETS,
    SLEEP,
    TEXT,
    WRONG_METHODS,
    expect,
    expect_hello,
    expect_not_allowed,
    expect_not_found,
    pattern,
)
from kit.wire import Wire, fetch

MIB = 1024 * 1024
SIZES = (0, 1, 25, 26, 27, 65_519, 65_520, 65_521, 65_536, MIB + 1, 16 * MIB)
UNKNOWN = ("/nope", "/sleep/", "/sleep/x", "/Sleep", "//", "/info/", "/hello", "/index.html", "/favicon.ico", "/bytes.")


@cache
def digest(rounds: int) -> bytes:
    value = bytes(32)
    for _ in range(rounds):
        value = hashlib.sha256(value).digest()
    return value.hex().encode()


@pytest.mark.parametrize("path", ["/", "/?", "/?ms=abc", "/?x=%zz"])
def test_hello(port: int, path: str) -> None:
    expect_hello(fetch(port, path))


@pytest.mark.parametrize("size", SIZES)
def test_bytes(port: int, size: int) -> None:
    response = fetch(port, f"/bytes?n={size}")
    expect(response, 200, BINARY, None)
    assert len(response.body) == size
    assert response.body == pattern(size), f"wrong content in {size} bytes"


@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 1000, 20_000])
def test_cpu(port: int, rounds: int) -> None:
    expect(fetch(port, f"/cpu?rounds={rounds}"), 200, TEXT, digest(rounds))


def test_most_rounds_of_cpu(port: int) -> None:
    """The largest N is accepted; its digest was computed once with Python's hashlib."""
    expected = b"6b4ab10d92373474a97d10639e667f6b734af012f9be29997f1befd1c7166199"
    expect(fetch(port, f"/cpu?rounds={CPU.maximum}"), 200, TEXT, expected)


def test_longest_sleep_is_accepted(port: int) -> None:
    """A refusal would come at once."""
    with Wire(port) as wire:
        wire.send(f"GET /sleep?ms={SLEEP.maximum} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert wire.silent_for(0.3), "an answer to 60 s of sleep after less than 0.3 s"


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_path(port: int, path: str) -> None:
    expect_not_found(fetch(port, path))


@pytest.mark.parametrize("method", WRONG_METHODS)
def test_unknown_path_with_any_method(port: int, method: str) -> None:
    expect_not_found(fetch(port, "/nope", method))


@pytest.mark.parametrize("method", WRONG_METHODS)
def test_wrong_method(port: int, method: str) -> None:
    """The method is judged before the parameter."""
    for path in (*GOOD_TARGETS, "/sleep?ms=x", "/bytes", "/cpu?rounds=-1"):
        expect_not_allowed(fetch(port, path, method))


@pytest.mark.parametrize(
    "path", [*GOOD_TARGETS, f"/bytes?n={BYTES.maximum}", "/nope", "/sleep?ms=x", "/bytes", "/cpu?rounds=-1"]
)
def test_head_is_get_without_a_body(port: int, path: str) -> None:
    """The same status and headers; a GET right behind it on the connection shows that no body was sent."""
    full = fetch(port, path)
    with Wire(port) as wire:
        head = wire.get(path, "HEAD")
        assert head.status == full.status
        for name in ("Content-Type", "Content-Length", "Allow"):
            if name == "Content-Length" and path == "/info":
                assert int(head.header(name) or 0) > 100
            else:
                assert head.header(name) == full.header(name), f"{name} differs between HEAD and GET"
        assert head.header("Date") is not None
        if head.closes:
            wire.expect_close()
        else:
            expect_hello(wire.get("/"))


def test_head_of_sleep_sleeps(port: int) -> None:
    with Wire(port) as wire:
        wire.send(b"HEAD /sleep?ms=400 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.silent_for(0.3), "HEAD /sleep?ms=400 answered within 0.3 s"
        assert wire.read("HEAD").status == 200
