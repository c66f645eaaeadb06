"""Times `/cpu` on one server to find how many rounds make a given amount of work; all servers get the same.

Needs no library, so that it can run where the agent runs.
"""

from __future__ import annotations

import http.client
import math
import statistics
import time
import urllib.parse
from collections.abc import Callable

ENOUGH_S = 0.02
MOST_ROUNDS = 10_000_000
SAMPLES = 15
WARM_S = 5.0
SLOPES = 5


def seconds_a_round(url: str, timeout_s: float = 30.0, warm_s: float = WARM_S) -> float:
    """What one round costs the idle server at this URL when it is warm: to a fresh JVM it costs twenty times as much.

    It is asked for `warm_s` before it is timed; then the median of five slopes, as even warm code runs at one of
    several speeds, by how it was compiled.
    """
    address = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)

    def ask(rounds: int) -> float:
        begun = time.perf_counter()
        connection.request("GET", f"/cpu?rounds={rounds}")
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise OSError(f"/cpu?rounds={rounds} answered {answer.status}")
        return time.perf_counter() - begun

    try:
        warm = time.monotonic() + warm_s
        while time.monotonic() < warm:
            slope(ask)
        return statistics.median(slope(ask) for _ in range(SLOPES))
    finally:
        connection.close()


def slope(ask: Callable[[int], float]) -> float:
    """Seconds a round, where `ask` gives the seconds that a request with so many rounds took.

    The difference of two request sizes, so that what a request costs besides its rounds is left out; of each the
    fastest of 15, as whatever else happens on the machine only makes a request longer. Pure.
    """
    many = 1_000
    while ask(many) < ENOUGH_S and many < MOST_ROUNDS:
        many = min(2 * many, MOST_ROUNDS)
    few = many // 4
    fastest = dict.fromkeys((few, many), math.inf)
    for _ in range(SAMPLES):
        for rounds in (few, many):
            fastest[rounds] = min(fastest[rounds], ask(rounds))
    return (fastest[many] - fastest[few]) / (many - few)
