from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from fakes import ManualTime

from zoo.sample import requests
from zoo.sample.requests import MOST_ROUNDS, seconds_per_round, slope
from zoo.scenarios.cpu import WORK_MS, rounds_for

SECONDS_A_ROUND = 4e-6
COLD_ROUNDS = 60_000


class Rounds(BaseHTTPRequestHandler):
    """A server that adds 2 ms to the rounds of each request. Its first rounds take ten times as long as the others."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    cold = 0
    clock = ManualTime()

    def do_GET(self) -> None:
        path, _, rounds = self.path.partition("?rounds=")
        slowly = min(int(rounds), type(self).cold)
        type(self).cold -= slowly
        self.clock.now += 0.002 + (int(rounds) + 9 * slowly) * SECONDS_A_ROUND
        self.send_response(200 if path == "/cpu" else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the server's URL. Time passes only as the server says its requests take."""
    monkeypatch.setattr(requests, "time", Rounds.clock)
    with ThreadingHTTPServer(("127.0.0.1", 0), Rounds) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_servers_rounds_are_timed(url: str) -> None:
    assert seconds_per_round(url, warm_s=0) == pytest.approx(SECONDS_A_ROUND)


def test_a_server_is_timed_when_it_is_warm(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rounds, "cold", COLD_ROUNDS)
    began = Rounds.clock.now
    assert seconds_per_round(url, warm_s=3) == pytest.approx(SECONDS_A_ROUND)
    assert Rounds.cold == 0
    assert Rounds.clock.now - began > 3


def test_what_disturbs_some_requests_does_not_matter() -> None:
    noise = random.Random(2)

    def ask(rounds: int) -> float:
        return 0.0004 + rounds * 1.5e-7 + (noise.random() * 0.05 if noise.random() < 0.7 else 0)

    assert slope(ask) == pytest.approx(1.5e-7, rel=0.02)


def test_a_server_too_fast_to_time_is_asked_for_the_most_rounds_at_last() -> None:
    asked: list[int] = []

    def ask(rounds: int) -> float:
        asked.append(rounds)
        return rounds * 1e-12

    slope(ask)
    assert max(asked) == MOST_ROUNDS


@pytest.mark.parametrize(
    ("seconds", "rounds"),
    [(1e-7, [1_000, 5_000, 20_000, 50_000]), (1.37e-7, [730, 3_600, 15_000, 36_000]), (0.01, [1, 1, 1, 1])],
)
def test_rounds_are_round_numbers(seconds: float, rounds: list[int]) -> None:
    assert [rounds_for(ms / 1000, seconds) for ms in WORK_MS] == rounds
