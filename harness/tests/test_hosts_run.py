"""Runs over three hosts: a server's and two generators', each an engine with a network of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from engines import SpareEngine, address, joined_engines

from zoo.host.engine import Engine
from zoo.model.record import Record
from zoo.runtime.orphans import LABEL
from zoo.store.run_folder import Store

PATIENCE_S = 600
WORDS = ("--runtime", "hosts", "--server", "rust-axum", "--variant", "hyper", "--tiers", "51")


@pytest.fixture(scope="module")
def hosts() -> Iterator[list[SpareEngine]]:
    with joined_engines(3) as engines:
        yield engines


def bench(hosts: list[SpareEngine], results: Path, *words: str) -> subprocess.Popen[str]:
    """The server's processor time is limited: what shares this machine's cores with three hosts has its turn, too."""
    server, *loads = [engine.host for engine in hosts]
    named = {
        "SERVER_CONTEXT": server,
        "LOAD_CONTEXT": ",".join(loads),
        "SERVER_ADDRESS": address(0),
        "SERVER_CPUS": "0.2",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "zoo", "bench", "--quick", "--results", str(results), *WORDS, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": "200", **named},
    )


def records(results: Path) -> list[Record]:
    return Store.open(results / "latest").records()


def left(hosts: list[SpareEngine]) -> Mapping[str, list[str]]:
    return {engine.host: Engine(where=("--host", engine.host)).labelled(LABEL) for engine in hosts}


def test_two_hosts_load_a_third(hosts: list[SpareEngine], tmp_path: Path) -> None:
    run = bench(hosts, tmp_path, "--duration", "20")
    output, _ = run.communicate(timeout=PATIENCE_S)
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
    assert run.returncode == (sleep.failure is not None), output
    assert not any(left(hosts).values())


def loaded_from(engine: SpareEngine, run: subprocess.Popen[str]) -> str:
    """The container in which a generator runs by now."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and run.poll() is None:
        for container in Engine(where=("--host", engine.host)).labelled(LABEL):
            if "wrk" in engine.docker("top", container, "-o", "pid,comm", check=False).split():
                return container
        time.sleep(0.1)
    raise AssertionError(f"no load was seen: {run.communicate()[0]}")


def failure(run: subprocess.Popen[str], results: Path) -> str:
    """Of the one cell of a run."""
    output, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1, output
    [record] = records(results)
    assert record.failure is not None, output
    assert record.failure.message in output
    return record.failure.message


def test_a_generator_that_dies_fails_the_cell(hosts: list[SpareEngine], tmp_path: Path) -> None:
    run = bench(hosts, tmp_path, "--duration", "20", "--scenario", "hello")
    hosts[2].docker("kill", loaded_from(hosts[2], run))
    told = failure(run, tmp_path)
    assert told == f"generator host {hosts[2].host}: the agent ended before it answered `wrk`"
    assert not any(left(hosts).values())


def test_a_host_that_goes_away_fails_the_cell_and_says_what_may_be_left(
    hosts: list[SpareEngine], tmp_path: Path
) -> None:
    """Its engine is killed under load, and does not come back: the last test with these hosts."""
    run = bench(hosts, tmp_path, "--duration", "20", "--scenario", "hello")
    loaded_from(hosts[2], run)
    hosts[2].end(signal.SIGKILL)
    assert failure(run, tmp_path).startswith(f"generator host {hosts[2].host}: ")
    assert not any(left(hosts[:2]).values())
