"""Tests of external servers, measured as a user would: real servers, real wrk.

They need rust-axum built, and run one after the other, because only one run at a time is allowed.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fixtures.scripted_server import ScriptedServer

from zoo.cli.checkout import ROOT
from zoo.core.measurement import Measurement
from zoo.core.record import Record
from zoo.core.run_folder import Store

pytestmark = pytest.mark.run

FIXTURES = Path(__file__).parent / "fixtures"
SLOWED = FIXTURES / "slowed"
HYPER = "rust-axum:hyper"
PATIENCE_S = 300
REDIRECTS_AFTER = 200
LOADED = 1_000
"""Requests beyond the probes of a run, so that some of them belong to the load."""
SAMPLES_BEYOND = 100
"""Minimum number of samples beyond a quantile. With fewer, the quantile is not reported."""


@contextmanager
def running(script: Path, *words: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a test server, and yield it with its URL, which is in its first line."""
    command = [sys.executable, str(script), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **env}) as server:
        try:
            assert server.stdout is not None
            line = server.stdout.readline().split()
            yield server, next(word for word in line if word.startswith("http://")).rstrip("/") + "/"
        finally:
            server.terminate()


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a server that implements the contract for `/` and `/info` only."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with running(SLOWED / "server.py", PORT=str(port)) as found:
        yield found


