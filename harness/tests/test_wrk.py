from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from builders import wrk_corrected
from fakes import ManualTime
from fixtures.scripted_server import ANSWER_BYTES, STALL_S, ScriptedServer
from hypothesis import given
from hypothesis import strategies as st
from waits import PATIENCE_S, Enough, stopping, until

from zoo.core.histogram import HistogramError
from zoo.load.base import Generator, LoadOutcome
from zoo.load.execute import MAX_FILES, BusyThreads, Children
from zoo.load.spec import LoadError, LoadSpec
from zoo.load.wrk import RESERVED_FILES, SCRIPT, Wrk, command, parse_report, threads_of

ROOT = SCRIPT.parents[1]
LIMIT_5S = 5_000_001
LONG_S = 2 * PATIENCE_S
"""Duration of a load that the test ends early."""


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ScriptedServer() as running:
        yield running
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def spec(
    url: str,
    connections: int = 8,
    duration_s: float = LONG_S,
    timeout_s: float = 30,
    threads: int = 2,
) -> LoadSpec:
    return LoadSpec(url, connections, duration_s, timeout_s, threads=threads)


def load(asked: LoadSpec, enough: Callable[[], object], wrk: Wrk | None = None) -> LoadOutcome:
    """Run a load that continues until `enough` returns true, however long that takes on this machine."""
    wrk = wrk or Wrk()
    return wrk.run(asked, stopping(wrk.pids, enough))


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
    began = time.monotonic()
    outcome = wrk.run(spec(server.url, duration_s=1), on_tick)
    elapsed_s = time.monotonic() - began

    assert outcome.requests == outcome.goodput == outcome.histogram.total > 0
    assert outcome.requests <= server.answered <= outcome.requests + outcome.connections
    assert outcome.errors.total == 0
    assert (outcome.connections, outcome.threads) == (8, 2)
    assert 0.9 < outcome.runtime_s < elapsed_s
    assert outcome.bytes >= ANSWER_BYTES * outcome.requests
    assert outcome.histogram.mean_us is not None
    busy = outcome.requests * outcome.histogram.mean_us / 1e6 / outcome.runtime_s / outcome.connections
    assert 0 < busy < 1.1, "Little's law"
    assert outcome.cpu_s > 0
    assert re.fullmatch(r"\d+\.\d+\.\d+", outcome.version)
    assert ticks
    assert ticks == sorted(ticks)
    assert ticks[-1] < elapsed_s
    assert len(seen) == 1
    assert wrk.pids() == []
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == limits


def test_a_stall_is_in_wrks_histogram_many_times_and_in_ours_once(server: ScriptedServer) -> None:
    # The samples that wrk adds are exactly what its rule makes of our histogram, to the last sample.
    outcome = load(spec(f"{server.url}/stall", connections=4), lambda: server.answered_since_stall > 500)
    stall_us = round(STALL_S * 1e6)
    assert outcome.histogram.total == outcome.requests < outcome.corrected.total
    assert outcome.histogram.max_us is not None
    assert outcome.histogram.max_us >= stall_us, "one answer was late, that it stood still before"
    interval = round(outcome.runtime_s * 1e6) // (outcome.requests // outcome.connections)
    assert interval < stall_us / 2
    assert wrk_corrected(outcome.histogram, interval) == outcome.corrected
    late = int(outcome.histogram.counts[outcome.histogram.values_us >= stall_us].sum())
    invented = outcome.corrected.total - outcome.histogram.total
    assert invented >= late * (stall_us // interval - 2), "the rest was never sent"


def test_bad_statuses_are_requests_but_no_goodput(server: ScriptedServer) -> None:
    outcome = load(spec(f"{server.url}/status/503"), lambda: server.answered > 20)
    assert outcome.errors.status == outcome.requests == outcome.histogram.total > 0
    assert outcome.goodput == 0


def test_late_answers_are_requests_but_no_samples(server: ScriptedServer) -> None:
    outcome = load(spec(f"{server.url}/wait/1100", timeout_s=1), lambda: server.asked > 8)
    assert outcome.errors.timeout == outcome.requests > 0
    assert (outcome.goodput, outcome.histogram.total) == (0, 0)


def test_fewer_requests_than_connections(server: ScriptedServer) -> None:
    outcome = load(spec(f"{server.url}/hang", connections=3), lambda: server.asked == 3)
    assert (outcome.requests, outcome.errors.total, outcome.histogram.total) == (0, 0, 0)


def test_a_wait_is_measured(server: ScriptedServer) -> None:
    outcome = load(spec(f"{server.url}/wait/300", connections=5), lambda: server.answered >= 10)
    assert outcome.threads == 1, "2 does not divide 5"
    assert 0 < outcome.requests <= server.answered
    assert 300_000 <= outcome.histogram.values_us[0] <= outcome.histogram.max_us <= outcome.runtime_s * 1e6


def test_wrk_may_open_as_many_connections_as_the_hard_limit_allows(server: ScriptedServer) -> None:
    # This holds whatever the harness's own soft limit is.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wrk = Wrk()
    limits: set[int] = set()
    enough = stopping(wrk.pids, lambda: limits and server.connections >= 501)

    def on_tick(elapsed: float) -> None:
        limits.update(resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] for pid in wrk.pids())
        enough(elapsed)

    resource.setrlimit(resource.RLIMIT_NOFILE, (2_000, hard))
    outcome = wrk.run(spec(server.url, connections=500), on_tick)
    assert outcome.errors.connect == 0
    assert limits == {min(hard, MAX_FILES) if hard != resource.RLIM_INFINITY else MAX_FILES}


