"""Probes a server before it is measured: is it the entry it claims to be, and does it keep the contract?"""

from __future__ import annotations

import http.client
import urllib.parse
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from zoo.catalog.manifest import Entry, Model
from zoo.sample.jvm import Info

BODY = b"Hello, World!"
DATE_SLACK_S = 5.0


def hello_fault(url: str, timeout_s: float = 5.0) -> str | None:
    """What is wrong with the answer to `GET /`; None when it is the contract's."""
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)
    try:
        connection.request("GET", "/")
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"GET / gave no answer ({error or type(error).__name__})"
    finally:
        connection.close()
    if answer.status != 200 or body != BODY:
        return f"GET / answered {answer.status} with {body[:40]!r}, expected 200 with {BODY!r}"
    for name, expected in (("Content-Type", "text/plain;charset=utf-8"), ("Content-Length", str(len(BODY)))):
        if answer.getheader(name) != expected:
            return f"GET / has {name}: {answer.getheader(name)}, expected {expected}"
    return _date_fault(answer.getheader("Date"))


def model_fault(info: Info, entry: Entry) -> str | None:
    """What in `/info` is not as the entry's manifest claims. Pure."""
    model = entry.variant.model
    if (info.server, info.variant, info.model) != (entry.server.name, entry.variant.name, model):
        return f"/info says {info.server}:{info.variant} ({info.model}), expected {entry.id} ({model})"
    if info.virtual != (model is Model.VIRTUAL_THREAD):
        return f"/info ran on thread {info.thread!r} (virtual: {info.virtual}), which is not what {entry.id} claims"
    return None


def _date_fault(date: str | None) -> str | None:
    try:
        age = abs((datetime.now(UTC) - parsedate_to_datetime(date or "")).total_seconds())
    except (TypeError, ValueError):
        return f"GET / has Date: {date}, expected the time now"
    return f"GET / has a Date {age:.0f} s away from now" if age > DATE_SLACK_S else None
