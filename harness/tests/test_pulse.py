"""What a person sees of a load while it goes on."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from fixtures.scripted_server import ANSWER_BYTES, ScriptedServer
from waits import PATIENCE_S, Enough

from zoo.load.spec import LoadSpec
from zoo.load.wrk import Wrk
from zoo.measure.live_figures import Beat, Pulse, bytes_read

pytestmark = pytest.mark.skipif(bytes_read(os.getpid()) is None, reason="this kernel counts no bytes of a process")


def test_requests_a_second_follow_from_the_bytes_that_the_generator_reads(tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    answers.write_bytes(bytes(1_000_000))
    pulse = Pulse(lambda: [os.getpid()], os.getpid(), answer_bytes=100.0)
    assert pulse.look(0.0) is None
    answers.read_bytes()
    assert pulse.look(0.5) is None
    beat = pulse.look(2.0)
    assert beat is not None
    assert beat.rps is not None
    assert 5_000 <= beat.rps < 6_000
    assert beat.rss_mb is not None
    assert beat.rss_mb > 5


def test_what_cannot_be_read_is_not_told() -> None:
    for pulse in (
        Pulse(list, None, 100.0),
        Pulse(lambda: [os.getpid()], None, None),
        Pulse(lambda: [2**30], 2**30, 1.0),
    ):
        assert pulse.look(0.0) is None
        assert pulse.look(1.0) == Beat(None, None)


def test_the_rate_seen_during_a_load_is_what_the_server_answered_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each of wrk's connections at most one answer is on its way; how many the server had given is counted before
    and after each look. wrk reads nothing else once its one thread has asked."""
    monkeypatch.setattr("zoo.measure.live_figures.EVERY_S", 0.2)
    wrk, connections = Wrk(), 8
    seen: list[tuple[float, int, int, float]] = []
    with ScriptedServer() as server:
        pulse = Pulse(wrk.pids, None, ANSWER_BYTES)

        def look(elapsed: float) -> None:
            before = server.answered
            beat = pulse.look(elapsed)
            if before and beat is not None and beat.rps is not None:
                seen.append((elapsed, before, server.answered, beat.rps))
            if len(seen) == 4:
                raise Enough

        with pytest.raises(Enough):
            wrk.run(LoadSpec(server.url, connections, 2 * PATIENCE_S, 5, threads=1), look)
    told = sum(rps * (at - before) for (before, *_), (at, _, _, rps) in pairwise(seen))
    (_, first_before, first_after, _), (_, last_before, last_after, _) = seen[0], seen[-1]
    assert last_before - first_after - connections <= told <= last_after - first_before + connections
    assert told > connections