def test_more_connections_than_wrk_may_open_are_refused(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.load.execute.hard_nofile", lambda: 100 + RESERVED_FILES)
    with pytest.raises(LoadError, match=r"wrk can open 100 connections here, not 101, .*ulimit") as caught:
        Wrk().run(spec(server.url, connections=101))
    assert caught.value.kind == "spec_invalid"
    assert server.connections == 0


def test_threads_take_turns_at_the_addresses(server: ScriptedServer) -> None:
    # wrk first tests one connection.
    addresses = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
    outcome = load(spec(server.url, connections=60), lambda: server.connections >= 61, Wrk(addresses=addresses))
    assert outcome.threads == 3
    assert outcome.errors.total == 0
    by_wrk = {address: n // 20 * 20 for address, n in server.addresses.items()}
    assert by_wrk == dict.fromkeys(addresses, 20)


def test_too_few_descriptors_show_as_connect_errors(server: ScriptedServer, tmp_path: Path) -> None:
    # wrk continues with the connections it got, so a load that needs more is rejected. Its single thread opens all
    # connections before it sends a request.
    narrow = tmp_path / "wrk"
    narrow.write_text('#!/bin/sh\nulimit -n 20\nexec wrk "$@"\n')
    narrow.chmod(0o755)
    asked = spec(server.url, connections=30, threads=1)
    outcome = load(asked, lambda: server.answered > 20, Wrk(binary=str(narrow)))
    assert outcome.errors.connect > 10
    assert outcome.requests > 0


def test_nothing_outlives_an_interrupt(server: ScriptedServer) -> None:
    wrk = Wrk()
    seen: list[int] = []

    def on_tick(elapsed: float) -> None:
        seen[:] = wrk.pids()
        if server.connections > 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wrk.run(spec(server.url, connections=40), on_tick)
    assert len(seen) == 1
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
        Wrk(binary="no-such-wrk").run(spec("http://127.0.0.1:9"))
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
    assert parse_report(written(), 8, 5).histogram.total == 100
    with pytest.raises(HistogramError, match=told):
        parse_report(written(**changes), 8, 5)


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0"),
        ("wrk 05ac610 [epoll] Copyright (C) 2012 Will Glozer", "05ac610"),
        ("wrk 4.2.0-2-g05ac610 [epoll]", "4.2.0"),
        ("wrk  [epoll] Copyright (C) 2012 Will Glozer", "unknown"),
        ("another text", "unknown"),
    ],
)
def test_any_version_of_wrk_is_used(tmp_path: Path, printed: str, version: str) -> None:
    # A clone without tags names a commit. An archive of the sources names nothing.
    binary = tmp_path / "wrk"
    binary.write_text(f"#!/bin/sh\necho '{printed}'; exit 1\n", encoding="utf-8")
    binary.chmod(0o755)
    assert Wrk(binary=str(binary)).version() == version


