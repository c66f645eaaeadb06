"""`/cpu?ms=N`: before its work a request waits, in the way of `/sleep`."""

import time

import pytest
from kit.rules import CPU, TEXT, WAIT, expect, expect_refusal
from kit.wire import Wire, fetch, request

ONE = b"66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
"""The digest of one round."""

BAD = ("ms=", "ms", "ms=60001", "ms=-1", "ms=1&ms=1", "ms=%zz")
WAITERS, WAIT_MS = 8, 300


@pytest.mark.parametrize("query", ["ms=0", "ms=1", "ms=07", "ms=%37", "Ms=x"])
def test_good_values(port: int, query: str) -> None:
    expect(fetch(port, f"/cpu?rounds=1&{query}"), 200, TEXT, ONE)


@pytest.mark.parametrize("query", BAD)
def test_bad_values(port: int, query: str) -> None:
    expect_refusal(fetch(port, f"/cpu?rounds=1&{query}"), WAIT)


def test_rounds_are_judged_first(port: int) -> None:
    expect_refusal(fetch(port, "/cpu?ms=x&rounds=x"), CPU)


@pytest.mark.parametrize("ms", [10, 50, 200])
def test_no_answer_is_early(port: int, ms: int) -> None:
    began = time.monotonic()
    expect(fetch(port, f"/cpu?rounds=1&ms={ms}"), 200, TEXT, ONE)
    took_ms = (time.monotonic() - began) * 1000
    assert took_ms >= ms, f"answered early: {ms} ms after {took_ms:.1f} ms"


def test_waits_overlap(port: int) -> None:
    """Eight waits take hardly longer than one: none stops an event loop."""
    wires = [Wire(port) for _ in range(WAITERS)]
    began = time.monotonic()
    try:
        for wire in wires:
            wire.send(request(f"/cpu?rounds=1&ms={WAIT_MS}"))
        for wire in wires:
            expect(wire.read(), 200, TEXT, ONE)
    finally:
        for wire in wires:
            wire.close()
    assert time.monotonic() - began < WAITERS * WAIT_MS / 1000 / 2, "the waits did not overlap"
