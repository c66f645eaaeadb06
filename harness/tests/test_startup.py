"""Tests with real child processes that start at a known time and hold a known amount of memory."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Self

import builders
import ports
import psutil
import pytest
from fakes import ManualTime

import zoo.scenarios.startup.trial as starts
from zoo.core.errors import RuntimeFailure
from zoo.core.manifest import Entry, Manifest, Server
from zoo.runtime.base import Launch
from zoo.scenarios.startup.spec import Start
from zoo.scenarios.startup.trial import record_archive, start_once

SERVER = """
import os, signal, socketserver, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        asked.append(self.path)
        self.send_response(STATUS)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *_):
        pass

class Quick(HTTPServer):
    def server_bind(self):  # without asking for the host's name
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address

asked, held, STATUS = [], b"", 200
"""
LISTEN = """
def end(*_):
    open("asked", "w").write(" ".join(asked))
    if "--archive" in sys.argv:
        open(sys.argv[-1], "wb").write(bytes(4096))
    os._exit(0)
signal.signal(signal.SIGTERM, end)
Quick(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
PORT = ports.claim()


def launch(tmp_path: Path, script: str, listens: bool = True, flags: tuple[str, ...] = ()) -> Launch:
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / "it.py").write_text(SERVER + dedent(script) + (LISTEN if listens else ""), encoding="utf-8")
    run = {"command": [sys.executable, "it.py", "{jvm_flags}"]}
    table = builders.manifest("it", PORT, "async-task", language="rust", run=run)
    server = Server(folder, Manifest.model_validate(table))
    return Launch(Entry(server, server.manifest.variants[0]), tmp_path / "it.log", jvm_flags=flags)


def children() -> set[int]:
    """Return the direct children: a browser that another test left running starts further ones at any time."""
    return {child.pid for child in psutil.Process().children()}


def test_the_first_answer_is_found_when_it_is_possible(tmp_path: Path) -> None:
    before, began = children(), time.monotonic()
    found = start_once(launch(tmp_path, "time.sleep(0.2)"), None)
    assert 0.2 <= found.first_answer_s < time.monotonic() - began
    assert (found.rss_kb, found.anon_kb) == (None, None)
    assert children() == before


def test_a_connection_that_is_closed_while_the_server_starts_is_no_answer(tmp_path: Path) -> None:
    # The connection is closed once with a reset and once without a byte. Then the port is closed until the server is
    # ready.
    script = """
    import socket, struct
    with socket.create_server(("127.0.0.1", int(os.environ["PORT"]))) as early:
        for linger in (struct.pack("ii", 1, 0), struct.pack("ii", 0, 0)):
            one, _ = early.accept()
            one.recv(65536)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            one.close()
    time.sleep(0.2)
    """
    began = time.monotonic()
    found = start_once(launch(tmp_path, script), None)
    assert 0.2 <= found.first_answer_s < time.monotonic() - began


def test_polling_adds_no_more_than_a_millisecond_to_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A port opens after 0.4 s. Then a first request waits for its response, which takes another 0.25 s.
    clock, port_open_s, answer_s = ManualTime(now=1_000.0), 0.4, 0.25
    tried: list[float] = []

    class Connection:
        def __init__(self, address: tuple[str, int], timeout: float) -> None:
            tried.append(clock.now - 1_000)
            assert address == ("127.0.0.1", PORT)
            if tried[-1] < port_open_s:
                raise ConnectionRefusedError

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...
        def sendall(self, request: bytes) -> None: ...

        def recv(self, most: int) -> bytes:
            clock.now += answer_s
            return b"HTTP/1.1 200 OK\r\n\r\n"

    class Socket:
        create_connection = Connection

    class Child:
        def poll(self) -> None: ...

    monkeypatch.setattr(starts, "time", clock)
    monkeypatch.setattr(starts, "socket", Socket)
    server = starts._Server(Child(), 1_000.0, PORT, tmp_path / "it.log")  # type: ignore[arg-type]
    took = server.first_answer()
    assert port_open_s + answer_s <= took <= port_open_s + answer_s + 0.001 + 1e-9
    assert took == pytest.approx(tried[-1] + answer_s)
    assert set(clock.slept) == {0.001}


def test_memory_at_rest(tmp_path: Path) -> None:
    plain = start_once(launch(tmp_path, ""), None, rest_s=0.05)
    (tmp_path / "more").mkdir()
    more = start_once(launch(tmp_path / "more", 'held = b"x" * (64 << 20)'), None, rest_s=0.05)
    assert plain.rss_kb is not None
    assert more.rss_kb is not None
    assert more.anon_kb is not None
    assert more.rss_kb - plain.rss_kb == pytest.approx(64 * 1024, rel=0.05)
    assert more.anon_kb >= 64 * 1024


def test_starts_and_rests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "REST_S", 0.0)
    found = starts.measure(launch(tmp_path, ""), None, Start.DEFAULT, tmp_path, starts=7, rests=6)
    assert len(found.first_answer_s) == 7
    assert len(found.rss_kb) == len(found.anon_kb) == 6
    assert found.archive_kb is None


def test_an_archive_is_recorded_with_every_path_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Start, "recording", lambda self, archive: ("--archive", str(archive)))
    monkeypatch.setattr(Start, "using", lambda self, archive: ("--use", str(archive)))
    asked = launch(tmp_path, 'if "--use" in sys.argv: assert os.path.getsize(sys.argv[-1]) == 4096')
    found = starts.measure(asked, None, Start.CDS, tmp_path / "archives", starts=1, rests=0)
    assert found.archive_kb == 4
    assert (tmp_path / "archives" / "it-async.cds").exists()


def test_what_a_training_run_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Start, "recording", lambda self, archive: ("--archive", str(archive)))
    asked = launch(tmp_path, "")
    record_archive(asked, None, Start.CDS, tmp_path)
    assert (asked.entry.server.folder / "asked").read_text().split() == ["/", *starts.TRAINING]


def test_an_archive_that_is_not_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Start, "recording", lambda self, archive: ())
    with pytest.raises(RuntimeFailure, match="created no aot archive") as caught:
        record_archive(launch(tmp_path, ""), None, Start.AOT, tmp_path)
    assert caught.value.kind == "no_archive"


def test_a_server_that_ends_before_it_listens(tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailure, match="exit code 3 before it listened") as caught:
        start_once(launch(tmp_path, 'print("the reason", flush=True); sys.exit(3)'), None)
    assert caught.value.log_tail == "the reason"


def test_a_first_answer_that_is_not_good(tmp_path: Path) -> None:
    before = children()
    with pytest.raises(RuntimeFailure, match="503") as caught:
        start_once(launch(tmp_path, "STATUS = 503"), None)
    assert caught.value.kind == "contract"
    assert children() == before


def test_a_server_that_will_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "GRACE_S", 0.3)
    before = children()
    script = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Quick(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
    """
    with pytest.raises(RuntimeFailure) as caught:
        start_once(launch(tmp_path, script, listens=False), None)
    assert caught.value.kind == "hung"
    assert children() == before


def test_an_interrupt_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The interrupt comes after the port was found closed, just before the next attempt.
    before = children()
    seen: list[set[int]] = []

    class Interrupting(ManualTime):
        def sleep(self, seconds: float, /) -> None:
            seen.append(children() - before)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(starts, "time", Interrupting())
    with pytest.raises(KeyboardInterrupt):
        start_once(launch(tmp_path, "time.sleep(60)", listens=False), None)
    assert [len(started) for started in seen] == [1]
    assert children() == before
