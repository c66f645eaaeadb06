from __future__ import annotations

import socket
import subprocess
import sys
from textwrap import dedent

import numpy as np
import pytest

from zoo.sample.proc import snapshot
from zoo.stats.memory_per_request import Point, cost, freed_share, slope

COUNTS = (0, 100, 300, 1_000, 3_000)

HOLDER = dedent(
    """
    import socket, sys
    held, size = [], int(sys.argv[1])
    server = socket.create_server(("127.0.0.1", 0), backlog=1000)
    print(server.getsockname()[1], flush=True)
    while True:
        connection, _ = server.accept()
        held.append((connection, bytearray(b"x" * size)))
        connection.sendall(b"k")
    """
)
"""Server that holds exactly this many bytes for each connection, and reports it."""


def test_a_line_by_hand() -> None:
    assert slope([Point(0, 10), Point(1, 12), Point(2, 17), Point(3, 19)]).kb == pytest.approx(3.2)
    found = slope([Point(count, 50_000 + 18 * count) for count in COUNTS])
    assert found.kb == pytest.approx(18)
    assert found.rest_kb == pytest.approx(50_000)
    assert found.fit == pytest.approx(1)
    assert slope([Point(count, 7.0) for count in COUNTS]).kb == 0


def test_a_bent_line_fits_worse() -> None:
    assert slope([Point(count, float(count) ** 3) for count in COUNTS]).fit < 0.95


@pytest.mark.parametrize("counts", [(0, 100, 200), (100, 200, 300, 400), (0, 100, 100, 200)])
def test_too_few_counts_or_no_rest_make_no_slope(counts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="at rest and at least 3"):
        slope([Point(count, 1.0 * count) for count in counts])


def test_the_rounds_interval_covers_the_true_slope() -> None:
    # A process's memory differs from round to round, and so do its idle part and its slope.
    random = np.random.default_rng(5)
    covered, runs, true = 0, 2_000, 40.0
    for _ in range(runs):
        rounds = []
        for _ in range(5):
            idle, per = random.normal(60_000, 4_000), random.normal(true, 1.5)
            rounds.append(slope([Point(n, float(idle + per * n + random.normal(0, 300))) for n in COUNTS]))
        found = cost(dict(enumerate(rounds))).interval
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= true <= found.high
    assert 0.93 <= covered / runs <= 0.97


def test_memory_given_back() -> None:
    assert freed_share(50, 150, 150) == 0
    assert freed_share(50, 150, 75) == 0.75
    assert freed_share(50, 50, 60) is None


def test_the_slope_of_a_server_that_holds_512_kib_a_connection() -> None:
    kib = 512
    found = cost({number: slope(held_by_a_real_process(kib)) for number in (1, 2, 3)})
    assert found.interval.value == pytest.approx(kib, rel=0.05)
    assert found.fit > 0.999


def held_by_a_real_process(kib: int) -> list[Point]:
    """Return the RSS of the process at rest and with rising numbers of connections."""
    words = [sys.executable, "-c", HOLDER, str(kib * 1024)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        clients: list[socket.socket] = []
        try:
            port = int(child.stdout.readline())
            points = [Point(0, snapshot(child.pid).rss_kb)]
            for count in (10, 20, 40, 80):
                while len(clients) < count:
                    clients.append(socket.create_connection(("127.0.0.1", port), timeout=10))
                    assert clients[-1].recv(1) == b"k"
                points.append(Point(count, snapshot(child.pid).rss_kb))
            return points
        finally:
            for client in clients:
                client.close()
            child.kill()
