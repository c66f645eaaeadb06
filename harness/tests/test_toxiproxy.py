"""Tests of the slow wire: with a simulated Toxiproxy, and with a real one if it is installed."""

from __future__ import annotations

import http.server
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from zoo.cli.checkout import ROOT
from zoo.core.errors import RuntimeFailure
from zoo.runtime.databases import RunningDatabase
from zoo.runtime.toxiproxy import find_toxiproxy, slow_wire

TOOLS = ROOT / ".tools"


class Asked(http.server.ThreadingHTTPServer):
    """A Toxiproxy that records its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, object]] = []


class Handler(http.server.BaseHTTPRequestHandler):
    server: Asked

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((f"{self.command} {self.path}", json.loads(body) if body else None))
        answer = b'{"listen": "[::]:4711"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_DELETE = do_POST

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def toxiproxy() -> Iterator[Asked]:
    with Asked() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def serving(url: str) -> RunningDatabase:
    return RunningDatabase({"JDBC_URL": url, "JDBC_USER": "zoo"})


def test_it_is_the_one_named_else_that_in_tools_else_that_on_the_path(tmp_path: Path) -> None:
    tools, program = tmp_path / ".tools", tmp_path / ".tools" / "toxiproxy-server"
    assert find_toxiproxy(tools, {"PATH": str(tmp_path)}) is None
    assert find_toxiproxy(tools, {"TOXIPROXY": "/mine"}) == "/mine"
    tools.mkdir()
    program.touch(mode=0o755)
    assert find_toxiproxy(tools, {}) == str(program)
    assert find_toxiproxy(tmp_path / "elsewhere", {"PATH": f"/nowhere:{tools}"}) == str(program)
    program.chmod(0o644)
    assert find_toxiproxy(tools, {}) is None


def test_a_toxiproxy_that_was_there_before_gets_a_proxy_and_loses_it_again(toxiproxy: Asked, tmp_path: Path) -> None:
    control = f"http://127.0.0.1:{toxiproxy.server_port}"
    url = "jdbc:mariadb://10.0.0.7/zoo?sslMode=disable"
    with slow_wire(serving(url), 25, tmp_path, {"TOXIPROXY_URL": control}) as found:
        assert found.env == {
            "JDBC_URL": url,
            "JDBC_USER": "zoo",
            "JDBC_WIRE_URL": "jdbc:mariadb://127.0.0.1:4711/zoo?sslMode=disable",
            "JDBC_WIRE_MS": "25",
        }
    (_, proxy), (_, there), (_, back), (last, _) = toxiproxy.asked
    assert proxy == {"name": "zoo-database", "listen": "0.0.0.0:0", "upstream": "10.0.0.7:3306", "enabled": True}
    assert [there, back] == [
        {"type": "latency", "stream": stream, "attributes": {"latency": ms, "jitter": 0}}
        for stream, ms in (("upstream", 12), ("downstream", 13))
    ]
    assert last == "DELETE /proxies/zoo-database"


@pytest.mark.parametrize(
    ("url", "environ", "said"),
    [
        ("jdbc:postgresql://h/zoo", {}, "make toxiproxy"),
        ("jdbc:postgresql://h/zoo", {"TOXIPROXY_URL": "127.0.0.1:8474"}, "TOXIPROXY_URL must be a URL such as http://"),
        ("jdbc:postgresql://h/zoo", {"TOXIPROXY_URL": "http://127.0.0.1:1"}, "does not answer at http://127.0.0.1:1"),
        ("jdbc:postgresql://a:1,b:2/zoo", {"TOXIPROXY_URL": "http://127.0.0.1:1"}, "needs a JDBC URL with one host"),
    ],
)
def test_what_cannot_be_says_why(tmp_path: Path, url: str, environ: dict[str, str], said: str) -> None:
    with pytest.raises(RuntimeFailure, match=said), slow_wire(serving(url), 10, tmp_path, environ):
        pass


@pytest.mark.skipif(find_toxiproxy(TOOLS, os.environ) is None, reason="needs Toxiproxy: make toxiproxy")
def test_each_round_trip_takes_the_latency_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=echo, args=[server], daemon=True).start()
        url = f"jdbc:postgresql://127.0.0.1:{server.getsockname()[1]}/zoo?x=1"
        with slow_wire(serving(url), 20, TOOLS, os.environ) as found:
            slow = found.env["JDBC_WIRE_URL"]
            assert slow.endswith("/zoo?x=1")
            port = int(slow.rpartition(":")[2].partition("/")[0])
            with socket.create_connection(("127.0.0.1", port)) as client:
                for _ in range(5):
                    start = time.monotonic()
                    client.sendall(b"x")
                    assert client.recv(1) == b"x"
                    assert time.monotonic() - start >= 0.020
            assert found.exit_reason() is None


def echo(server: socket.socket) -> None:
    client, _ = server.accept()
    with client:
        while data := client.recv(1):
            client.sendall(data)
