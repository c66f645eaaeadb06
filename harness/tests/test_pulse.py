"""What a person sees of a load while it goes on."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest
from fixtures.scripted_server import ScriptedServer

from zoo.load.base import LoadSpec
from zoo.load.wrk import Wrk
from zoo.pulse import Beat, Pulse, bytes_read

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


def test_the_rate_seen_during_a_load_is_what_the_server_answered_meanwhile() -> None:
    wrk = Wrk()
    seen: list[tuple[float, int, float]] = []
    with ScriptedServer() as server:
        first = wrk.run(LoadSpec(server.url, 8, 1, 5))
        pulse = Pulse(wrk.pids, None, first.bytes / first.requests)

        def look(elapsed: float) -> None:
            beat = pulse.look(elapsed)
            if beat is not None and beat.rps is not None:
                seen.append((elapsed, server.answered, beat.rps))

        wrk.run(LoadSpec(server.url, 8, 4, 8), look)
    assert len(seen) >= 3
    told = sum(rps * (at - before) for (before, _, _), (at, _, rps) in pairwise(seen))
    assert told == pytest.approx(seen[-1][1] - seen[0][1], rel=0.3)