def bench(results: Path, *words: str, zoo: Path | None = None) -> tuple[int, str]:
    command = [sys.executable, "-m", "zoo", "bench", "--scenario", "hello", "--quick", "--results", str(results)]
    command += ["--design", "turns"]  # a quick run does not alternate unless requested
    env = {**os.environ, "COLUMNS": "200", "RUNTIME": "process", **({"ZOO": str(zoo)} if zoo else {})}
    done = subprocess.run(
        [*command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
        check=False,
        timeout=PATIENCE_S,
    )
    return done.returncode, done.stdout


def records(results: Path) -> dict[str, Record]:
    return {record.entry: record for record in Store.open(results / "latest").records()}


def seen(record: Record) -> Measurement:
    assert record.measurement is not None, record.failure
    return record.measurement


def report(results: Path) -> str:
    return (results / "latest" / "report.md").read_text(encoding="utf-8")


def test_a_running_server_is_paired_with_an_entry_in_interleaved_windows(
    tmp_path: Path, server: tuple[subprocess.Popen[str], str]
) -> None:
    process, url = server
    code, output = bench(
        tmp_path, "--target", url, "--pid", str(process.pid), "--variant", HYPER, "--connections", "20"
    )
    assert code == 0, output
    (name,) = set(found := records(tmp_path)) - {HYPER}
    mine, other = seen(found[name]), seen(found[HYPER])
    assert name == f"target:{url.rstrip('/').rpartition(':')[2]}"
    assert {r.condition.network for r in found.values()} == {"host"}
    assert set(found[name].together) == {name, HYPER}
    first, last = sorted(({w.place for w in m.windows} for m in (mine, other)), key=min)
    assert (first, last) == ({0, 3}, {1, 2}), "A B B A"
    assert mine.connections.established == 20
    assert mine.memory is not None
    assert mine.work is not None
    assert mine.memory.rss_peak_kb > 1_000
    assert mine.work.threads_peak == 1
    assert (mine.work.cpu_s or 0) > 0
    assert mine.server is not None
    assert mine.server.ready_s is None
    assert f"{name} ÷ {HYPER}" in report(tmp_path)
    assert f"{name} is {url}, process {process.pid}. It was already running" in report(tmp_path)
    assert process.poll() is None, "whoever started it stops it"


def test_without_a_process_what_it_uses_is_not_measured_and_that_is_said(
    tmp_path: Path, server: tuple[subprocess.Popen[str], str]
) -> None:
    process, url = server
    code, output = bench(tmp_path, "--target", url, "--variant", HYPER, "--connections", "20")
    assert code == 0, output
    assert f"no process is named; set PID={process.pid}" in output
    (name,) = set(found := records(tmp_path)) - {HYPER}
    mine = seen(found[name])
    assert (mine.memory, mine.work, mine.noise.foreign_share) == (None, None, None)
    assert mine.load.goodput > 0
    assert mine.load.latency.p50_us is not None
    assert seen(found[HYPER]).memory is not None
    assert "its process is unknown (no PID=), so its memory, CPU and threads were not measured" in report(tmp_path)
    assert "its process is unknown (PID= names it)" in report(tmp_path)
    assert (tmp_path / "latest" / "report.html").stat().st_size > 1_000


def test_a_target_that_ends_in_mid_run_is_a_failed_cell(
    tmp_path: Path, server: tuple[subprocess.Popen[str], str]
) -> None:
    process, url = server
    words = ["--target", url, "--pid", str(process.pid), "--connections", "20", "--duration", "20"]
    command = [sys.executable, "-m", "zoo", "bench", "--quick", "--results", str(tmp_path), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        deadline = time.monotonic() + PATIENCE_S
        polls = 1
        while _requests(url) < LOADED + polls:
            assert time.monotonic() < deadline
            time.sleep(0.1)
            polls += 1
        process.kill()
        output, _ = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 1, output
    (record,) = records(tmp_path).values()
    assert record.failure is not None
    assert record.failure.kind == "crashed"


def _requests(url: str) -> int:
    """Return how many requests the server has handled, including this one."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}info", timeout=5) as answer:
        text = answer.read().decode()
    return int(text.partition('"requests": ')[2].partition(",")[0])


def test_a_target_that_begins_to_redirect_is_a_failed_cell(tmp_path: Path) -> None:
    # Redirects have a status below 400, so wrk counts them as good responses.
    def script(number: int) -> bytes:
        if number > REDIRECTS_AFTER:
            return b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n"
        return b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\nHello, World!"

    with ScriptedServer() as server:
        server.script = script
        code, output = bench(tmp_path, "--target", f"{server.url}/", "--connections", "10")
    [record] = records(tmp_path).values()
    assert record.failure is not None
    assert record.failure.kind == "bad_responses"
    assert "HTTP/1.1 302 Found, Location: /login" in record.failure.message
    assert code == 1
    assert "1 cell failed" in output


def test_a_refused_target_leaves_no_run(tmp_path: Path) -> None:
    for words, message in (
        (["--target", "http://192.0.2.1:9000/"], "add --remote (REMOTE=1)"),
        (["--target", "http://127.0.0.1:9/", "--vary", "heap=50m"], "remove --vary"),
        (["--target", "http://127.0.0.1:9/", "--runtime", "container"], "RUNTIME=process"),
    ):
        code, output = bench(tmp_path, *words)
        assert (code, message in output) == (2, True), output
    assert not list(tmp_path.iterdir())


def test_a_folder_outside_the_repository_is_measured_with_an_entry_of_the_zoo(tmp_path: Path) -> None:
    code, output = bench(tmp_path, "--variant", "slowed:slowed", "--variant", HYPER, "--connections", "20", zoo=SLOWED)
    assert code == 0, output
    found = records(tmp_path)
    assert set(found) == {"slowed:slowed", HYPER}
    assert all(set(r.together) == set(found) for r in found.values())
    assert all(seen(r).work for r in found.values())
    assert f"slowed:slowed ÷ {HYPER}" in report(tmp_path)
    assert not list(SLOWED.glob(".*")), "nothing is written into the folder"


def test_percentiles_agree_with_the_log_of_a_server_that_stalls(tmp_path: Path) -> None:
    # Both are nearest ranks of the same requests: those of the window, which came over the last connections. The log is
    # in the order of sending, and its last responses came too late for wrk.
    connections, seconds, log = 1_000, 25, tmp_path / "log"
    with running(FIXTURES / "stalling_server.py", str(log)) as (process, url):
        words = [
            "--target",
            url,
            "--pid",
            str(process.pid),
            "--connections",
            str(connections),
            "--duration",
            str(seconds),
        ]
        code, output = bench(tmp_path, *words)
        assert code == 0, output
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    (record,) = records(tmp_path).values()
    load = seen(record).load
    answers = [(int(number), int(us)) for number, us in (line.split() for line in log.read_text("ascii").splitlines())]
    counts = Counter(number for number, _ in answers)
    busy = set(sorted(number for number, count in counts.items() if count > 1)[-connections:])
    sent = [us for number, us in answers if number in busy]
    assert 0 <= len(sent) - load.requests <= connections, "at most one response per connection comes too late"
    took = sorted(sent[: load.requests])
    for share, ours in (
        (0.5, load.latency.p50_us),
        (0.9, load.latency.p90_us),
        (0.99, load.latency.p99_us),
        (0.999, load.latency.p999_us),
    ):
        if load.requests * (1 - share) < SAMPLES_BEYOND:
            assert ours is None, f"p{100 * share:g} of {load.requests:,} requests"
            continue
        assert ours == pytest.approx(took[math.ceil(share * len(took)) - 1], rel=0.02), f"p{100 * share:g}"
    assert took[-1] > 3_000_000, "there were stalls"


def test_the_zoo_lists_what_stands_beside_it() -> None:
    command = [sys.executable, "-m", "zoo", "list"]
    env = {**os.environ, "ZOO": str(SLOWED), "COLUMNS": "200"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert "slowed:unchanged" in done.stdout
    assert "slowed" not in subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
