"""Tests of external servers without load: what is rejected, and what is read from them."""

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
from pathlib import Path

import psutil
import pytest
from fakes import ManualTime

from zoo.core.entry_id import is_target
from zoo.core.run import Target
from zoo.host.network import Listener, PortProcesses, is_local, match_listeners, resolve
from zoo.load.spec import LoadSpec
from zoo.runtime import target
from zoo.runtime.target import Address, HostedTarget, TargetError, check, condition, listening_pids, targets

NOWHERE = "http://192.0.2.1:9000/"
"""An address reserved for documentation, which no host has."""


class Handler(http.server.BaseHTTPRequestHandler):
    """A handler that responds to every path immediately."""

    def do_GET(self) -> None:
        self.send_response({"/moved": 302, "/broken": 500}.get(self.path, 200))
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


class Sleeper(Handler):
    """A handler on whose clock nothing but its sleep takes time."""

    clock = ManualTime()

    def do_GET(self) -> None:
        self.clock.sleep(int(self.path.partition("=")[2] or 0) / 1000)
        super().do_GET()


@contextmanager
def served(handler: type[Handler]) -> Iterator[str]:
    """Yield the URL of a server in this process."""
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
    assert [(at.host, at.port, at.path) for at in map(Address, found.values())] == [
        ("127.0.0.1:9000", 9000, "/a?b=c"),
        ("localhost", 80, "/"),
    ]


def test_no_entry_of_the_zoo_is_taken_for_a_target() -> None:
    assert is_target("target:9000")
    assert is_target("target:9000.again")
    assert not is_target("target:async")
    assert not is_target("rust-axum:async")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:9000", "ftp://127.0.0.1/", "http://", "http://a:x/", "http://me@127.0.0.1/", "http://a/#b"]
)
def test_what_is_no_url_of_a_server_is_refused(url: str) -> None:
    with pytest.raises(TargetError, match=r"a target must be a URL such as http://127\.0\.0\.1:9000/, got "):
        targets([url], [])


def test_https_is_said_to_be_unsupported() -> None:
    with pytest.raises(TargetError, match="https:// is not supported"):
        targets(["https://127.0.0.1:9000/"], [])


def test_a_path_beyond_ascii_is_encoded_and_a_host_is_refused() -> None:
    [target] = targets(["http://127.0.0.1:9000/caf\u00e9 au lait?a=1,2&b=%20"], []).values()
    assert target.url == "http://127.0.0.1:9000/caf%C3%A9%20au%20lait?a=1,2&b=%20"
    with pytest.raises(TargetError, match="the host is not ASCII"):
        targets(["http://caf\u00e9:9000/"], [])


def test_targets_that_cannot_be_told_apart_or_lack_a_process_are_refused() -> None:
    with pytest.raises(TargetError, match="two targets use port 9000"):
        targets(["http://127.0.0.1:9000/a", "http://127.0.0.1:9000/b"], [])
    with pytest.raises(TargetError, match="each target needs its own PID, got 1 for 2 targets"):
        targets(["http://127.0.0.1:9000/", "http://127.0.0.1:9001/"], [7])


# --- what is rejected


def test_only_this_machine_is_loaded_unasked() -> None:
    assert all(is_local(resolve(host, 1)) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "::"))
    own = [a.address for each in psutil.net_if_addrs().values() for a in each if a.family == socket.AF_INET]
    assert all(is_local(address) for address in own)
    assert not is_local("192.0.2.1")
    assert "--remote" in refused(Target(url=NOWHERE))
    assert condition(Target(url=NOWHERE)).network == "remote"


