"""Tests of clients that read nothing, on a real server of one thread per connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fixtures.scripted_server import ScriptedServer

from zoo.load.slow_readers import ReadersSpec, SlowReaders
from zoo.load.spec import LoadError


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def spec(url: str, small: str, patience_s: float) -> ReadersSpec:
    return ReadersSpec(url, large="/hang", small=small, readers=3, duration_s=0.5, patience_s=patience_s)


def test_small_requests_are_timed_next_to_readers_that_hang(server: ScriptedServer) -> None:
    readers = SlowReaders()
    found = readers.run(spec(server.url, "/wait/20", patience_s=30))
    assert found.took_us
    assert all(us is not None and us >= 20_000 for us in found.took_us)
    assert found.cpu_s > 0
    assert readers.pids() == []


@pytest.mark.parametrize("small", ["/hang", "/status/503"])
def test_what_does_not_begin_in_time_or_is_no_success_has_no_time(server: ScriptedServer, small: str) -> None:
    assert set(SlowReaders().run(spec(server.url, small, patience_s=0.2)).took_us) == {None}


def test_a_large_response_that_is_no_success_is_a_failure(server: ScriptedServer) -> None:
    missing = ReadersSpec(server.url, "/status/404", "/", readers=1, duration_s=0.5, patience_s=1)
    with pytest.raises(LoadError) as caught:
        SlowReaders().run(missing)
    assert "GET /status/404 returned 404, expected 2xx" in caught.value.output


def test_readers_that_cannot_connect_are_a_failure() -> None:
    with ScriptedServer() as gone:
        url = gone.url
    with pytest.raises(LoadError, match="exit code 1"):
        SlowReaders().run(spec(url, "/", patience_s=1))
