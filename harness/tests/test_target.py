"""Servers that something else started: what is refused, and what is read of them. No load."""

from __future__ import annotations

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fakes import ManualTime

from zoo.model.entry_id import is_target
from zoo.model.run import Target
from zoo.runtime.target import HostedTarget, check, condition, listening, on_loopback
from zoo.runtime.target_url import TargetError, home, origin, targets
from zoo.sample.proc import LINUX

NOWHERE = "http://192.0.2.1:9000/"
"""An address for documentation, which nobody has."""


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers every path at once."""

    def do_GET(self) -> None:
        self.send_response({"/moved": 302, "/broken": 500}.get(self.path, 200))
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


class Sleeper(Handler):
    """Nothing else takes time on its clock."""

    clock = ManualTime()

    def do_GET(self) -> None:
        self.clock.sleep(int(self.path.partition("=")[2] or 0) / 1000)
        super().do_GET()


@contextmanager
def served(handler: type[Handler]) -> Iterator[str]:
    """The URL of a server in this very process."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def url() -> Iterator[str]:
    with served(Handler) as found:
        yield found


def refused(target: Target, scenarios: tuple[str, ...] = ("hello",), *, remote: bool = False) -> str:
    with pytest.raises(TargetError) as caught:
        check({"target:9000": target}, scenarios, remote=remote)
    return str(caught.value)


# --- names


def test_a_target_is_named_after_its_port_and_keeps_its_path() -> None:
    found = targets(["http://127.0.0.1:9000/a?b=c", "http://localhost"], [7, 8])
    assert found == {
        "target:9000": Target(url="http://127.0.0.1:9000/a?b=c", pid=7),
        "target:80": Target(url="http://localhost", pid=8),
    }
    assert [(origin(t.url), home(t.url)) for t in found.values()] == [
        ("http://127.0.0.1:9000", "/a?b=c"),
        ("http://localhost", "/"),
    ]


def test_no_entry_of_the_zoo_is_taken_for_a_target() -> None:
    assert is_target("target:9000")
    assert is_target("target:9000.again")
    assert not is_target("target:async")
    assert not is_target("rust-axum:async")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9000", "https://127.0.0.1/", "http://", "http://a:x/", "http://me@127.0.0.1/", "http://a/#b"]
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(TargetError, match=r"a target is a URL such as http://127\.0\.0\.1:9000/, got "):
        targets([url], [])


def test_targets_that_cannot_be_told_apart_or_lack_a_process_are_refused() -> None:
    with pytest.raises(TargetError, match="two targets on port 9000"):
        targets(["http://127.0.0.1:9000/a", "http://127.0.0.1:9000/b"], [])
    with pytest.raises(TargetError, match="as many PIDs as targets are expected, got 1 for 2"):
        targets(["http://127.0.0.1:9000/", "http://127.0.0.1:9001/"], [7])


# --- what is refused


def test_only_loopback_is_loaded_unasked() -> None:
    assert all(on_loopback(f"http://{host}:1/") for host in ("127.0.0.1", "127.9.9.9", "[::1]", "localhost"))
    assert not on_loopback(NOWHERE)
    assert "--remote" in refused(Target(url=NOWHERE))
    assert condition(Target(url=NOWHERE)).network == "remote"


def test_a_server_that_does_not_answer_or_answers_something_else_is_refused(url: str) -> None:
    check({"target:9000": Target(url=url)}, ["hello"], remote=False)
    assert "answered 302, expected 2xx" in refused(Target(url=f"{url}moved"))
    assert "answered 500, expected 2xx" in refused(Target(url=f"{url}broken"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "gave no answer" in refused(Target(url=f"http://127.0.0.1:{port}/"))


def test_a_server_that_does_not_wait_cannot_sleep(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.runtime.target.time", Sleeper.clock)
    assert "cannot take part in sleep: GET /sleep?ms=200 was answered after" in refused(Target(url=url), ("sleep",))
    with served(Sleeper) as waiting:
        check({"target:9000": Target(url=waiting)}, ["sleep"], remote=False)


def test_another_process_than_the_server_is_refused(url: str) -> None:
    check({"target:9000": Target(url=url, pid=os.getpid())}, ["hello"], remote=False)
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as other:
        told = refused(Target(url=url, pid=other.pid))
    assert told == f"target:9000: process {other.pid} does not listen there; {os.getpid()} does"
    assert refused(Target(url=url, pid=other.pid)) == f"target:9000: there is no process {other.pid}"


# --- what is read


def test_a_process_that_is_named_is_read(url: str) -> None:
    hosted = HostedTarget(Target(url=url, pid=os.getpid()))
    seen = hosted.instruments.snapshot(hosted.pid)
    assert seen is not None
    assert seen.rss_kb > 1_000
    recording = hosted.instruments.sample(hosted.pid)
    samples = recording.stop()
    assert len(samples.t) == len(samples.rss_kb) == len(samples.threads) > 0
    assert hosted.alive()


@pytest.mark.skipif(not LINUX, reason="needs /proc")
def test_without_a_process_the_host_is_read_and_nothing_else(url: str) -> None:
    hosted = HostedTarget(Target(url=url))
    assert hosted.instruments.snapshot(hosted.pid) is None
    noise = hosted.instruments.noise()
    recording = hosted.instruments.sample(hosted.pid)
    time.sleep(0.1)  # some ticks of the kernel's clock
    samples = recording.stop()
    assert (samples.rss_kb, samples.cpu_s, samples.threads) == ([], [], [])
    assert len(samples.established) == len(samples.t) > 0
    assert None not in samples.established
    heard = noise.stop(None, 0.0)
    assert heard.busy_share is not None
    assert heard.foreign_share is None


def test_connections_beyond_loopback_are_not_counted() -> None:
    tools = HostedTarget(Target(url=NOWHERE)).instruments
    assert tools.established("http://192.0.2.1:9000") is None
    assert tools.counters(0) is None
    samples = tools.sample(0).stop()
    assert set(samples.established) <= {None}


def test_a_server_says_what_it_is_only_by_the_contract(url: str) -> None:
    hosted = HostedTarget(Target(url=f"{url}some/page?x=1"))
    assert hosted.probe() is None
    assert (hosted.url, hosted.home) == (url.rstrip("/"), "/some/page?x=1")
    assert hosted.instruments.answers(hosted.url)


def test_without_a_process_a_server_lives_as_long_as_its_port(url: str) -> None:
    assert HostedTarget(Target(url=url)).alive()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert not HostedTarget(Target(url=f"http://127.0.0.1:{port}/")).alive()


def test_a_process_that_listens_is_found(url: str) -> None:
    assert listening(url) == {os.getpid()}