def test_a_server_that_does_not_answer_or_answers_something_else_is_refused(url: str) -> None:
    check({"target:9000": Target(url=url)}, ["hello"], remote=False)
    assert "returned 302, expected 2xx" in refused(Target(url=f"{url}moved"))
    assert "returned 500, expected 2xx" in refused(Target(url=f"{url}broken"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "returned no response" in refused(Target(url=f"http://127.0.0.1:{port}/"))


def test_a_server_that_does_not_wait_cannot_sleep(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.runtime.target.time", Sleeper.clock)
    assert "cannot take part in sleep: GET /sleep?ms=200 returned after" in refused(Target(url=url), ("sleep",))
    with served(Sleeper) as waiting:
        check({"target:9000": Target(url=waiting)}, ["sleep"], remote=False)


def test_another_process_than_the_server_is_refused(url: str) -> None:
    check({"target:9000": Target(url=url, pid=os.getpid())}, ["hello"], remote=False)
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as other:
        told = refused(Target(url=url, pid=other.pid))
    assert told == f"target:9000: process {other.pid} does not listen at {url.rstrip('/')}, but {os.getpid()} does"
    assert (
        refused(Target(url=url, pid=other.pid))
        == f"target:9000: process {other.pid} does not exist; set PID to the server's process"
    )


@contextmanager
def two_servers() -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Yield a port on which this process listens at 127.0.0.1 and a child at ::1."""
    code = (
        "import socket, sys; s = socket.socket(socket.AF_INET6); s.bind(('::1', int(sys.argv[1]))); s.listen();"
        "print(1, flush=True); sys.stdin.read()"
    )
    with served(Handler) as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        command = [sys.executable, "-c", code, str(port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            yield port, other


@pytest.mark.skipif(not Path("/proc/sys/net/ipv6").exists(), reason="needs IPv6")
def test_a_process_that_listens_at_another_address_of_the_name_is_refused() -> None:
    with two_servers() as (port, other):
        target = Target(url=f"http://127.0.0.1:{port}/", pid=other.pid)
        told = refused(target)
        assert told == (
            f"target:9000: process {other.pid} does not listen at http://127.0.0.1:{port}, but {os.getpid()} does; "
            f"{other.pid} listens at ::1, so use that address in the URL"
        )


def test_a_name_is_resolved_once_and_keeps_its_place_in_the_host_header(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first of two addresses that accepts connections is used.
    hosts: list[str] = []

    class Telling(Handler):
        def do_GET(self) -> None:
            hosts.append(self.headers["Host"])
            super().do_GET()

    with served(Telling) as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        found = [
            (family, socket.SOCK_STREAM, 6, "", (address, port))
            for family, address in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1"))
        ]
        asked: list[str] = []
        original = socket.getaddrinfo

        def lookup(host: str, *words: object, **named: object) -> object:
            if host != "zoo.test":
                return original(host, *words, **named)  # type: ignore[arg-type]
            asked.append(host)
            return found

        monkeypatch.setattr("socket.getaddrinfo", lookup)
        hosted = HostedTarget(Target(url=f"http://zoo.test:{port}/"))
        assert hosted.url == f"http://127.0.0.1:{port}"
        hosted.probe()
        hosted.instruments.responses(f"{hosted.url}/", 1)
        hosted.generator.run(LoadSpec(f"{hosted.url}/", 1, 1, 6, threads=1))
        assert asked == ["zoo.test"]
    # `/info` is read at the address; everything else names the host of the URL
    assert set(hosts) == {f"zoo.test:{port}", f"127.0.0.1:{port}"}
    assert hosts.count(f"127.0.0.1:{port}") == 1


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", PortProcesses(frozenset({1}), {2: "0.0.0.0", 3: "::1", 4: "::", 5: "192.0.2.1"})),
        ("127.0.0.2", PortProcesses(frozenset({2}), {1: "::ffff:127.0.0.1", 3: "::1", 4: "::", 5: "192.0.2.1"})),
        ("::1", PortProcesses(frozenset({3}), {1: "::ffff:127.0.0.1", 2: "0.0.0.0", 4: "::", 5: "192.0.2.1"})),
        ("::2", PortProcesses(frozenset({4}), {1: "::ffff:127.0.0.1", 2: "0.0.0.0", 3: "::1", 5: "192.0.2.1"})),
    ],
)
def test_the_socket_with_the_very_address_gets_the_connection(address: str, expected: PortProcesses) -> None:
    sockets = [
        Listener(own, 80, pid)
        for own, pid in (("::ffff:127.0.0.1", 1), ("0.0.0.0", 2), ("::1", 3), ("::", 4), ("192.0.2.1", 5))
    ]
    assert match_listeners([*sockets, Listener("127.0.0.1", 81, 6)], address, 80) == expected


def test_a_wildcard_socket_of_both_families_gets_connections_of_both() -> None:
    assert match_listeners([Listener("::", 80, 7)], "127.0.0.1", 80).accepting == {7}


def test_one_of_several_processes_that_share_a_port_is_refused(tmp_path: Path) -> None:
    # Each process would get part of the load. Their common parent represents all of them.
    code = (
        "import http.server, socket, sys, threading, subprocess\n"
        "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
        "s.bind(('127.0.0.1', int(sys.argv[1]))); s.listen()\n"
        "class H(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self): self.send_response(200); self.send_header('Content-Length', '0'); self.end_headers()\n"
        "server = http.server.ThreadingHTTPServer(('', 0), H, False); server.socket.close(); server.socket = s\n"
        "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
        "print(s.getsockname()[1], flush=True); sys.stdin.read()"
    )
    script = tmp_path / "server.py"
    script.write_text(code, encoding="utf-8")

    @contextmanager
    def one(port: int) -> Iterator[tuple[int, int]]:
        command = [sys.executable, str(script), str(port)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as it:
            assert it.stdout is not None
            yield it.pid, int(it.stdout.readline())

    with one(0) as (first, port), one(port) as (second, _):
        told = refused(Target(url=f"http://127.0.0.1:{port}/", pid=first))
        check({"t": Target(url=f"http://127.0.0.1:{port}/", pid=os.getpid())}, ["hello"], remote=False)
    assert told == (
        f"target:9000: {second} also listens at http://127.0.0.1:{port}, and its share of the work would be missing; "
        f"PID={os.getpid()} would measure all of them"
    )


# --- what is read


def test_a_process_that_is_named_is_read(url: str) -> None:
    hosted = HostedTarget(Target(url=url, pid=os.getpid()))
    seen = hosted.instruments.snapshot(hosted.pid)
    assert seen is not None
    assert seen.rss_kb > 1_000
    recording = hosted.instruments.sample(hosted.pid)
    samples = recording.stop()
    assert len(samples.t) == len(samples.rss_kb) == len(samples.threads) > 0
    assert hosted.is_alive()


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
    assert tools.count_established("http://192.0.2.1:9000") is None
    assert tools.counters(0) is None
    samples = tools.sample(0).stop()
    assert set(samples.established) <= {None}


def test_a_server_says_what_it_is_only_by_the_contract(url: str) -> None:
    hosted = HostedTarget(Target(url=f"{url}some/page?x=1"))
    assert hosted.probe() is None
    assert (hosted.url, hosted.home) == (url.rstrip("/"), "/some/page?x=1")
    assert hosted.instruments.is_responsive(hosted.url)


def test_without_a_process_a_server_lives_as_long_as_its_port(url: str) -> None:
    assert HostedTarget(Target(url=url)).is_alive()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert not HostedTarget(Target(url=f"http://127.0.0.1:{port}/")).is_alive()


def test_a_process_that_listens_is_found(url: str) -> None:
    assert listening_pids(Target(url=url)) == {os.getpid()}


@pytest.mark.parametrize(("autogroup", "apart"), [("1", True), ("0", False), (None, False)])
def test_a_target_in_another_session_is_scheduled_apart_if_the_kernel_groups_sessions(
    autogroup: str | None, apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = tmp_path / "sched_autogroup_enabled"
    if autogroup is not None:
        setting.write_text(f"{autogroup}\n", encoding="utf-8")
    monkeypatch.setattr(target, "AUTOGROUP", str(setting))
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        assert target.is_scheduled_apart(other.pid) is apart
        other.kill()
    assert not target.is_scheduled_apart(os.getpid())
    assert not target.is_scheduled_apart(other.pid), "it has ended"
