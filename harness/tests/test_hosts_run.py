"""Runs over three hosts: a server's and two generators', each an engine with a network of its own."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from container_runs import bench, ended, failed, records, under_load
from engines import SpareEngine, address, joined_engines

from zoo.runtime.orphans import LABEL

pytestmark = pytest.mark.containers

WORDS = ("--runtime", "hosts", "--server", "rust-axum", "--variant", "hyper", "--tiers", "51")


@pytest.fixture(scope="module")
def hosts() -> Iterator[list[SpareEngine]]:
    with joined_engines(3) as engines:
        yield engines


def loaded(hosts: list[SpareEngine], results: Path, *words: str) -> subprocess.Popen[str]:
    """A run in which the first host has the server, and the others load it.

    The server's processor time is limited: what shares this machine's cores with three hosts has its turn, too.
    """
    server, *loads = [engine.host for engine in hosts]
    named = {
        "SERVER_CONTEXT": server,
        "LOAD_CONTEXT": ",".join(loads),
        "SERVER_ADDRESS": address(0),
        "SERVER_CPUS": "0.2",
    }
    return bench(results, *WORDS, *words, **named)


def left(hosts: list[SpareEngine]) -> Mapping[str, list[str]]:
    return {engine.host: engine.engine.labelled(LABEL) for engine in hosts}


def test_two_hosts_load_a_third(hosts: list[SpareEngine], tmp_path: Path) -> None:
    code, output = ended(loaded(hosts, tmp_path, "--duration", "20"))
    hello, sleep = sorted(records(tmp_path), key=lambda record: record.scenario)
    counted = set()
    for record in (hello, sleep):
        if record is sleep and record.failure is not None:  # a busy machine begins a window of 2 s too far apart
            assert record.failure.kind == "generators_apart", output
            continue
        assert record.measurement is not None, record.failure
        assert record.condition.runtime == "hosts"
        load = record.measurement.load
        assert [one.host for one in load.generators] == [engine.host for engine in hosts[1:]]
        assert [one.connections for one in load.generators] == [26, 25]
        assert sum(one.requests for one in load.generators) == load.requests > 0
        assert all(one.round_trip_us > 0 and one.bandwidth_mb_s > 0 for one in load.generators)
        counted.add(record.measurement.connections.established)
    assert {51} <= counted <= {51, None}  # None where a starved harness would have counted after the load
    assert code == (sleep.failure is not None), output
    assert not any(left(hosts).values())


def test_a_generator_that_dies_fails_the_cell(hosts: list[SpareEngine], tmp_path: Path) -> None:
    run = loaded(hosts, tmp_path, "--duration", "20", "--scenario", "hello")
    hosts[2].engine.call("kill", under_load(hosts[2].engine, run))
    told, _ = failed(run, tmp_path)
    assert told == f"generator host {hosts[2].host}: the agent ended before it answered `wrk`"
    assert not any(left(hosts).values())


def test_a_host_that_goes_away_fails_the_cell_and_says_what_may_be_left(
    hosts: list[SpareEngine], tmp_path: Path
) -> None:
    """Its engine is killed under load, and does not come back: the last test with these hosts."""
    run = loaded(hosts, tmp_path, "--duration", "20", "--scenario", "hello")
    under_load(hosts[2].engine, run)
    hosts[2].end(signal.SIGKILL)
    told, output = failed(run, tmp_path)
    assert told.startswith(f"generator host {hosts[2].host}: ")
    assert f"Cannot connect to the Docker daemon at {hosts[2].host}" in output
    assert "containers of this run may be left; end them when it answers: docker rm --force" in output
    assert not any(left(hosts[:2]).values())
