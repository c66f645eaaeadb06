"""The contract's constants, and the checks that every response must pass."""

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
"""Response to `/cpu?rounds=1`."""

STALE = 20
"""Seconds by which Date may be late on a busy machine; a clock that has stopped is later."""

DRAIN = 10
"""Seconds that a server may take to finish the requests in flight."""


@dataclass(frozen=True)
class Parameter:
    """Numeric parameter of a path; `path` includes any other parameters that are required."""

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
"""Parameter known to Java servers only. It is not in PARAMETERS, whose bad values every server must reject."""

GOOD_TARGETS = ("/", "/sleep?ms=0", "/bytes?n=27", "/cpu?rounds=3", "/info")
"""One cheap request per path of the contract."""

DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] "
    r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT"
)


@contextmanager
def about(what: object) -> Iterator[None]:
    """Prefix an error with the item that it is about."""
    try:
        yield
    except (AssertionError, OSError) as error:
        raise AssertionError(f"{what}: {error}") from error


def date_of(response: Response) -> float:
    """Return the response's Date as seconds since the epoch; it must be an IMF-fixdate."""
    text = response.header("Date")
    assert text is not None, "the response has no Date"
    assert DATE.fullmatch(text), f"Date is no IMF-fixdate: {text!r}"
    moment = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert moment.strftime("%a") == text[:3], f"the weekday in Date is wrong: {text!r}"
    return moment.timestamp()


def expect(response: Response, content_type: str, body: bytes | None = None) -> None:
    """Expect status 200, the exact type and body, a current Date and no compression.

    Text must have a length and must not be chunked.
    """
    assert response.status == 200, f"status {response.status} instead of 200: {response}"
    got = response.header("Content-Type")
    # the charset has no meaning in JSON (RFC 8259, section 11), and some frameworks add it
    bare = got.partition(";")[0] if got and content_type == JSON else got
    assert bare == content_type, f"Content-Type is {got!r}, not {content_type!r}"
    if body is not None:
        assert response.body == body, f"body is {_short(response.body)}, not {_short(body)}"
    assert response.header("Content-Encoding") is None, "the response is compressed"
    if content_type == TEXT:
        assert not response.chunked, "Transfer-Encoding instead of Content-Length"
        assert response.header("Content-Length") == str(len(response.body)), "no Content-Length"
    expect_date_of_now(response)


def expect_date_of_now(response: Response) -> None:
    """Check that Date is not ahead of the clock, and not older than the request by more than STALE seconds."""
    date = date_of(response)
    assert date > response.asked - STALE, f"Date is {response.asked - date:.1f} s older than the request"
    assert date < time.time() + 1, f"Date is {date - time.time():.1f} s ahead"


def expect_hello(response: Response) -> None:
    expect(response, TEXT, HELLO)


def expect_served(server: Server) -> None:
    """Check that new clients get their responses and that the server still runs."""
    for _ in range(5):
        expect_hello(fetch(server.port, "/"))
    assert server.exit_code() is None, "the server has exited"


def expect_status(response: Response, status: int) -> None:
    assert response.status == status, f"status {response.status} instead of {status}: {response}"


def expect_refusal(response: Response, parameter: Parameter) -> None:
    """Expect a 400 in plain text that names the parameter and its range; the framework chooses the wording."""
    expect_status(response, 400)
    assert (response.header("Content-Type") or "").startswith("text/plain"), f"not plain text: {response}"
    words = re.findall(r"\w+", response.body.decode())
    for word in (parameter.name, "0", str(parameter.maximum)):
        assert word in words, f"{word} is not named in {_short(response.body)}"


def expect_not_allowed(response: Response) -> None:
    """Expect a 405 whose Allow lists GET but not the rejected method; GET implies HEAD."""
    expect_status(response, 405)
    allowed = re.split(r"\s*,\s*", response.header("Allow") or "")
    assert "GET" in allowed, f"Allow is {response.header('Allow')!r}"
    assert "POST" not in allowed, f"Allow is {response.header('Allow')!r}"


def expect_bad_setting(server: Server, variable: str) -> None:
    """Expect a non-zero exit code and exactly one line, on stderr, that names the variable."""
    code = server.wait()
    got = f"exit code {code}, stderr {server.stderr!r}, stdout {server.stdout!r}"
    assert code != 0, got
    assert variable in server.stderr, got
    assert (server.stderr.count("\n"), server.stdout) == (1, ""), got


def info(port: int) -> dict[str, Any]:
    """Return the parsed response to `/info`."""
    response = fetch(port, "/info")
    expect(response, JSON)
    return cast("dict[str, Any]", json.loads(response.body))


def pattern(size: int) -> bytes:
    """Return the response to `/bytes`: byte i is `a` + i mod 26."""
    alphabet = b"abcdefghijklmnopqrstuvwxyz"
    return (alphabet * (size // 26 + 1))[:size]


@cache
def openapi() -> dict[str, Any]:
    """Return the contract as written in `openapi.yaml`."""
    return cast("dict[str, Any]", yaml.safe_load(OPENAPI.read_text(encoding="utf-8")))


def _short(body: bytes) -> str:
    return repr(body) if len(body) <= 120 else f"{body[:60]!r}…{body[-40:]!r} ({len(body)} bytes)"
