"""Tests of one load from several agents: real agents, a real wrk, a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import psutil
import pytest
from fixtures.scripted_server import ScriptedServer
from hypothesis import given
from hypothesis import strategies as st
from waits import until

from zoo.core.capacity import feasible_connections
from zoo.core.histogram import Histogram
from zoo.core.host_facts import Limits
from zoo.core.measurement import ErrorCounts
from zoo.load.base import LoadOutcome
from zoo.load.execute import Tick
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.wrk import Wrk
from zoo.runtime.agent.client import AgentClient, AgentExecutor
from zoo.runtime.swarm.generators import LoadNode, SpreadWrk, connect_node, shares_of
from zoo.sample.requests import Link


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as made:
        yield made


@pytest.fixture
def agents(tmp_path: Path) -> Iterator[list[tuple[subprocess.Popen[bytes], AgentClient]]]:
    made = []
    for _ in range(2):
        child = subprocess.Popen(
            [sys.executable, "-m", "zoo.runtime.agent.serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        made.append((child, AgentClient(child)))
    yield made
    for child, client in made:
        if child.poll() is None:
            client.close()


def spread(agents: list[tuple[subprocess.Popen[bytes], AgentClient]], url: str) -> SpreadWrk:
    return SpreadWrk([connect_node(f"host {n}", client, url) for n, (_, client) in enumerate(agents)])


def test_what_two_hosts_sent_is_added_up(
    agents: list[tuple[subprocess.Popen[bytes], AgentClient]], server: ScriptedServer
) -> None:
    wrk = spread(agents, server.url)
    before = server.answered
    outcome = wrk.run(LoadSpec(server.url, 11, 2, 7, threads=1))
    assert outcome.connections == 11
    assert [one.connections for one in outcome.generators] == [6, 5]
    assert sum(one.requests for one in outcome.generators) == outcome.requests
    assert outcome.histogram.total == outcome.requests
    assert outcome.requests <= server.answered - before <= outcome.requests + 11
    assert all(one.round_trip_us > 0 and one.bandwidth_mb_s > 0 for one in outcome.generators)
    assert outcome.cpu_s == pytest.approx(sum(one.cpu_s for one in outcome.generators))


def test_each_host_sends_to_all_addresses_of_the_server(
    agents: list[tuple[subprocess.Popen[bytes], AgentClient]], server: ScriptedServer
) -> None:
    before = server.addresses.copy()
    addresses = ("127.0.0.1", "127.0.0.2")
    nodes = [connect_node(f"host {n}", client, server.url, addresses) for n, (_, client) in enumerate(agents)]
    outcome = SpreadWrk(nodes).run(LoadSpec(server.url, 40, 1, 6, threads=1))
    assert outcome.threads == 4
    assert outcome.requests > 0
    opened = server.addresses - before
    assert opened["127.0.0.2"] == 20
    assert opened["127.0.0.1"] >= 20  # measuring the link opens some more


def test_a_host_that_dies_makes_the_load_invalid_and_ends_the_others(
    agents: list[tuple[subprocess.Popen[bytes], AgentClient]], server: ScriptedServer
) -> None:
    wrk = spread(agents, server.url)
    (first, _), (second, _) = agents

    def die(elapsed: float) -> None:
        if elapsed > 1 and second.poll() is None:
            os.kill(second.pid, signal.SIGKILL)

    with pytest.raises(LoadError, match="generator host host 1: the agent") as caught:
        wrk.run(LoadSpec(server.url, 10, 30, 35, threads=1), die)
    assert caught.value.kind == "agent_lost"
    until(lambda: not psutil.Process(first.pid).children())


class ScriptedWrk(Wrk):
    """A wrk that starts at this time by its node's clock."""

    def __init__(self, began_s: float) -> None:
        super().__init__()
        self.began_s = began_s
        self.begin_at = 0.0

    def run(self, spec: LoadSpec, on_tick: Tick | None = None, begin_at: float | None = None) -> LoadOutcome:
        self.begin_at = begin_at or 0.0
        nothing, empty = ErrorCounts(connect=0, read=0, write=0, status=0, timeout=0), Histogram.from_pairs([])
        return LoadOutcome(0, 0, 1.0, nothing, empty, empty, 1, version="4.2.0", began_s=self.began_s)


