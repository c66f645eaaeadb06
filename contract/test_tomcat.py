"""Tests of java-tomcat in addition to the contract: the single-threaded backing service and the conditions."""

import os
import threading
import time
from pathlib import Path

import pytest
from kit.delays import overtakes, sleep_all
from kit.rules import (
    BINARY,
    FIRST_DIGEST,
    TEXT,
    Parameter,
    about,
    expect,
    expect_bad_setting,
    expect_hello,
    expect_refusal,
    info,
    pattern,
)
from kit.server import Runtime
from kit.targets import Target
from kit.wire import Wire, fetch, request

SERVICE = Parameter("/service", "ms", 60_000)
CALLS = 20


def test_service_answers_like_sleep(port: int) -> None:
    for _ in range(5):
        sleep_all(port, [0, 50], "/service?ms=")
    for value in ("-1", "60001", "x"):
        with about(value):
            expect_refusal(fetch(port, SERVICE.ask(value)), SERVICE)


def test_service_has_a_default_delay(port: int) -> None:
    with Wire(port) as wire:
        wire.send(request("/service"))
        expect_hello(fetch(port, "/service?ms=100"))
        assert wire.silent


def test_service_overlaps_delays_though_it_has_one_thread(port: int) -> None:
    """Check that the delays overlap, because they are timers on one thread."""
    assert overtakes(port, CALLS, "/service?ms=")


def test_nio2_serves_the_contract(target: Target, runtime: Runtime) -> None:
    """Check that `CONNECTOR=nio2` gives the same responses and thread model, on threads of the other connector."""
    with runtime.serving(target, {"CONNECTOR": "nio2"}) as server:
        expect_hello(fetch(server.port, "/"))
        sleep_all(server.port, [0, 50, 300])
        expect(fetch(server.port, "/cpu?rounds=1"), TEXT, FIRST_DIGEST)
        told = info(server.port)
        assert (told["server"], told["variant"]) == (target.server, target.variant)
        assert told["transport"] == "nio2"
        assert "nio2" in told["thread"] or told["virtual"], f"handled by {told['thread']!r}"
        assert told["virtual"] is (target.model == "virtual-thread")


def test_lean_buffers_serve_the_contract(target: Target, runtime: Runtime) -> None:
    """Check that `BUFFERS=lean` gives the same responses, even if a head or a body is larger than the buffers."""
    with runtime.serving(target, {"BUFFERS": "lean"}) as server, Wire(server.port) as wire:
        wire.send(request("/", headers=("Cookie: " + "c" * 6 * 1024,)))
        expect_hello(wire.read())
        expect(wire.get("/bytes?n=70000"), BINARY, pattern(70_000))


@pytest.mark.process_only
def test_a_host_that_gives_random_bytes_late_changes_nothing(
    folder_target: Target, runtime: Runtime, tmp_path: Path
) -> None:
    """Check that Tomcat prints no warning if its session ID generator takes over 100 ms to start, as on a busy host."""
    late = tmp_path / "random"
    os.mkfifo(late)
    giver = threading.Thread(target=give_late, args=[late])
    giver.start()
    with runtime.serving(folder_target, {"JDK_JAVA_OPTIONS": f"-Djava.security.egd=file:{late}"}) as server:
        giver.join()
        expect_hello(fetch(server.port, "/"))
        told = [line for line in server.stderr.splitlines() if not line.startswith("NOTE: Picked up JDK_JAVA_OPTIONS")]
        assert told == []


def give_late(fifo: Path) -> None:
    """Write random bytes to the process that opens the file, later than Tomcat considers normal."""
    with fifo.open("wb") as stream:
        time.sleep(0.3)
        stream.write(os.urandom(4_096))


def test_bad_condition(folder_target: Target, runtime: Runtime) -> None:
    for name in ("CONNECTOR", "BUFFERS"):
        for value in ("x", ""):
            with runtime.start(folder_target, {name: value}) as server:
                expect_bad_setting(server, name)
