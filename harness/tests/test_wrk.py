from __future__ import annotations

import json
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fixtures.scripted_server import ScriptedServer
from hypothesis import given
from hypothesis import strategies as st

from zoo.histogram import HistogramError
from zoo.load.base import Generator, LoadError, LoadSpec
from zoo.load.children import BusyThreads
from zoo.load.shards import SCRIPT, LocalShards, Shard
from zoo.load.wrk import Wrk, parse_report, split

ROOT = SCRIPT.parents[1]
LIMIT_5S = 5_000_001


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ScriptedServer() as running:
        yield running
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def spec(
    url: str, connections: int = 8, duration_s: float = 1, timeout_s: float = 5, nofile: int | None = None
) -> LoadSpec:
    return LoadSpec(url, connections, duration_s, timeout_s, nofile=nofile)


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


# --- wrk against a real server


def test_a_run_adds_up(server: ScriptedServer) -> None:
    wrk: Generator = Wrk()
    ticks: list[float] = []
    seen: set[int] = set()

    def on_tick(elapsed: float) -> None:
        ticks.append(elapsed)
        seen.update(wrk.pids())

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    outcome = wrk.run(spec(server.url), on_tick)

    assert outcome.requests == outcome.goodput == outcome.histogram.total > 100
    assert outcome.requests <= server.answered <= outcome.requests + outcome.connections
    assert outcome.errors.total == 0
    assert (outcome.connections, outcome.threads, outcome.shards) == (8, 2, 1)
    assert 0.9 < outcome.runtime_s < 5
    assert outcome.bytes >= 40 * outcome.requests
    busy = outcome.requests * outcome.histogram.mean_us / 1e6 / outcome.runtime_s / outcome.connections
    assert 0.5 < busy < 1.1, "Little's law"
    assert outcome.cpu_s > 0
    assert 0 < outcome.busiest_thread <= 1.1
    assert re.fullmatch(r"\d+\.\d+\.\d+", outcome.version)
    assert outcome.command[0][-1] == server.url
    assert 5 <= len(ticks) <= 50
    assert ticks == sorted(ticks)
    assert len(seen) == 1
    assert wrk.pids() == []
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limits


def test_a_stall_is_in_wrks_histogram_many_times_and_in_ours_once(server: ScriptedServer) -> None:
    outcome = Wrk().run(spec(f"{server.url}/stall", connections=4, duration_s=2))
    long_us = 300_000
    ours = outcome.histogram.counts[outcome.histogram.values_us > long_us].sum()
    wrks = outcome.corrected.counts[outcome.corrected.values_us > long_us].sum()
    assert 1 <= ours <= outcome.connections, "one answer a connection was late"
    assert wrks > 20 * ours, "the rest was never sent"
    assert outcome.histogram.total == outcome.requests < outcome.corrected.total


def test_bad_statuses_are_requests_but_no_goodput(server: ScriptedServer) -> None:
    outcome = Wrk().run(spec(f"{server.url}/status/503"))
    assert outcome.errors.status == outcome.requests == outcome.histogram.total > 0
    assert outcome.goodput == 0


def test_late_answers_are_requests_but_no_samples(server: ScriptedServer) -> None:
    outcome = Wrk().run(spec(f"{server.url}/wait/1200", duration_s=2, timeout_s=1))
    assert outcome.errors.timeout == outcome.requests == 8
    assert (outcome.goodput, outcome.histogram.total) == (0, 0)


def test_fewer_requests_than_connections(server: ScriptedServer) -> None:
    outcome = Wrk().run(spec(f"{server.url}/hang", connections=3))
    assert (outcome.requests, outcome.errors.total, outcome.histogram.total) == (0, 0, 0)


def test_a_wait_is_measured(server: ScriptedServer) -> None:
    outcome = Wrk().run(spec(f"{server.url}/wait/300", connections=5, duration_s=1))
    assert outcome.threads == 1, "2 does not divide 5"
    assert 5 <= outcome.requests <= 15
    assert 300_000 <= outcome.histogram.min_us <= outcome.histogram.max_us < 1_000_000


def test_more_connections_than_one_process_may_open(server: ScriptedServer) -> None:
    wrk = Wrk()
    limits: set[int] = set()

    def on_tick(elapsed: float) -> None:
        limits.update(resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] for pid in wrk.pids())

    outcome = wrk.run(spec(server.url, connections=1_000, duration_s=2, nofile=256), on_tick)
    assert (outcome.shards, outcome.connections, outcome.threads) == (5, 1_000, 5)
    assert limits == {256}
    assert outcome.errors.connect == 0
    assert outcome.histogram.total == outcome.requests
    assert outcome.requests <= server.answered <= outcome.requests + 1_000
    assert len(outcome.command) == 5