def node(name: str, wrk: Wrk, ahead_s: float = 0.0) -> LoadNode:
    """Return a node whose agent is never used."""
    return LoadNode(name, wrk, cast(AgentExecutor, NoExecutor()), Link(1.0, 1.0), ahead_s)


class NoExecutor:
    def end(self) -> None:
        pass


@pytest.mark.parametrize(("late_s", "ahead_s"), [(0.11, 0.0), (7.0, 7.0)])
def test_it_tells_by_how_much_its_generators_began_apart(server: ScriptedServer, late_s: float, ahead_s: float) -> None:
    # A clock that is ahead makes no difference.
    one, two = ScriptedWrk(5.0), ScriptedWrk(5.0 + late_s)
    apart = late_s - ahead_s
    outcome = SpreadWrk([node("one", one), node("two", two, ahead_s)]).run(LoadSpec(server.url, 2, 2, 7))
    assert [use.began_s for use in outcome.generators] == pytest.approx([0.0, apart])
    assert two.begin_at - one.begin_at == pytest.approx(ahead_s), "they were not told the same moment"


def test_the_time_until_all_begin_is_not_time_under_load(
    monkeypatch: pytest.MonkeyPatch, server: ScriptedServer
) -> None:
    monkeypatch.setattr("zoo.runtime.swarm.generators.LEAD_S", 1_000.0)

    class Unbegun(Wrk):
        """A wrk that was told to start, and has not."""

        def run(self, spec: LoadSpec, on_tick: Tick | None = None, begin_at: float | None = None) -> LoadOutcome:
            over.wait(60)
            raise LoadError("over", "the test is over")

    over = threading.Event()
    ticks: list[float] = []

    def tick(elapsed: float) -> None:
        ticks.append(elapsed)
        over.set()

    with pytest.raises(LoadError, match="the test is over"):
        SpreadWrk([node("one", Unbegun())]).run(LoadSpec(server.url, 1, 2, 7), tick)
    assert set(ticks) == {0.0}


def test_nodes_with_another_wrk_are_named(server: ScriptedServer) -> None:
    class Other(Wrk):
        def version(self) -> str:
            return "3.9.9"

    with pytest.raises(LoadError, match=r"the nodes have different versions of wrk: one has \d.*, two has 3\.9\.9"):
        SpreadWrk([node("one", Wrk()), node("two", Other())]).run(LoadSpec(server.url, 2, 1, 5))


@pytest.mark.parametrize(
    ("connections", "threads", "nodes", "shares"),
    [
        (10, 1, 3, [4, 3, 3]),
        (2, 2, 3, [1, 1]),
        (51, 2, 2, [26, 25]),
        (100, 2, 3, [34, 34, 32]),
        (1_001, 4, 2, [500, 501]),
        (7, 4, 1, [7]),
    ],
)
def test_connections_are_dealt_out_to_the_nodes(connections: int, threads: int, nodes: int, shares: list[int]) -> None:
    assert [one.connections for one in shares_of(LoadSpec("u", connections, 1, 5, threads), nodes)] == shares


@given(st.integers(1, 3_000), st.integers(1, 16), st.integers(1, 20))
def test_no_connection_is_lost_between_the_nodes(connections: int, threads: int, nodes: int) -> None:
    shares = [one.connections for one in shares_of(LoadSpec("u", connections, 1, 5, threads), nodes)]
    assert sum(shares) == connections
    assert len(shares) == min(nodes, connections)
    assert min(shares) >= 1
    assert max(shares) - min(shares) <= 2 * threads


def test_ports_of_all_generators_count() -> None:
    limits = Limits(port_low=32_768, port_high=60_999)
    assert feasible_connections(limits, 50_000).actual < 30_000
    assert feasible_connections(limits.model_copy(update={"generators": 2}), 50_000).actual == 50_000
