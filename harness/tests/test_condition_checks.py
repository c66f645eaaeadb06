"""Tests that check whether a requested condition is in effect in the running server."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import builders
import ports
import pytest

from zoo.core.errors import RuntimeFailure
from zoo.core.host_facts import Jdk
from zoo.core.manifest import Entry, Manifest, Server
from zoo.runtime import condition_checks
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import fault
from zoo.runtime.process import ProcessRuntime
from zoo.sample.jcmd import parse_parallelism
from zoo.sample.requests import Info, parse_info

G1 = ["G1 Young Generation", "G1 Concurrent GC", "G1 Old Generation"]
SERIAL = ["Copy", "MarkSweepCompact"]
TOLD = {
    "server": "it",
    "variant": "virtual",
    "model": "virtual-thread",
    "framework": "f",
    "framework_version": "1",
    "runtime": "OpenJDK 64-Bit Server VM",
    "runtime_version": "25.0.3+9",
    "pid": 4711,
    "processors": 2,
    "thread": "t",
    "virtual": True,
    "os_threads": 20,
    "heap_used": 1 << 20,
    "heap_committed": 64 << 20,
    "heap_max": 4 << 30,
    "direct_used": 0,
    "gc": G1,
    "gc_count": 0,
    "gc_time_ms": 0,
    "requests": 1,
    "limits": {"max_threads": None, "max_connections": 100, "backlog": 100, "nofile": 1024},
}
FLAGS = """4711:
[Global flags]
    ccstr AOTCache                                 =                                           {product} {default}
     bool ExitOnOutOfMemoryError                   = true                                      {product} {command line}
    ccstr FlightRecorderOptions                    = stackdepth=1                              {product} {command line}
   size_t MaxMetaspaceSize                         = 104857600                                 {product} {command line}
   size_t G1HeapRegionSize                         = 1048576                                   {product} {ergonomic}
     intx TieredStopAtLevel                        = 4                                         {product} {default}
     bool UseSerialGC                              = true                                      {product} {command line}
     bool UseCompressedOops                        = false                      {product lp64_product} {ergonomic}
