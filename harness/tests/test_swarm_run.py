"""Tests of runs over a swarm of three nodes: a manager with the server, and two nodes with one generator each."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from container_runs import PATIENCE_S, bench, ended, failed, records, under_load
from engines import SpareEngine, address, joined_engines, registry, swarm_of

from zoo.host.engine import Engine, EngineError, image_name
from zoo.runtime.container import GENERATOR, SAFE
from zoo.runtime.swarm.relay import CERTIFY, RELAY, Relay

pytestmark = pytest.mark.swarm

WORDS = ("--runtime", "swarm", "--server", "rust-axum", "--variant", "hyper", "--connections", "51")

SECOND = address(100)
"""Second address of the server's node, which gets half of the connections."""


class Cluster:
    """Three nodes, and the prefix of the image names that all of them can pull."""

    def __init__(self, nodes: list[SpareEngine], images: str) -> None:
        self.nodes = nodes
        self.manager = nodes[0].engine
        self.images = images

    def bench(self, results: Path, *words: str) -> subprocess.Popen[str]:
        """Start a run whose server gets limited CPU time, so that nodes on the same cores get their share."""
        named = {"SWARM_CONTEXT": self.nodes[0].host, "ZOO_IMAGES": self.images, "SERVER_CPUS": "0.2"}
        return bench(results, *WORDS, *words, **named, SERVER_ADDRESS=f"{address(0)},{SECOND}")

    def left(self, nodes: int = 3) -> list[str]:
        """Return services and secrets, and the containers left on the first nodes after waiting for them to end."""
        found = [*self.manager.call("service", "ls", "--quiet").split()]
        found += self.manager.call("secret", "ls", "--quiet").split()
        deadline = time.monotonic() + PATIENCE_S
        while (running := self.running(nodes)) and time.monotonic() < deadline:
            time.sleep(0.2)
        return found + running

    def running(self, nodes: int = 3) -> list[str]:
        return [found for node in self.nodes[:nodes] for found in node.engine.call("ps", "--quiet").split()]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with joined_engines(3) as engines, registry(engines[0]) as images:
        swarm_of(engines, ["server", "load", "load"])
        engines[0].network("ip", "address", "add", f"{SECOND}/24", "dev", "hosts")
        try:
            yield Cluster(engines, images)
        finally:
            named = ("--filter", f"reference={images}/*", "--format", "{{.Repository}}:{{.Tag}}")
            if built := Engine().call("images", *named).split():
                Engine().call("rmi", *built)


def test_two_nodes_load_a_third(cluster: Cluster, tmp_path: Path) -> None:
    code, output = ended(cluster.bench(tmp_path, "--duration", "20"))
    hello, sleep = sorted(records(tmp_path), key=lambda record: record.scenario)
    for record in (hello, sleep):
        if record is sleep and record.failure is not None:  # on a busy machine, 2 s windows may start too far apart
            assert record.failure.kind == "generators_apart", output
            continue
        assert record.measurement is not None, record.failure
        assert record.condition.runtime == record.condition.network == "swarm"
        load = record.measurement.load
        assert [one.host for one in load.generators] == ["host-1", "host-2"]
        assert [one.connections for one in load.generators] == [26, 25]
        assert sum(one.requests for one in load.generators) == load.requests > 0
        assert all(one.round_trip_us > 0 and one.bandwidth_mb_s > 0 for one in load.generators)
        assert record.measurement.connections.established in (51, None)
        assert record.measurement.memory is not None
        assert record.measurement.memory.rss_peak_kb > 1000
    assert code == (sleep.failure is not None), output
    assert cluster.left() == []


def test_ctrl_c_leaves_nothing(cluster: Cluster, tmp_path: Path) -> None:
    run = cluster.bench(tmp_path, "--duration", "20", "--scenario", "hello")
    under_load(cluster.nodes[1].engine, run)
    run.send_signal(signal.SIGINT)
    code, output = ended(run)
    assert code == 130, output
    assert cluster.left() == []


OTHER = f"{shlex.join(CERTIFY)} > /tmp/pem 2> /tmp/said && openssl s_client -cert /tmp/pem -key /tmp/pem"


@pytest.mark.parametrize("client", ["openssl s_client", OTHER], ids=["no-certificate", "another-certificate"])
def test_a_relay_takes_nobody_but_the_run_s_agent(cluster: Cluster, client: str) -> None:
    # A relay passes on what the harness asks for, so a stranger must not get that far.
    words = ("run", "--rm", "--network=host", *SAFE)
    generator = image_name(GENERATOR)
    Engine().copy_images([generator], cluster.manager)
    pem = cluster.manager.call(*words, generator, *CERTIFY)
    pipe = subprocess.PIPE
    command = [*words, "--interactive", generator, "sh", "-c", RELAY, address(0)]
    relay = Relay(cluster.manager.popen(command, stdin=pipe, stdout=pipe, stderr=pipe), pem, subprocess.DEVNULL)
    call = f"({client} -connect {address(0)}:{relay.port()} -quiet < /dev/null) 2>&1 || true"
    told = cluster.manager.call(*words, generator, "sh", "-c", call)
    with pytest.raises(EngineError, match="its relay has ended"):
        relay.wait(lambda: None)
    assert "alert" in told
    relay.child.communicate()


def test_a_generator_that_dies_fails_the_cell(cluster: Cluster, tmp_path: Path) -> None:
    run = cluster.bench(tmp_path, "--duration", "20", "--scenario", "hello")
    node = cluster.nodes[2]
    node.engine.call("kill", under_load(node.engine, run))
    told, _ = failed(run, tmp_path)
    assert told == "generator host host-2: the agent ended before it answered `execute`"
    assert cluster.left() == []


def test_a_node_that_is_cut_off_fails_the_cell(cluster: Cluster, tmp_path: Path) -> None:
    # The cable is unplugged under load, so the connection drops silently. This must be the last test with these nodes.
    run = cluster.bench(tmp_path, "--duration", "60", "--scenario", "hello")
    node = cluster.nodes[2]
    under_load(node.engine, run)
    node.network("ip", "link", "set", "hosts", "down")
    told, _ = failed(run, tmp_path)
    assert told == "generator host host-2: the agent ended before it answered `execute`"
    assert cluster.left(2) == []
