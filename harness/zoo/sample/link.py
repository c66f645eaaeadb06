"""Measures what lies between this host and a server: how long a round trip takes, and how much goes through."""

from __future__ import annotations

import socket
import statistics
import time
import urllib.parse
from dataclasses import dataclass

from zoo.sample.jvm import OPENER

ROUND_TRIPS = 21
BYTES = 16_777_216
"""The most that `/bytes` gives at once."""

PATIENCE_S = 20.0


@dataclass(frozen=True)
class Link:
    """What lies between a generator and the server."""

    round_trip_us: float  # the median of some TCP handshakes
    bandwidth_mb_s: float  # 10⁶ bytes per second of one large response


def link(url: str) -> Link:
    at = urllib.parse.urlsplit(url)
    handshakes = [_handshake_s(at.hostname or "", at.port or 80) for _ in range(ROUND_TRIPS)]
    before = time.monotonic()
    with OPENER.open(f"{url.rstrip('/')}/bytes?n={BYTES}", timeout=PATIENCE_S) as answer:
        got = len(answer.read())
    took_s = time.monotonic() - before
    return Link(1e6 * statistics.median(handshakes), got / 1e6 / took_s)


def _handshake_s(host: str, port: int) -> float:
    before = time.monotonic()
    with socket.create_connection((host, port), PATIENCE_S):
        return time.monotonic() - before
