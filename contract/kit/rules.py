"""The contract's constants, and the checks that every answer has to pass."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import yaml

from kit.paths import OPENAPI
from kit.wire import Response, fetch

TEXT = "text/plain;charset=utf-8"
BINARY = "application/octet-stream"
JSON = "application/json"
HELLO = b"Hello, World!"
NOT_FOUND = b"not found"
METHOD_NOT_ALLOWED = b"method not allowed"
ALLOW = "GET, HEAD"


@dataclass(frozen=True)
class Parameter:
    """The one parameter a path takes."""

    path: str
    name: str
    maximum: int
    required: bool

    @property
    def refusal(self) -> bytes:
        return f"{self.name} must be an integer from 0 to {self.maximum}".encode()


SLEEP = Parameter("/sleep", "ms", 60_000, required=False)
LOCK = Parameter("/sleep", "lock", 1, required=False)
"""Only Java servers know it; not among PARAMETERS, each of which every server has to refuse when it is bad."""

BYTES = Parameter("/bytes", "n", 16_777_216, required=True)
CPU = Parameter("/cpu", "rounds", 10_000_000, required=True)
WAIT = Parameter("/cpu", "ms", 60_000, required=False)
"""The second of its path; not among PARAMETERS, which are those that a path is nothing without."""

PARAMETERS = (SLEEP, BYTES, CPU)

GOOD_TARGETS = ("/", "/sleep?ms=0", "/bytes?n=27", "/cpu?rounds=3", "/info")
"""One cheap request for each path of the contract."""

WRONG_METHODS = ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW", "get")
"""Methods a known path refuses; the last two are unknown tokens (methods are case-sensitive)."""

DATE = re.compile(
    r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-3][0-9] "
    r"(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [0-9]{4} [0-2][0-9]:[0-5][0-9]:[0-6][0-9] GMT"
)


def date_of(response: Response) -> float:
    """The answer's Date as seconds since the epoch; it must be an IMF-fixdate."""
    text = response.header("Date")
    assert text is not None, "the answer has no Date"
    assert DATE.fullmatch(text), f"Date is no IMF-fixdate: {text!r}"
    moment = datetime.strptime(text, "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    assert moment.strftime("%a") == text[:3], f"the weekday in Date is wrong: {text!r}"
    return moment.timestamp()


def expect(response: Response, status: int, content_type: str, body: bytes | None) -> None:
    """The whole of an answer: status, exact type, exact body, exactly one length, a Date of now, no coding."""
    assert response.status == status, f"status {response.status} instead of {status}: {response}"
    got = response.header("Content-Type")
    assert got == content_type, f"Content-Type is {got!r}, not {content_type!r}"
    if body is not None:
        assert response.body == body, f"body is {_short(response.body)}, not {_short(body)}"
    assert response.header("Content-Length") is not None
    assert response.header("Content-Encoding") is None, "the answer is compressed"
    expect_date_of_now(response)


def expect_date_of_now(response: Response) -> None:
    """Between two seconds before the request (whole seconds, and a clock read once a second) and now."""
    date = date_of(response)
    assert date > response.asked - 2.1, f"Date is {response.asked - date:.1f} s older than the request"
    assert date < time.time() + 1, f"Date is {date - time.time():.1f} s ahead"


def expect_hello(response: Response) -> None:
    expect(response, 200, TEXT, HELLO)


def expect_refusal(response: Response, parameter: Parameter) -> None:
    expect(response, 400, TEXT, parameter.refusal)


def expect_not_found(response: Response) -> None:
    expect(response, 404, TEXT, NOT_FOUND)


def expect_not_allowed(response: Response) -> None:
    expect(response, 405, TEXT, METHOD_NOT_ALLOWED)
    assert response.header("Allow") == ALLOW, f"Allow is {response.header('Allow')!r}, not {ALLOW!r}"


def info(port: int) -> dict[str, Any]:
    """What `/info` tells."""
    response = fetch(port, "/info")
    expect(response, 200, JSON, None)
    return cast("dict[str, Any]", json.loads(response.body))


def pattern(size: int) -> bytes:
    """What `/bytes` answers: byte i is `a` + i mod 26."""
    alphabet = b"abcdefghijklmnopqrstuvwxyz"
    return (alphabet * (size // 26 + 1))[:size]


def openapi() -> dict[str, Any]:
    """The contract as written down in `openapi.yaml`."""
    return cast("dict[str, Any]", yaml.safe_load(OPENAPI.read_text(encoding="utf-8")))


def _short(body: bytes) -> str:
    return repr(body) if len(body) <= 120 else f"{body[:60]!r}…{body[-40:]!r} ({len(body)} bytes)"
