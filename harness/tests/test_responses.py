"""Tests of bad responses: real wrk against a server that fails in many ways, and the arithmetic alone."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import builders
import numpy as np
import pytest
from fakes import outcome
from fixtures.scripted_server import ScriptedServer
from hypothesis import given
from hypothesis import strategies as st

from zoo.bench.display import Display
from zoo.bench.reconnects import ConnectionCount
from zoo.bench.responses import SINGLE, has_too_many_bad
from zoo.bench.window import Bench, Clock, Window
from zoo.core.defaults import QUICK
from zoo.core.histogram import TOLERANCE, Histogram
from zoo.core.host_facts import Limits
from zoo.core.run import Target
from zoo.core.run_folder import Store
from zoo.host import network
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.wrk import Wrk
from zoo.runtime.target import HostedTarget
from zoo.stats.flags import OWN_OPENS, REOPENED_LIMIT, count_reopened, without_other_programs

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\nX-Padding: 1234567890\r\n\r\nHello, World!"
LONGER = GOOD.replace(b"13", b"26").replace(b"Hello, World!", b"Hello, World!Hello, World!")
SHORTER = GOOD.replace(b"13", b"5 ").replace(b"Hello, World!", b"Oops!")
FOUND = b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"
SAME_SIZE = FOUND.replace(b"/login", b"/login" + b"x" * (len(GOOD) - len(FOUND)))
BROKEN = b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\nOops"
FEW = 20


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def bench(folder: Path) -> Bench:
    store = Store.create(folder / "results", builders.run())
    return Bench(Limits(nofile_hard=None), Clock(), store, QUICK, Display(), threads=1)


def failure(server: ScriptedServer, script: Callable[[int], bytes], folder: Path) -> LoadError | None:
    """Return the error that one second of load raises, or None."""
    server.script = script
    hosted = HostedTarget(Target(url=f"{server.url}/"))
    tools = bench(folder)
    try:
        tools.load(hosted, tools.spec(f"{server.url}/", 4, 1))
    except LoadError as error:
        return error
    return None


def every(n: int, bad: bytes) -> Callable[[int], bytes]:
    return lambda number: bad if number % n == 0 else GOOD


def since(n: int, bad: bytes) -> Callable[[int], bytes]:
    return lambda number: bad if number > n else GOOD


@pytest.mark.parametrize(
    ("script", "sample"),
    [
        (since(FEW, FOUND), "302"),
        (since(FEW, SAME_SIZE), "302"),
        (since(FEW, BROKEN), "500"),
        (every(50, FOUND), "302"),
        (every(50, BROKEN), "500"),
        (every(50, FOUND.replace(b"Location: /login", b"Connection: close")), "302"),
        (every(50, LONGER), "bytes"),
        (every(50, SHORTER), "bytes"),
        (since(FEW, SHORTER), "bytes"),
    ],
    ids=[
        "302",
        "302 of the same size",
        "500",
        "2% 302",
        "2% 500",
        "2% 302 that close",
        "2% longer",
        "2% shorter",
        "shorter",
    ],
)
def test_bad_responses_fail_the_load(
    server: ScriptedServer, script: Callable[[int], bytes], sample: str, tmp_path: Path
) -> None:
    found = failure(server, script, tmp_path)
    assert found is not None
    assert found.kind == "bad_responses"
    assert sample in found.message


def test_redirects_that_end_with_the_load_fail_it(server: ScriptedServer, tmp_path: Path) -> None:
    # Single responses before and after are good. So are those that wrk counts afterwards, on other connections.
    before = 0

    def script(number: int) -> bytes:
        nonlocal before
        opened = server.addresses.total()
        if number <= SINGLE:
            before = opened
            return GOOD
        return FOUND if number % 3 == 0 and opened <= before + 5 else GOOD

    found = failure(server, script, tmp_path)
    assert found is not None
    assert "bytes on average" in found.message


def counted(number: int) -> bytes:
    """Return a response that grows with its number."""
    body = f"visitor {number}".encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize(
    "script",
    [lambda _: GOOD, every(1_000, BROKEN), counted],
    ids=["good", "0.1% 500", "a counter in its body"],
)
def test_good_responses_do_not(server: ScriptedServer, script: Callable[[int], bytes], tmp_path: Path) -> None:
    assert failure(server, script, tmp_path) is None


def chunked(number: int) -> bytes:
    """Return 10,000 bytes in a varying number of chunks."""
    pieces = 4 + number % 2
    body = b"".join(b"%x\r\n%s\r\n" % (10_000 // pieces, b"x" * (10_000 // pieces)) for _ in range(pieces))
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + body + b"0\r\n\r\n"


@pytest.mark.parametrize("bad", [False, True])
def test_a_chunked_body_may_be_cut_anywhere(server: ScriptedServer, bad: bool, tmp_path: Path) -> None:
    found = failure(server, lambda number: FOUND if bad and number % 50 == 0 else chunked(number), tmp_path)
    assert (found is not None) is bad


def test_a_body_of_any_length_is_no_fault(server: ScriptedServer, tmp_path: Path) -> None:
    lengths = itertools.cycle([3, 1_000, 20, 4_000, 60])

    def script(_: int) -> bytes:
        length = next(lengths)
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (length, b"x" * length)

    assert failure(server, script, tmp_path) is None


@pytest.mark.parametrize(
    ("requests", "status", "broken", "connections", "too_many"),
    [
        (55, 0, 1, 19_500, False),
        (55, 0, 300, 19_500, True),
        (55, 1, 0, 19_500, True),
        (9, 0, 2, 100, True),
        (100_000, 500, 400, 100, False),
        (100_000, 600, 600, 100, True),
        (0, 0, 10, 100, True),
    ],
)
def test_failed_connections_are_a_share_of_the_requests_sent(
    requests: int, status: int, broken: int, connections: int, too_many: bool
) -> None:
    spec = LoadSpec("http://localhost/", connections, 1.0, 6.0, 1)
    made = outcome(spec, [[1_000, requests]] if requests else [], status=status)
    made = replace(made, errors=made.errors.model_copy(update={"read": broken}))
    assert has_too_many_bad(made) is too_many


# --- connections


def test_wrk_opens_one_connection_more_than_it_is_asked_for(server: ScriptedServer, tmp_path: Path) -> None:
    # The extra connection is no reconnect.
    Wrk().run(bench(tmp_path).spec(f"{server.url}/", 4, 1))
    assert server.addresses.total() == 5
    assert count_reopened(5, 4, 1) == 0
    assert count_reopened(12, 4, 2) == 6


@pytest.mark.parametrize(
    ("closed", "made"), [(1_001, 900), (451, 900), (12, 900), (11, 20), (2, 2), (1, 0), (0, 0), (None, None)]
)
def test_connections_of_other_programs_are_no_reconnects(closed: int | None, made: int | None) -> None:
    assert without_other_programs(900, closed, 1) == made


def test_reconnects_are_at_least_the_closed_connections() -> None:
    assert without_other_programs(5_000, 12, 1) == 11


class ScriptedNetwork:
    """Instruments on a network of many programs; `ends` are the times at which connections of the server end."""

    def __init__(self, accepted: int, ends: Sequence[float]) -> None:
        self.now_s = 0.0
        self._accepted = accepted
        self._ends = ends

    def clock(self) -> float:
        return self.now_s

    def counters(self, _pid: int | None) -> SimpleNamespace:
        return SimpleNamespace(since=lambda _: SimpleNamespace(passive_opens=self._accepted))

    def has_own_network(self) -> bool:
        return False

    def count_closed(self, _url: str, oldest_s: float, newest_s: float) -> int:
        return sum(newest_s <= self.now_s - end <= oldest_s for end in self._ends)


@pytest.mark.parametrize("late_s", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("reopened", [0, 50])
def test_reconnects_of_a_load_that_begins_late_are_counted(late_s: float, reopened: int) -> None:
    check, last = [late_s], [late_s + 1.01] * 4
    tools = ScriptedNetwork(10_000, [*check, *(late_s + (n + 0.5) / 50 for n in range(reopened)), *last])
    count = ConnectionCount(SimpleNamespace(instruments=tools, pid=1, url="http://127.0.0.1:1/"))  # type: ignore[arg-type]
    tools.now_s = late_s + 1.1
    count.stop()
    tools.now_s = late_s + 1.3
    assert count.reopened(outcome(LoadSpec("http://127.0.0.1:1/", 4, 1, 6, 1), [[1_000, 100]])) == reopened


CLOSE_DELAYS_S = [0.0, 0.05]
"""Without a delay the server closes first, with a delay wrk does."""


def window_with_reconnects(folder: Path, per_connection: int, close_delay_s: float) -> Window:
    """Load a server that closes each connection after so many responses, or none for 0."""

    def script(number: int) -> bytes:
        last = bool(per_connection) and number % per_connection == 0
        return GOOD.replace(b"X-Padding: 1234567890", b"Connection: close") if last else GOOD

    with ScriptedServer() as server:
        server.close_delay_s = close_delay_s
        server.script = script
        tools = bench(folder)
        return Window(HostedTarget(Target(url=f"{server.url}/"))).run(tools, tools.spec(f"{server.url}/", 4, 1))


@pytest.mark.parametrize("close_delay_s", CLOSE_DELAYS_S)
@pytest.mark.parametrize(("per_connection", "share"), [(1, 0.9), (100, 0.009), (0, 0.0)])
def test_connections_that_the_server_closes_are_counted(
    per_connection: int, share: float, close_delay_s: float, tmp_path: Path
) -> None:
    seen = window_with_reconnects(tmp_path, per_connection, close_delay_s)
    assert seen.reopened is not None
    assert seen.reopened >= share * seen.outcome.requests
    assert (seen.reopened > REOPENED_LIMIT * seen.outcome.requests) is bool(per_connection)


@pytest.mark.skipif(network.namespace_command() is None, reason="this system refuses network namespaces")
@pytest.mark.parametrize("close_delay_s", CLOSE_DELAYS_S)
def test_reconnects_are_counted_in_a_namespace_that_keeps_few_closed_ends(close_delay_s: float, tmp_path: Path) -> None:
    # The first window leaves as many as the namespace keeps for a minute.
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from test_responses import *\n"
        "network.prepare_namespace({**network.NAMESPACE_SETTINGS, 'net/ipv4/tcp_max_tw_buckets': '100'})\n"
        "for number in range(2):\n"
        "    seen = window_with_reconnects(Path(sys.argv[2], str(number)), 1, float(sys.argv[3]))\n"
        "    print(seen.reopened, seen.outcome.requests)\n"
    )
    words = [sys.executable, "-c", code, str(Path(__file__).parent), str(tmp_path), str(close_delay_s)]
    done = subprocess.run([*(network.namespace_command() or []), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (_, first), (reopened, requests) = ([int(word) for word in line.split()] for line in done.stdout.splitlines())
    assert first > 100
    assert 0.9 * requests <= reopened <= requests + OWN_OPENS


# --- latency of good responses


latencies = st.lists(st.integers(1, 10_000), min_size=100, max_size=400)


@given(latencies, st.lists(st.integers(1, 20_000), max_size=4), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_quantile_of_the_good_ones_lies_within_its_bounds(good: list[int], bad: list[int], q: float) -> None:
    # This holds whichever responses were bad.
    merged = histogram([*good, *bad])
    low, high = merged.good_bounds(q, len(bad))
    true = histogram(good).quantile(q)
    assert true is not None
    assert low <= true <= high
    told = merged.good_quantile(q, len(bad))
    assert (told is None) == (high > low * (1 + TOLERANCE))
    if told is not None:
        assert abs(told - true) <= TOLERANCE * true + 1
    if not bad:
        assert told == true


def histogram(values: list[int]) -> Histogram:
    found, counts = np.unique(np.array(values, dtype=np.int64), return_counts=True)
    return Histogram(found, counts.astype(np.int64))
