"""Delays never end early, overlap, and queue exactly where a bounded pool of threads serves them."""

import random
import selectors
import time

import pytest
from kit.rules import expect_hello
from kit.shared import SmallPool
from kit.targets import Target
from kit.wire import Wire, fetch, request

SLEEPERS = 12
QUEUE_MS = 400


def sleep_all(port: int, delays: list[int], path: str = "/sleep", more: str = "") -> list[float]:
    """All delays at once, each on a connection of its own; the seconds each took, none of them early."""
    wires = [Wire(port) for _ in delays]
    took = [0.0] * len(delays)
    try:
        with selectors.DefaultSelector() as selector:
            started = []
            for index, wire in enumerate(wires):
                selector.register(wire.socket, selectors.EVENT_READ, index)
                started.append(time.monotonic())
                wire.send(request(f"{path}?ms={delays[index]}{more}"))
            waiting = set(range(len(delays)))
            while waiting:
                ready = selector.select(timeout=20)
                now = time.monotonic()
                assert ready, f"no answer for {len(waiting)} of {len(delays)} sleepers"
                for key, _ in ready:
                    took[key.data] = now - started[key.data]
                    selector.unregister(key.fileobj)
                    waiting.discard(key.data)
                    expect_hello(wires[key.data].read())
    finally:
        for wire in wires:
            wire.close()
    early = [f"{d} ms after {t * 1000:.2f} ms" for d, t in zip(delays, took, strict=True) if t * 1000 < d]
    assert not early, f"answered early: {', '.join(early)}"
    return took


@pytest.mark.parametrize("delay", [0, 10, 500])
def test_delay_is_never_early_nor_much_too_late(port: int, delay: int) -> None:
    for _ in range(1 if delay == 500 else 20):
        (took,) = sleep_all(port, [delay])
        assert took < delay / 1000 + 2, f"{delay} ms took {took:.2f} s"


def test_overlapping_delays(port: int) -> None:
    """64 different delays at once: none early, all together hardly longer than the longest."""
    delays = [5 + 7 * step for step in range(64)]
    random.Random(64).shuffle(delays)
    began = time.monotonic()
    sleep_all(port, delays)
    total = time.monotonic() - began
    assert total < 3, f"64 delays of at most {max(delays)} ms took {total:.1f} s, so they did not overlap"


def test_more_sleepers_than_threads(small_pool: SmallPool, target: Target) -> None:
    """Three batches where a sleeper holds one of four threads, one batch where it holds none."""
    one = QUEUE_MS / 1000
    totals = []
    for _ in range(3):
        sleep_all(small_pool.port, [1] * SLEEPERS)
    for _ in range(3):
        # From before the first is sent: the last may set out late, and then waits less than all batches.
        began = time.monotonic()
        sleep_all(small_pool.port, [QUEUE_MS] * SLEEPERS)
        total = time.monotonic() - began
        totals.append(total)
        if target.bounded:
            batches = SLEEPERS / small_pool.threads
            assert total >= batches * one, f"{SLEEPERS} sleepers took {total:.2f} s: the pool is not bounded"
            if total < (batches + 1) * one:
                return
        elif total < 2 * one:
            return
    raise AssertionError(f"{SLEEPERS} sleepers of {one} s took {totals} s, every time too long for {target.model}")


def test_small_pool_serves_others_after_sleepers(small_pool: SmallPool) -> None:
    sleep_all(small_pool.port, [1] * 20)
    expect_hello(fetch(small_pool.port, "/"))