"""
"""Output of `jcmd PID VM.flags -all`."""


def info(**changes: object) -> Info:
    return parse_info(json.dumps({**TOLD, **changes}))


def launch(*flags: str, settings: Mapping[str, str] | None = None, **manifest: Any) -> Launch:  # noqa: ANN401
    variant = {"name": "virtual", "model": "virtual-thread", "summary": "a test", "settings": list(settings or {})}
    server = Server(Path(), Manifest.model_validate(builders.manifest("it", 8101, variants=[variant], **manifest)))
    return Launch(Entry(server, server.manifest.variants[0]), Path("log"), settings or {}, flags)


def found(launched: Launch, told: Info, *line: str, table: str | None = FLAGS, carriers: int | None = None) -> str:
    printed = {"VM.flags": table, "Thread.vthread_scheduler": f"parallelism = {carriers}" if carriers else None}
    line = line or ("java", *launched.jvm_flags)
    return fault(launched, told, lambda pid: line, lambda pid, *words: printed[words[0]]) or ""


def test_what_was_asked_for_is_found_in_effect() -> None:
    flags = ("-XX:+UseSerialGC", "-Xmx50m", "-XX:MaxMetaspaceSize=100m", "-XX:FlightRecorderOptions=stackdepth=1")
    assert found(launch(*flags, "-Da=b", "-Xint"), info(gc=SERIAL, heap_max=50_724_864)) == ""
    assert found(launch(), info()) == ""
    assert found(launch("-XX:FlightRecorderOptions:stackdepth=1"), info()) == ""


def test_a_collector_that_the_jvm_did_not_take_is_named_with_the_one_it_has() -> None:
    text = found(launch("-XX:+UseSerialGC"), info())
    assert (
        text
        == "-XX:+UseSerialGC has no effect: the JVM's garbage collectors are G1 Young Generation, G1 Concurrent GC, "
        + ("G1 Old Generation")
    )
    assert found(launch("-XX:+UseSerialGC", "-XX:-UseSerialGC", "-XX:+UseG1GC"), info(), table=None) == ""
    assert found(launch("-XX:+UseParallelGC"), info(gc=["PS Scavenge", "PS MarkSweep"])) == ""
    assert found(launch("-XX:+UseZGC"), info(gc=["ZGC Minor Cycles", "ZGC Minor Pauses"])) == ""


def test_a_heap_that_is_not_the_one_asked_for_is_named_with_its_size() -> None:
    assert "-Xmx50m has no effect: the JVM's heap may grow to 4,096 MB" in found(launch("-Xmx50m"), info())
    assert found(launch("-Xmx4g", "-Xmx50m"), info(heap_max=50 << 20)) == ""
    assert "-Xmx50m" in found(launch("-Xmx50m", "-Xmx4g", "-Xmx50m"), info())


@pytest.mark.parametrize(
    ("flag", "effect_"),
    [
        ("-XX:TieredStopAtLevel=1", "TieredStopAtLevel is 4"),
        ("-XX:+UseCompressedOops", "UseCompressedOops is false"),
        ("-XX:-ExitOnOutOfMemoryError", "ExitOnOutOfMemoryError is true"),
        ("-XX:G1HeapRegionSize=8m", "G1HeapRegionSize is 1048576"),
        ("-XX:+NoSuchFlag", "the JVM has no flag NoSuchFlag"),
    ],
)
def test_any_other_flag_is_read_back_from_the_jvm_s_table(flag: str, effect_: str) -> None:
    assert found(launch(flag), info()) == f"{flag} has no effect: {effect_}"
    assert found(launch(flag), info(), table=None) == ""  # a JVM without such a table: only its command line is known


def test_the_last_of_several_values_of_a_flag_counts() -> None:
    assert found(launch("-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"), info()) == ""


@pytest.mark.parametrize("flag", ["-Xint", "-Da=b", "-Xss512k"])
def test_a_flag_that_is_not_in_the_jvm_s_command_line_is_named(flag: str) -> None:
    text = found(launch(flag), info(), "/jdk/bin/java", "-jar", "it.jar")
    assert text == f"{flag} has no effect: the JVM was started without it: /jdk/bin/java -jar it.jar"


def test_the_size_of_a_pool_is_read_back() -> None:
    limits = {**TOLD["limits"], "max_threads": 200}  # type: ignore[dict-item]
    asked = launch(settings={"MAX_THREADS": "400"})
    assert found(asked, info(limits=limits)) == "MAX_THREADS=400 has no effect: /info reports max_threads 200"
    assert found(asked, info(limits={**limits, "max_threads": 400})) == ""


def test_the_number_of_carriers_is_read_back() -> None:
    asked = launch("-Djdk.virtualThreadScheduler.parallelism=1")
    assert "has no effect: the scheduler of virtual threads has 2 carriers" in found(asked, info(), carriers=2)
    assert found(asked, info(), carriers=1) == ""
    assert found(asked, info(), carriers=None) == ""  # a JDK that does not report it


def test_a_transport_other_than_the_manifest_s_is_named() -> None:
    vertx = {"transport": {"name": "epoll"}}
    text = found(launch(**vertx), info(transport="nio"))
    assert text == "the server uses the transport nio, but its server.toml names epoll"
    assert found(launch(**vertx), info(transport="epoll")) == ""
    assert found(launch(**vertx), info()) == ""  # a server that does not report it
    assert found(launch(), info(transport="nio")) == ""


def test_a_setting_may_name_the_transport() -> None:
    tomcat = {"transport": {"name": "nio", "setting": "CONNECTOR"}}
    assert found(launch(settings={"CONNECTOR": "nio2"}, **tomcat), info(transport="nio2")) == ""
    text = found(launch(settings={"CONNECTOR": "nio2"}, **tomcat), info(transport="nio"))
    assert text == "the server uses the transport nio, but CONNECTOR=nio2 requests another"


def test_a_folder_where_nothing_may_be_executed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert condition_checks.noexec_advice(str(tmp_path)) == ""
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    text = condition_checks.noexec_advice("/scratch/x")
    assert "/scratch/x" in text
    assert "set TMPDIR" in text


def test_the_scheduler_s_line_is_parsed() -> None:
    text = "1:\njava.util.concurrent.ForkJoinPool@5ce46482[Running, parallelism = 1, size = 1, active = 0]"
    assert parse_parallelism(text) == 1
    assert parse_parallelism("Unknown diagnostic command") is None


SERVER = """
import http.server, json, os, sys
from email.utils import formatdate
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = INFO if self.path == "/info" else b"Hello, World!"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain;charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
INFO = json.dumps({**json.load(open("info.json")), "pid": os.getpid()}).encode()
with http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler) as server:
    print(f"listening on http://127.0.0.1:{os.environ['PORT']} (it:virtual)", flush=True)
    server.serve_forever()
"""


@pytest.mark.parametrize(("flag", "says"), [("-XX:+UseSerialGC", "G1 Young"), ("-Xint", "was started without it")])
def test_a_java_that_drops_an_option_fails_the_cell(tmp_path: Path, flag: str, says: str) -> None:
    # The server stands in for a JVM: nothing is known about it except what it reports.
    folder = tmp_path / "it"
    folder.mkdir()
    (folder / "it.py").write_text(SERVER, encoding="utf-8")
    (folder / "info.json").write_text(json.dumps(TOLD), encoding="utf-8")
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\nexec "{sys.executable}" it.py\n', encoding="utf-8")
    java.chmod(0o755)
    variant = {"name": "virtual", "model": "virtual-thread", "summary": "a test"}
    manifest = builders.manifest("it", ports.claim(), variants=[variant])
    server = Server(folder, Manifest.model_validate(manifest))
    launched = Launch(Entry(server, server.manifest.variants[0]), tmp_path / "it.log", jvm_flags=(flag,))
    hosted = ProcessRuntime(Jdk(tmp_path, java, "25.0.3", 25, "x")).start(launched)
    try:
        with pytest.raises(RuntimeFailure, match=says) as caught:
            hosted.probe()
    finally:
        hosted.stop()
    assert caught.value.kind == "no_effect"
    assert flag in caught.value.message