def test_threads_take_turns_at_the_addresses(server: ScriptedServer) -> None:
    addresses = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
    outcome = Wrk().run(replace(spec(server.url, connections=60, nofile=36), addresses=addresses))
    assert outcome.shards == 3
    assert outcome.errors.total == 0
    by_wrk = {address: n // 20 * 20 for address, n in server.addresses.items()}  # each process first tries one
    assert by_wrk == dict.fromkeys(addresses, 20)


def test_too_few_descriptors_show_as_connect_errors(server: ScriptedServer, tmp_path: Path) -> None:
    """Why the shards exist: wrk goes on with what it got."""
    narrow = tmp_path / "wrk"
    narrow.write_text('#!/bin/sh\nulimit -n 20\nexec wrk "$@"\n')
    narrow.chmod(0o755)
    outcome = Wrk(LocalShards(str(narrow))).run(spec(server.url, connections=30))
    assert outcome.errors.connect > 10
    assert outcome.requests > 0


def test_nothing_outlives_an_interrupt(server: ScriptedServer) -> None:
    wrk = Wrk()
    seen: list[int] = []

    def on_tick(elapsed: float) -> None:
        seen[:] = wrk.pids()
        if elapsed > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wrk.run(spec(server.url, connections=40, duration_s=20, nofile=36), on_tick)
    assert len(seen) == 2
    assert not any(is_running(pid) for pid in seen)
    assert wrk.pids() == []


def test_a_refused_connection_is_told_with_wrks_own_words() -> None:
    with ScriptedServer() as gone:
        url = gone.url
    with pytest.raises(LoadError, match="onnect") as caught:
        Wrk().run(spec(url))
    assert caught.value.kind == "generator_failed"
    assert "unable to connect" in caught.value.output


# --- when wrk is missing, or not itself


def test_a_missing_wrk_is_told_with_the_command_that_mends_it() -> None:
    with pytest.raises(LoadError, match="apt-get install wrk") as caught:
        Wrk(LocalShards("no-such-wrk")).run(spec("http://127.0.0.1:9"))
    assert caught.value.kind == "generator_missing"


def fake_wrk(folder: Path, body: str) -> str:
    path = folder / "wrk"
    path.write_text(f'#!/bin/sh\n[ "$1" = -v ] && echo "wrk 4.1.0 [epoll]" && exit 1\n{body}\n')
    path.chmod(0o755)
    return str(path)


def written(**changes: object) -> dict[str, Any]:
    report = {
        "requests": 100,
        "bytes": 1,
        "runtime_us": 1_000_000,
        "limit": LIMIT_5S,
        "count": 100,
        "errors": {"connect": 0, "read": 0, "write": 0, "status": 0, "timeout": 0},
        "values": [900, 1_000],
        "counts": [99, 1],
    }
    return {**report, **changes}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"limit": 2_000_001}, "limit is 2000001"),
        ({"count": 101}, "count is 101"),
        ({"requests": 99}, "99 requests"),
        ({"requests": 100, "errors": {**written()["errors"], "timeout": 1}}, "1 timeouts"),
        ({"values": [900, 200_000]}, "negative bin"),
        ({"counts": [99]}, "as many counts"),
    ],
)
def test_a_report_that_contradicts_itself_is_no_data(changes: dict[str, Any], told: str) -> None:
    assert parse_report(written(), 8, 5).raw.total == 100
    with pytest.raises(HistogramError, match=told):
        parse_report(written(**changes), 8, 5)


def test_an_invalid_report_fails_the_run(tmp_path: Path) -> None:
    binary = fake_wrk(tmp_path, f"echo '{json.dumps(written(count=7))}' > $ZOO_WRK_JSON")
    with pytest.raises(LoadError, match="count is 7") as caught:
        Wrk(LocalShards(binary)).run(spec("http://127.0.0.1:9"))
    assert caught.value.kind == "histogram_invalid"


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ("echo oh dear; exit 3", "generator_failed", "exit code 3\noh dear"),
        ("echo cannot open report.lua", "generator_failed", "without a report.*\ncannot open"),
        ("echo '{' > $ZOO_WRK_JSON", "generator_failed", "without a report"),
        ("exec sleep 60", "generator_hung", "still ran after 1 s"),
    ],
)
def test_a_generator_that_fails(tmp_path: Path, body: str, kind: str, told: str) -> None:
    with pytest.raises(LoadError, match=told) as caught:
        Wrk(LocalShards(fake_wrk(tmp_path, body), overrun_s=0.3)).run(spec("http://127.0.0.1:9"))
    assert caught.value.kind == kind