def test_nothing_of_the_users_environment_reaches_a_generator(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaks = {
        "ZOO_WRK_ADDRESSES": "192.0.2.1",
        "ZOO_WRK_CENSUS": "1",
        "http_proxy": "http://192.0.2.1:3128",
        "HTTP_PROXY": "http://192.0.2.1:3128",
        "LD_PRELOAD": "/nowhere/leak.so",
        "LUA_PATH": "/nowhere/?.lua",
        "GOMAXPROCS": "1",
    }
    for name, value in leaks.items():
        monkeypatch.setenv(name, value)
    seen = tmp_path / "environment"
    wrk = fake_wrk(tmp_path, f"env > '{seen}'; exit 1")
    with pytest.raises(LoadError):
        Wrk(binary=wrk).run(spec(server.url, duration_s=1))
    names = {line.partition("=")[0] for line in seen.read_text(encoding="utf-8").splitlines()}
    assert "PATH" in names
    assert not names & set(leaks) - {"ZOO_WRK_ADDRESSES"}
    assert "192.0.2.1" not in seen.read_text(encoding="utf-8")


def test_an_invalid_report_fails_the_run(tmp_path: Path) -> None:
    binary = fake_wrk(tmp_path, f"echo '{json.dumps(written(count=7))}' > $ZOO_WRK_JSON")
    with pytest.raises(LoadError, match="count is 7") as caught:
        Wrk(binary=binary).run(spec("http://127.0.0.1:9", timeout_s=5))
    assert caught.value.kind == "histogram_invalid"


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ("echo oh dear; exit 3", "generator_failed", "exit code 3\noh dear"),
        ("echo cannot open report.lua", "generator_failed", "without a report.*\ncannot open"),
        ("echo '{' > $ZOO_WRK_JSON", "generator_failed", "without a report"),
        ("exec sleep 60", "generator_hung", "still running after 0 s"),
    ],
)
def test_a_generator_that_fails(tmp_path: Path, body: str, kind: str, told: str) -> None:
    hangs = kind == "generator_hung"
    wrk = Wrk(binary=fake_wrk(tmp_path, body), overrun_s=-0.7 if hangs else PATIENCE_S)
    with pytest.raises(LoadError, match=told) as caught:
        wrk.run(spec("http://127.0.0.1:9", duration_s=1))
    assert caught.value.kind == kind


# --- the plan


@given(st.integers(1, 3_000), st.integers(1, 16))
def test_threads_divide_the_connections(connections: int, threads: int) -> None:
    # wrk would leave out the remainder.
    found = threads_of(spec("u", connections, threads=threads))
    assert 1 <= found <= threads
    assert connections % found == 0


@pytest.mark.parametrize(
    ("asked", "threads"), [((100, 2), 2), ((100, 3), 2), ((1, 2), 1), ((1_001, 4), 1), ((5, 9), 5), ((12_500, 4), 4)]
)
def test_threads(asked: tuple[int, int], threads: int) -> None:
    assert threads_of(spec("u", asked[0], threads=asked[1])) == threads


def test_responses_of_each_second_add_up(server: ScriptedServer) -> None:
    outcome = Wrk().run(replace(spec(server.url, duration_s=3), by_second=True))
    assert len(outcome.seconds) == 3
    assert min(outcome.seconds) > 0
    # The run lasts a little longer than three seconds, and the last requests have no response.
    assert 0.8 * outcome.requests <= sum(outcome.seconds) <= outcome.requests + outcome.connections


def test_a_pause_shows_in_its_second(server: ScriptedServer) -> None:
    # Each connection gets a response after 1.5 s and another after 3 s.
    outcome = Wrk().run(replace(spec(f"{server.url}/wait/1500", connections=4, duration_s=4), by_second=True))
    assert outcome.seconds[0] == 0
    assert sum(outcome.seconds[1:]) <= 8
    assert outcome.seconds[1] >= 1


def test_the_command_asks_for_whole_seconds() -> None:
    assert command(spec("u", 100, 1.5, 7.2)) == ["-t2", "-c100", "-d2s", "--timeout=8s", "-sreport.lua"]


@pytest.mark.parametrize("asked", [(0, 2), (10, 0)])
def test_a_load_of_nothing_is_refused(asked: tuple[int, int]) -> None:
    with pytest.raises(LoadError, match="above zero") as caught:
        Wrk().run(spec("u", asked[0], threads=asked[1]))
    assert caught.value.kind == "spec_invalid"


def test_a_busy_thread_is_seen(tmp_path: Path) -> None:
    # A real process is followed.
    burn = "import threading, time; threading.Thread(target=lambda: sum(range(10**10)), daemon=True).start()"
    busy = BusyThreads()

    def on_tick(elapsed: float) -> None:
        if busy.busiest() > 0:
            raise Enough

    with Children(64, busy) as children:
        children.start([sys.executable, "-c", f"{burn}; time.sleep(600)"], {}, tmp_path / "out")
        with pytest.raises(Enough):
            children.follow(LONG_S, LONG_S, on_tick)


