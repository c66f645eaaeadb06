"""One load from several agents: real agents, a real wrk, a real server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import psutil
import pytest
from fixtures.scripted_server import ScriptedServer
from waits import until

from zoo.load.shards import Ran, Shard
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.wrk import Wrk, split
from zoo.model.host import Limits
from zoo.plan.feasible import connections
from zoo.runtime.agent.client import AgentClient
from zoo.runtime.agent.load import AgentShards
from zoo.runtime.agent.senders import remote
from zoo.runtime.agent.spread import Link, Remote, SpreadShards


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


def spread(agents: list[tuple[subprocess.Popen[bytes], AgentClient]], url: str) -> Wrk:
    return Wrk(SpreadShards([remote(f"host {n}", client, url) for n, (_, client) in enumerate(agents)]))


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
    remotes = [remote(f"host {n}", client, server.url) for n, (_, client) in enumerate(agents)]
    outcome = Wrk(SpreadShards(remotes), ("127.0.0.1", "127.0.0.2")).run(LoadSpec(server.url, 40, 1, 6, threads=1))
    assert outcome.threads == 4
    assert outcome.requests > 0
    opened = server.addresses - before
    assert opened["127.0.0.2"] == 20
    assert opened["127.0.0.1"] >= 20  # looking at the link opens some more


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


@pytest.mark.parametrize(("late_s", "ahead_s"), [(0.11, 0.0), (7.0, 7.0)])
def test_it_tells_by_how_much_its_generators_began_apart(server: ScriptedServer, late_s: float, ahead_s: float) -> None:
    """A clock that is ahead does not count."""

    @dataclass
    class Scripted:
        began_s: float
        begin_at: float = 0.0

        def run(self, spec: LoadSpec, shards: list[Shard], *told: object, begin_at: float) -> Ran:
            self.begin_at = begin_at
            return Ran(["{}"] * len(shards), [""] * len(shards), [[]] * len(shards), 0.0, 0.0, self.began_s)

    one, two = Scripted(5.0), Scripted(5.0 + late_s)
    hosts = [
        Remote("one", cast(AgentShards, one), Link(1.0, 1.0), 0.0),
        Remote("two", cast(AgentShards, two), Link(1.0, 1.0), ahead_s),
    ]
    apart = late_s - ahead_s
    ran = SpreadShards(hosts).run(LoadSpec(server.url, 2, 2, 7), split(2, 2, 100, places=2), 100)
    assert [place.began_s for place in ran.places] == pytest.approx([0.0, apart])
    assert two.begin_at - one.begin_at == pytest.approx(ahead_s), "they were not told the same moment"


def test_the_time_until_all_begin_is_not_time_under_load(
    monkeypatch: pytest.MonkeyPatch, server: ScriptedServer
) -> None:
    monkeypatch.setattr("zoo.runtime.agent.spread.LEAD_S", 1_000.0)

    class Unbegun:
        """Shards of a host that was told to begin, and has not."""

        def run(self, *told: object, begin_at: float) -> Ran:
            over.wait(60)
            raise LoadError("over", "the test is over")

        def end(self) -> None:
            pass

    over = threading.Event()
    ticks: list[float] = []

    def tick(elapsed: float) -> None:
        ticks.append(elapsed)
        over.set()

    host = Remote("one", cast(AgentShards, Unbegun()), Link(1.0, 1.0), 0.0)
    with pytest.raises(LoadError, match="the test is over"):
        SpreadShards([host]).run(LoadSpec(server.url, 1, 2, 7), split(1, 1, 100), 100, tick)
    assert set(ticks) == {0.0}


def test_each_host_has_a_process_at_least() -> None:
    assert [s.connections for s in split(10, 2, 1_000, places=3)] == [4, 3, 3]
    assert [s.connections for s in split(2, 2, 1_000, places=3)] == [1, 1]


def test_ports_of_all_generators_count() -> None:
    limits = Limits(port_low=32_768, port_high=60_999)
    assert connections(limits, 50_000).actual < 30_000
    assert connections(limits.model_copy(update={"generators": 2}), 50_000).actual == 50_000
