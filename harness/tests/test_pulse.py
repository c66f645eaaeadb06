"""What a person sees of a load while it goes on."""

from __future__ import annotations

import os
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


def test_the_rate_seen_during_a_load_is_that_of_its_end() -> None:
    wrk, seen = Wrk(), []
    with ScriptedServer() as server:
        first = wrk.run(LoadSpec(server.url, 8, 1, 5))
        pulse = Pulse(wrk.pids, None, first.bytes / first.requests)
        outcome = wrk.run(LoadSpec(server.url, 8, 3, 8), lambda elapsed: seen.append(pulse.look(elapsed)))
    rates = [beat.rps for beat in seen if beat is not None and beat.rps is not None]
    assert len(rates) >= 2
    assert sum(rates) / len(rates) == pytest.approx(outcome.goodput / outcome.runtime_s, rel=0.3)