# --- the plan


@given(st.integers(1, 3_000), st.integers(1, 16), st.integers(1, 30) | st.integers(1, 3_000))
def test_shards_hold_what_was_asked(connections: int, threads: int, capacity: int) -> None:
    shards = split(connections, threads, capacity)
    assert sum(s.connections for s in shards) == connections
    assert all(0 < s.connections <= capacity for s in shards)
    assert all(s.connections % s.threads == 0 and s.threads <= threads for s in shards)
    assert sum(s.threads for s in shards) <= max(threads, len(shards))


@pytest.mark.parametrize(
    ("asked", "shards"),
    [
        ((100, 2, 19_984), [Shard(100, 2)]),
        ((100, 3, 19_984), [Shard(100, 2)]),
        ((1, 2, 19_984), [Shard(1, 1)]),
        ((25_000, 2, 19_984), [Shard(12_500, 1)] * 2),
        ((25_000, 4, 19_984), [Shard(12_500, 2)] * 2),
        ((1_001, 4, 600), [Shard(500, 2), Shard(501, 1)]),
        ((1_000, 2, 240), [Shard(200, 1)] * 5),
        ((1_998, 8, 999), [Shard(666, 2)] * 3),
        ((5, 9, 2), [Shard(2, 2), Shard(2, 2), Shard(1, 1)]),
    ],
)
def test_shards(asked: tuple[int, int, int], shards: list[Shard]) -> None:
    assert split(*asked) == shards


@pytest.mark.parametrize("asked", [(0, 2, 100), (10, 0, 100), (10, 2, 0)])
def test_a_load_that_cannot_be_split(asked: tuple[int, int, int]) -> None:
    with pytest.raises(LoadError, match="above zero") as caught:
        split(*asked)
    assert caught.value.kind == "spec_invalid"


def test_a_busy_thread_is_seen() -> None:
    burn = "from threading import Thread; Thread(target=lambda: sum(range(10**10)), daemon=True).start(); input()"
    with subprocess.Popen([sys.executable, "-c", burn], stdin=subprocess.PIPE) as process:
        busy = BusyThreads()
        for _ in range(8):
            busy.sample(process.pid)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.1)
        process.kill()
    assert 0.02 < busy.busiest() <= 1.1


# --- the scripts by hand


def by_hand(script: str, url: str, *words: str, cwd: Path = ROOT, option: tuple[str, ...] = ()) -> str:
    path = (ROOT / "wrk-scripts" / script).relative_to(cwd)
    done = subprocess.run(
        ["wrk", "-t2", *(option or ("-c8",)), "-d1s", "--timeout", "5s", "-s", str(path), url, *words],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=10,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


@pytest.mark.parametrize("option", [("-Lc8",), ("-c", "8"), ("--connections=8",)])
def test_report_prints_percentiles(server: ScriptedServer, option: tuple[str, ...]) -> None:
    printed = by_hand("report.lua", f"{server.url}/wait/50", option=option)
    for percent in ("50%", "99.9%"):
        found = re.search(rf"  {percent} +([\d.]+) ms", printed.partition("as measured")[2])
        assert found
        assert 50 <= float(found[1]) < 1_000
    assert "Errors: connect 0, read 0, write 0, status 0, timeout 0" in printed
    assert re.search(r"Connections kept busy: \d+ % of 8\n", printed)


def test_report_prints_the_stall_once(server: ScriptedServer) -> None:
    printed = by_hand("report.lua", f"{server.url}/stall", option=("-c4",))
    ours = re.search(r"  99% +([\d.]+) ms", printed.partition("as measured")[2])
    assert ours
    assert float(ours[1]) < 300
    worst = re.search(r"  max +([\d.]+) ms", printed)
    assert worst
    assert float(worst[1]) > 300


def test_hello_and_sleep_from_other_folders(server: ScriptedServer) -> None:
    assert "samples" in by_hand("hello.lua", server.url, cwd=ROOT / "wrk-scripts")
    assert "samples" in by_hand("sleep.lua", server.url, "500")


def test_no_thread_asks_before_all_are_there() -> None:
    """wrk's clock starts when the last of them has been created; a connection that it only tries comes before."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        command = ["wrk", "-t150", "-c150", "-d1s", "--timeout", "5s", "-s", str(SCRIPT), url]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as wrk:
            listening.settimeout(5)
            tried, _ = listening.accept()
            tried.close()
            first, _ = listening.accept()
            threads = re.search(r"^Threads:\t(\d+)$", Path(f"/proc/{wrk.pid}/status").read_text(), re.MULTILINE)
            first.close()
            wrk.kill()
    assert threads
    assert int(threads[1]) == 151
