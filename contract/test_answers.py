"""Tests of each path's response, byte for byte, and of the responses to other paths and methods."""

import hashlib
from functools import cache

import pytest
from kit.rules import (
    BINARY,
    BYTES,
    CPU,
    GOOD_TARGETS,
    PARAMETERS,
    SLEEP,
    TEXT,
    about,
    date_of,
    expect,
    expect_hello,
    expect_not_allowed,
    expect_status,
    pattern,
)
from kit.wire import Wire, fetch, request

MIB = 1024 * 1024
SIZES = (0, 1, 25, 26, 27, 65_520, 65_536, MIB + 1, BYTES.maximum)
UNKNOWN = ("/nope", "/sleep/x", "/sleepy", "/favicon.ico")
MOST_ROUNDS = b"6b4ab10d92373474a97d10639e667f6b734af012f9be29997f1befd1c7166199"
"""Digest after the most rounds, computed once with Python's hashlib."""


@cache
def digest(rounds: int) -> bytes:
    value = bytes(32)
    for _ in range(rounds):
        value = hashlib.sha256(value).digest()
    return value.hex().encode()


@pytest.mark.smoke
def test_hello(port: int) -> None:
    for path in ("/", "/?", "/?ms=abc"):
        with about(path):
            expect_hello(fetch(port, path))


def test_bytes(port: int) -> None:
    for size in SIZES:
        with about(size):
            expect(fetch(port, f"/bytes?n={size}"), BINARY, pattern(size))


def test_cpu(port: int) -> None:
    for rounds in (0, 1, 2, 1000, 20_000):
        with about(rounds):
            expect(fetch(port, f"/cpu?rounds={rounds}"), TEXT, digest(rounds))


@pytest.mark.first_variant
def test_most_rounds_of_cpu(port: int) -> None:
    expect(fetch(port, f"/cpu?rounds={CPU.maximum}"), TEXT, MOST_ROUNDS)


def test_longest_and_default_delays_are_no_refusals(port: int) -> None:
    """Check that a later, shorter request ends first, which rules out a rejection and a missing delay."""
    paths = [SLEEP.ask(SLEEP.maximum), SLEEP.path, f"{SLEEP.path}?x=1", f"/cpu?rounds=1&ms={SLEEP.maximum}"]
    for path in paths:
        with Wire(port) as wire:
            wire.send(request(path))
            expect_hello(fetch(port, "/sleep?ms=100"))
            assert wire.silent, f"{path} is answered at once"


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_path(port: int, path: str) -> None:
    expect_status(fetch(port, path), 404)


def test_post_is_not_allowed(port: int) -> None:
    for path in GOOD_TARGETS:
        with about(path):
            expect_not_allowed(fetch(port, path, "POST"))


@pytest.mark.parametrize("path", [*GOOD_TARGETS, BYTES.ask(BYTES.maximum), "/nope", *(p.ask(-1) for p in PARAMETERS)])
def test_head_is_get_without_a_body(port: int, path: str) -> None:
    """Check that status and headers are the same; a GET after it on the connection shows that no body was sent.

    The length may be missing (RFC 9110, section 8.6).
    """
    full = fetch(port, path)
    with Wire(port) as wire:
        head = wire.get(path, "HEAD")
        expect_status(head, full.status)
        if full.status == 200:
            date_of(head)
            assert head.header("Content-Type") == full.header("Content-Type")
        if full.status == 200 and not full.chunked and path != "/info":
            got, wanted = head.header("Content-Length"), full.header("Content-Length")
            assert got in (wanted, None), f"Content-Length is {got} after HEAD, {wanted} after GET"
        if head.closes:
            wire.expect_close()
        else:
            expect_hello(wire.get("/"))