def test_the_busiest_thread_is_told_as_a_share_of_a_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The share excludes the main thread, and runs from the first reading of each thread to the last.
    clock = ManualTime()
    monkeypatch.setattr("zoo.load.execute.time", clock)
    monkeypatch.setattr("zoo.load.execute.Path", lambda path: tmp_path / path.lstrip("/"))
    hz, busy = os.sysconf("SC_CLK_TCK"), BusyThreads()
    for at, shares in ((0.0, (0.0, 5.0, 7.0)), (1.0, (1.0, 5.5, 7.1)), (4.0, (4.0, 7.0, 7.4))):
        clock.now = at
        for thread, cpu_s in zip((10, 11, 12), shares, strict=True):
            folder = tmp_path / "proc" / "10" / "task" / str(thread)
            folder.mkdir(parents=True, exist_ok=True)
            ticks = round(cpu_s * hz)
            fields = ["S", *["0"] * 10, str(ticks - ticks // 3), str(ticks // 3), "0"]
            (folder / "stat").write_text(f"{thread} (wrk (a b)) {' '.join(fields)}", encoding="ascii")
        busy.sample(10)
    assert busy.busiest() == pytest.approx(0.5)


# --- the scripts by hand


def by_hand(
    script: str,
    url: str,
    *words: str,
    enough: Callable[[], object],
    cwd: Path = ROOT,
    option: tuple[str, ...] = ("-c8",),
) -> str:
    """End wrk with Ctrl-C, as a user would who has seen enough. Return its output."""
    path = (ROOT / "wrk-scripts" / script).relative_to(cwd)
    command = ["wrk", "-t2", *option, f"-d{LONG_S:.0f}s", "--timeout", "30s", "-s", str(path), url, *words]
    with subprocess.Popen(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as wrk:
        stop = stopping(lambda: [wrk.pid], enough)
        try:
            until(lambda: stop(0.0) or wrk.poll() is not None)
        finally:
            wrk.kill()
        printed, complained = wrk.communicate()
    assert complained == ""
    assert wrk.returncode == 0
    return printed


def told(pattern: str, printed: str) -> list[float]:
    found = re.search(pattern, printed)
    assert found, pattern
    return [float(group) for group in found.groups()]


@pytest.mark.parametrize("option", [("-Lc8",), ("-c", "8"), ("--connections=8",)])
def test_report_prints_percentiles(server: ScriptedServer, option: tuple[str, ...]) -> None:
    printed = by_hand("report.lua", f"{server.url}/wait/50", enough=lambda: server.answered >= 16, option=option)
    measured = printed.partition("as measured")[2]
    shown = [told(rf"  {label} +([\d.]+) ms", measured)[0] for label in ("50%", "99.9%", "max")]
    samples, requests, runtime_s, good = told(
        r"(\d+) samples, (\d+) requests in ([\d.]+) s, (\d+) of them good", printed
    )
    assert 50 <= shown[0] <= shown[1] <= shown[2] <= 1_000 * runtime_s + 10
    assert 0 < samples == requests == good <= server.answered
    assert "Errors: connect 0, read 0, write 0, status 0, timeout 0" in printed
    assert re.search(r"Connections kept busy: \d+ % of 8\n", printed)


def test_report_prints_the_stall_once(server: ScriptedServer) -> None:
    # wrk's own count of samples contains the stall many times.
    enough = lambda: server.answered_since_stall > 500  # noqa: E731
    printed = by_hand("report.lua", f"{server.url}/stall", enough=enough, option=("-c4",))
    samples, requests = told(r"(\d+) samples, (\d+) requests in", printed)
    assert 400 < samples == requests <= server.answered
    (worst_ms,) = told(r"  max +([\d.]+) ms", printed)
    assert worst_ms >= 1_000 * STALL_S


def test_hello_and_sleep_from_other_folders(server: ScriptedServer) -> None:
    enough = lambda: server.answered > 20  # noqa: E731
    assert "samples" in by_hand("hello.lua", server.url, enough=enough, cwd=ROOT / "wrk-scripts")
    assert "samples" in by_hand("sleep.lua", server.url, "50", enough=lambda: server.answered > 50)


def test_no_thread_asks_before_all_are_there() -> None:
    # wrk's clock starts when the last thread has been created. A connection that wrk only tests comes before that.
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        command = ["wrk", "-t150", "-c150", f"-d{LONG_S:.0f}s", "--timeout", "5s", "-s", str(SCRIPT), url]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as wrk:
            listening.settimeout(PATIENCE_S)
            tried, _ = listening.accept()
            tried.close()
            first, _ = listening.accept()
            threads = re.search(r"^Threads:\t(\d+)$", Path(f"/proc/{wrk.pid}/status").read_text(), re.MULTILINE)
            first.close()
            wrk.kill()
    assert threads
    assert int(threads[1]) == 151
