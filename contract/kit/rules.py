"""The contract's constants, and the checks that every answer has to pass."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

import yaml

from kit.paths import OPENAPI
from kit.server import Server
from kit.wire import Response, fetch

TEXT = "text/plain;charset=utf-8"
BINARY = "application/octet-stream"
JSON = "application/json"
HELLO = b"Hello, World!"
FIRST_DIGEST = b"66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
"""What `/cpu?rounds=1` answers."""

STALE = 20
"""Seconds by which the clock of a server on a busy machine may be late; one that stands still is later."""

DRAIN = 10
"""Seconds that a server may take to finish what is in flight."""


@dataclass(frozen=True)
class Parameter:
    """A number that a path takes; `path` holds what else the path needs."""

    path: str
    name: str
    maximum: int
    required: bool = False

    def __str__(self) -> str:
        return f"{self.name}-of-{self.path.partition('?')[0][1:]}"

    def ask(self, value: object) -> str:
        return f"{self.path}{'&' if '?' in self.path else '?'}{self.name}={value}"


SLEEP = Parameter("/sleep", "ms", 60_000)
BYTES = Parameter("/bytes", "n", 16_777_216, required=True)
CPU = Parameter("/cpu", "rounds", 10_000_000, required=True)
WAIT = Parameter("/cpu?rounds=1", "ms", 60_000)
PARAMETERS = (SLEEP, BYTES, CPU, WAIT)
LOCK = Parameter("/sleep?ms=1", "lock", 1)
"""Only Java servers know it; not among PARAMETERS, each of which every server has to refuse when it is bad."""

GOOD_TARGETS = ("/", "/sleep?ms=0", "/bytes?n=27", "/cpu?rounds=3", "/info")
"""One cheap request for each path of the contract."""

DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] "
    r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT"
)


@contextmanager
def about(what: object) -> Iterator[None]:
    """Put before a complaint which of several things it is about."""
    try:
        yield
    except (AssertionError, OSError) as error:
        raise AssertionError(f"{what}: {error}") from error


def date_of(response: Response) -> float:
    """The answer's Date as seconds since the epoch; it must be an IMF-fixdate."""
    text = response.header("Date")
    assert text is not None, "the answer has no Date"
    assert DATE.fullmatch(text), f"Date is no IMF-fixdate: {text!r}"
    moment = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert moment.strftime("%a") == text[:3], f"the weekday in Date is wrong: {text!r}"
    return moment.timestamp()


def expect(response: Response, content_type: str, body: bytes | None = None) -> None:
    """A whole answer: 200, exact type, exact body, a Date of now, no coding; text has a length and is not chunked."""
    assert response.status == 200, f"status {response.status} instead of 200: {response}"
    got = response.header("Content-Type")
    assert got == content_type, f"Content-Type is {got!r}, not {content_type!r}"
    if body is not None:
        assert response.body == body, f"body is {_short(response.body)}, not {_short(body)}"
    assert response.header("Content-Encoding") is None, "the answer is compressed"
    if content_type == TEXT:
        assert not response.chunked, "Transfer-Encoding instead of Content-Length"
        assert response.header("Content-Length") == str(len(response.body)), "no Content-Length"
    expect_date_of_now(response)


def expect_date_of_now(response: Response) -> None:
    """Not ahead of the clock, and not older than the request by more than a busy machine explains."""
    date = date_of(response)
    assert date > response.asked - STALE, f"Date is {response.asked - date:.1f} s older than the request"
    assert date < time.time() + 1, f"Date is {date - time.time():.1f} s ahead"


def expect_hello(response: Response) -> None:
    expect(response, TEXT, HELLO)


def expect_served(server: Server) -> None:
    """Whoever else asks now gets his answer."""
    for _ in range(5):
        expect_hello(fetch(server.port, "/"))
    assert server.exit_code() is None, "the server has ended"


def expect_status(response: Response, status: int) -> None:
    assert response.status == status, f"status {response.status} instead of {status}: {response}"


def expect_refusal(response: Response, parameter: Parameter) -> None:
    """A 400 in plain text, in the framework's own words, that names the parameter and its range."""
    expect_status(response, 400)
    assert (response.header("Content-Type") or "").startswith("text/plain"), f"not plain text: {response}"
    words = re.findall(r"\w+", response.body.decode())
    for word in (parameter.name, "0", str(parameter.maximum)):
        assert word in words, f"{word} is not named in {_short(response.body)}"


def expect_not_allowed(response: Response) -> None:
    """A 405 whose Allow lists GET and not the method that was refused; HEAD goes with GET."""
    expect_status(response, 405)
    allowed = re.split(r"\s*,\s*", response.header("Allow") or "")
    assert "GET" in allowed, f"Allow is {response.header('Allow')!r}"
    assert "POST" not in allowed, f"Allow is {response.header('Allow')!r}"


def info(port: int) -> dict[str, Any]:
    """What `/info` tells."""
    response = fetch(port, "/info")
    expect(response, JSON)
    return cast("dict[str, Any]", json.loads(response.body))


def pattern(size: int) -> bytes:
    """What `/bytes` answers: byte i is `a` + i mod 26."""
    alphabet = b"abcdefghijklmnopqrstuvwxyz"
    return (alphabet * (size // 26 + 1))[:size]


@cache
def openapi() -> dict[str, Any]:
    """The contract as written down in `openapi.yaml`."""
    return cast("dict[str, Any]", yaml.safe_load(OPENAPI.read_text(encoding="utf-8")))


def _short(body: bytes) -> str:
    return repr(body) if len(body) <= 120 else f"{body[:60]!r}…{body[-40:]!r} ({len(body)} bytes)"
