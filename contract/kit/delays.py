"""Checks of delays that work on a machine of any speed: whether one ends early, and which response comes first."""

from __future__ import annotations

import select
import selectors
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import cycle

from kit import wire
from kit.rules import expect_hello, info
from kit.wire import Response, Wire, request, tries

CROWD = 230
"""Number of connections, larger than the number of threads in a pool."""

LONGER = (0.3, 1.5, 6.0)
"""Delays in seconds. Each is tried if the previous one was too short for a busy machine."""

STRETCH = 1
"""Factor for the delays that must not end early. The proof raises it, so that a stall cannot hide an early end."""


def stretched(*delays: int) -> list[int]:
    return [STRETCH * delay for delay in delays]


@contextmanager
def connections(port: int, count: int) -> Iterator[list[Wire]]:
    with ExitStack() as opened:
        yield [opened.enter_context(Wire(port)) for _ in range(count)]


def sleep_all(port: int, delays: list[int], path: str = "/sleep?ms=", more: str = "") -> float:
    """Request all delays at once, one per connection, check that none ends early, and return the seconds taken."""
    began, early = time.monotonic(), []
    with connections(port, len(delays)) as wires, selectors.DefaultSelector() as selector:
        for opened, delay in zip(wires, delays, strict=True):
            selector.register(opened.socket, selectors.EVENT_READ, (opened, delay, time.monotonic()))
            opened.send(request(f"{path}{delay}{more}"))
        while selector.get_map():
            ready = selector.select(wire.PATIENCE)
            now = time.monotonic()
            assert ready, f"no response for {len(selector.get_map())} of {len(delays)} sleepers"
            for key, _ in ready:
                opened, delay, asked = key.data
                selector.unregister(opened.socket)
                expect_hello(opened.read())
                if (now - asked) * 1000 < delay:
                    early.append(f"{delay} ms after {(now - asked) * 1000:.2f} ms")
    assert not early, f"answered early: {', '.join(early)}"
    return time.monotonic() - began


def overtakes(
    port: int, others: int, path: str = "/sleep?ms=", expected: Callable[[Response], None] = expect_hello
) -> bool:
    """Return True if a request without a delay gets its response before all the long delays requested earlier.

    It does if the server handles the delays at the same time, and does not if a delay blocks a resource it needs.
    """
    for seconds in LONGER:
        with connections(port, others + 1) as wires:
            for sleeper in wires[:-1]:
                sleeper.send(request(f"{path}{seconds * 1000:.0f}"))
            wires[-1].send(request(f"{path}0"))
            answered = select.select(wires, [], [], wire.PATIENCE)[0]
            if answered and all(sleeper.silent for sleeper in wires[:-1]):
                expected(wires[-1].read())
                return True
    return False


def begin(port: int, wires: list[Wire], *requests: bytes) -> None:
    """Send one request per connection, repeating `requests` if needed, and wait until the server has begun them all."""
    count = info(port)["requests"] + len(wires) + 1
    for opened, data in zip(wires, cycle(requests), strict=False):
        opened.send(data)
    for asked, _ in enumerate(tries(f"the server began fewer than {count} requests, though that many were sent")):
        if info(port)["requests"] >= count + asked:
            return
