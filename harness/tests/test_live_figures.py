"""Tests of what a user sees while a load runs."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from fixtures.scripted_server import ANSWER_BYTES, ScriptedServer
from waits import PATIENCE_S, Enough

from zoo.bench.display import LiveFigures, bytes_read
from zoo.load.spec import LoadSpec
from zoo.load.wrk import Wrk

pytestmark = pytest.mark.skipif(bytes_read(os.getpid()) is None, reason="this kernel counts no bytes of a process")


def test_requests_a_second_follow_from_the_bytes_that_the_generator_reads(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    answers.write_bytes(bytes(1_000_000))
    figures = LiveFigures(lambda: [os.getpid()], os.getpid(), answer_bytes=100.0)
    assert not figures.read(0.0)
    answers.read_bytes()
    assert not figures.read(0.5)
    assert figures.read(2.0)
    assert figures.rps is not None
    assert 5_000 <= figures.rps < 6_000
    assert figures.rss_mb is not None
    assert figures.rss_mb > 5
    figures.rps, figures.rss_mb = 51_234.4, 78.1
    assert str(figures) == "51,234 req/s, 78 MB"


def test_what_cannot_be_read_is_not_told() -> None:
    for figures in (
        LiveFigures(list, None, 100.0),
        LiveFigures(lambda: [os.getpid()], None, None),
        LiveFigures(lambda: [2**30], 2**30, 1.0),
    ):
        assert not figures.read(0.0)
        assert figures.read(1.0)
        assert (figures.rps, figures.rss_mb, str(figures)) == (None, None, "")
    figures.rss_mb = 78.1
    assert str(figures) == "78 MB"


def test_the_rate_seen_during_a_load_is_what_the_server_answered_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    # Each of wrk's connections has at most one response on its way. The server's count is read before and after each
    # reading. After its single thread has sent its first requests, wrk reads nothing but responses.
    monkeypatch.setattr("zoo.bench.display.EVERY_S", 0.2)
    wrk, connections = Wrk(), 8
    seen: list[tuple[float, int, int, float]] = []
    with ScriptedServer() as server:
        figures = LiveFigures(wrk.pids, None, ANSWER_BYTES)

        def look(elapsed: float) -> None:
            before = server.answered
            if figures.read(elapsed) and before and figures.rps is not None:
                seen.append((elapsed, before, server.answered, figures.rps))
            if len(seen) == 4:
                raise Enough

        with pytest.raises(Enough):
            wrk.run(LoadSpec(server.url, connections, 2 * PATIENCE_S, 5, threads=1), look)
    told = sum(rps * (at - before) for (before, *_), (at, _, _, rps) in pairwise(seen))
    (_, first_before, first_after, _), (_, last_before, last_after, _) = seen[0], seen[-1]
    assert last_before - first_after - connections <= told <= last_after - first_before + connections
    assert told > connections
