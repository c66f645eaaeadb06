"""Tests with scripted servers whose ramp-up is known: t95 must be found within one window of 100 ms."""

from __future__ import annotations

import heapq
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.samples import Hits
from zoo.scenarios.ramp.analysis import WINDOW_S, answers, ramp


def served(connections: int, delay_s: float, duration_s: float, threads: list[tuple[float, int]]) -> list[float]:
    """Return when each response comes from a server that adds threads at these times. Clients resend immediately."""
    opened = sorted((at, 1) for at, more in threads for _ in range(more))
    free: list[float] = []
    waiting = [0.0] * connections  # arrival times of the clients' requests, oldest first
    heapq.heapify(waiting)
    times: list[float] = []
    for at, _ in opened:
        heapq.heappush(free, at)
    while waiting and free:
        begun = max(heapq.heappop(waiting), heapq.heappop(free))
        if begun >= duration_s:
            break
        done = begun + delay_s
        times.append(done)
        heapq.heappush(free, done)
        heapq.heappush(waiting, done)
    return times


def test_all_served_at_once_takes_one_delay() -> None:
    # Responses come in bursts, one delay apart. Most windows are empty, and that does not matter.
    found = ramp(served(100, 1.0, 5.0, [(0.0, 100)]), 100, 1.0, 5.0)
    assert found.t95_s == pytest.approx(1.0)
    assert found.plateau == pytest.approx(1.0)
    assert found.kept
    assert found.windows[9] == 100
    assert sum(found.windows) == 500
    assert len(found.windows) == 50


@given(st.integers(20, 200), st.sampled_from([0.1, 0.25, 0.5, 1.0]), st.floats(0.0, 5.0), st.floats(0.0, 0.9))
def test_t95_of_a_pool_that_becomes_large_enough_at_a_known_time(
    connections: int, delay_s: float, opens_s: float, share: float
) -> None:
    # Some threads exist at the start, the others from `opens_s`. One delay later, every client has been served.
    first = round(share * connections)
    times = served(connections, delay_s, 12.0, [(0.0, first), (opens_s, connections - first)])
    found = ramp(times, connections, delay_s, 12.0)
    true = opens_s + delay_s
    assert found.t95_s is not None
    assert true - 1e-6 <= found.t95_s <= true + WINDOW_S + 1e-6


def test_t95_of_a_pool_that_grows_a_thread_at_a_time() -> None:
    # As in Liberty, 10 threads are added each second. The 95th of 100 clients is first served by the 95th thread.
    growth = [(float(second), 10) for second in range(10)]
    found = ramp(served(100, 0.5, 20.0, growth), 100, 0.5, 20.0)
    assert found.t95_s == pytest.approx(9.0 + 0.5, abs=WINDOW_S)
    assert found.kept


def test_a_pool_that_is_too_small_never_gets_there() -> None:
    found = ramp(served(100, 0.5, 20.0, [(0.0, 94)]), 100, 0.5, 20.0)
    assert (found.t95_s, found.plateau) == (None, None)


def test_answers_that_are_all_a_little_late_still_count() -> None:
    # Each cycle takes 3% longer than the delay and clients drift apart: 97% of C/D.
    noise = random.Random(3)
    times: list[float] = []
    for _ in range(200):
        at = noise.uniform(0, 0.5)
        while at < 10:
            at += 0.5 * 1.03
            times.append(at)
    found = ramp(times, 200, 0.5, 10.0)
    assert found.t95_s is not None
    assert found.t95_s <= 1.2
    assert found.plateau == pytest.approx(0.97, abs=0.01)


def test_what_was_reached_but_did_not_last_is_told() -> None:
    times = [t for t in served(50, 0.5, 10.0, [(0.0, 50)]) if t < 2.2]
    found = ramp(times, 50, 0.5, 10.0)
    assert found.t95_s == pytest.approx(0.5)
    assert not found.kept


def test_failures_are_no_answers() -> None:
    assert answers([Hits([0, 10], [500_000, 400_000], {"timeout": [1]}), Hits([5], [100_000], {})]) == [0.100005, 0.5]


@pytest.mark.parametrize(("connections", "delay_s", "duration_s"), [(0, 1, 5), (1, 0, 5), (1, 1, 0.05)])
def test_no_ramp_without_connections_delay_or_time(connections: int, delay_s: float, duration_s: float) -> None:
    with pytest.raises(ValueError, match="a ramp needs"):
        ramp([], connections, delay_s, duration_s)
