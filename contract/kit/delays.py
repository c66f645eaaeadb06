"""Delays, judged by what is exact on a machine of any speed: that none ends early, and which answer comes first."""

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
"""Connections: more than there are threads in a pool."""

LONGER = (0.3, 1.5, 6.0)
"""Seconds, each tried when the one before was too short for a busy machine."""


@contextmanager
def connections(port: int, count: int) -> Iterator[list[Wire]]:
    with ExitStack() as opened:
        yield [opened.enter_context(Wire(port)) for _ in range(count)]


def sleep_all(port: int, delays: list[int], path: str = "/sleep?ms=", more: str = "") -> float:
    """Ask for all delays at once, each on a connection of its own; none may be early. The seconds until the last."""
    began, early = time.monotonic(), []
    with connections(port, len(delays)) as wires, selectors.DefaultSelector() as selector:
        for opened, delay in zip(wires, delays, strict=True):
            selector.register(opened.socket, selectors.EVENT_READ, (opened, delay, time.monotonic()))
            opened.send(request(f"{path}{delay}{more}"))
        while selector.get_map():
            ready = selector.select(wire.PATIENCE)
            now = time.monotonic()
            assert ready, f"no answer for {len(selector.get_map())} of {len(delays)} sleepers"
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
    """Whether a request without a delay is answered before all of the long delays that were asked for earlier.

    It is where the delays are in work at the same time as it, and never where one of them holds what it needs.
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
    """Send each connection its request, or all of them the same; return when the server has begun them all."""
    count = info(port)["requests"] + len(wires) + 1
    for opened, data in zip(wires, cycle(requests), strict=False):
        opened.send(data)
    for asked, _ in enumerate(tries(f"fewer than {count} requests were begun, though as many were sent")):
        if info(port)["requests"] >= count + asked:
            return
