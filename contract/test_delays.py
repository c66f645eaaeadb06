"""Tests of delays: they never end early, they overlap, and they queue only in a bounded thread pool."""

import random
import time

import pytest
from kit.delays import overtakes, sleep_all, stretched
from kit.rules import FIRST_DIGEST, TEXT, expect
from kit.shared import SmallPool
from kit.targets import Target
from kit.wire import Response, Wire, fetch, request

PLENTY = 63
"""Number of delays, fewer than a pool's default number of threads."""

SLEEPERS = 12
QUEUE_MS = 400


def expect_first_digest(response: Response) -> None:
    expect(response, TEXT, FIRST_DIGEST)


@pytest.mark.smoke
def test_no_answer_is_early(port: int) -> None:
    """Check delays one after another, and then 64 different delays at once."""
    for _ in range(5):
        sleep_all(port, stretched(10))
    delays = stretched(*(5 + 7 * step for step in range(64)))
    random.Random(64).shuffle(delays)
    sleep_all(port, delays)


def test_no_digest_is_early(port: int) -> None:
    """Check that `/cpu?ms=N` waits before its work."""
    for ms in stretched(10, 50, 200):
        began = time.monotonic()
        expect_first_digest(fetch(port, f"/cpu?rounds=1&ms={ms}"))
        took_ms = (time.monotonic() - began) * 1000
        assert took_ms >= ms, f"answered early: {ms} ms after {took_ms:.1f} ms"


def test_head_sleeps_as_well(port: int) -> None:
    [ms] = stretched(300)
    with Wire(port) as wire:
        began = time.monotonic()
        wire.send(request(f"/sleep?ms={ms}", "HEAD"))
        assert wire.read("HEAD").status == 200
        assert time.monotonic() - began >= ms / 1000, f"HEAD /sleep?ms={ms} was answered early"


def test_delays_overlap(port: int) -> None:
    assert overtakes(port, PLENTY), f"{PLENTY} delays and a request without a delay did not overlap"
    assert overtakes(port, PLENTY, "/cpu?rounds=1&ms=", expect_first_digest), "waits before work did not overlap"


def test_more_sleepers_than_threads(small_pool: SmallPool, target: Target) -> None:
    """Check that if a sleeper holds one of four threads, four delays overlap and twelve take as long as three."""
    if not target.bounded:
        assert overtakes(small_pool.port, SLEEPERS), f"{SLEEPERS} sleepers held up another, on {target.model}"
        return
    assert overtakes(small_pool.port, small_pool.threads - 1), f"fewer than {small_pool.threads} threads"
    delays = stretched(*[QUEUE_MS] * SLEEPERS)
    least = sum(delays) / small_pool.threads / 1000
    took = sleep_all(small_pool.port, delays)
    assert took >= least, f"{SLEEPERS} sleepers took {took:.2f} s: the pool is not bounded"
