"""What java-tomcat offers besides the contract: the single-threaded backing service, and its own conditions."""

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
CONDITIONS = {"CONNECTOR": "nio, nio2", "BUFFERS": "default, lean", "SCHEDULER": "shared, one"}


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
    """The delays are timers on that thread."""
    assert overtakes(port, CALLS, "/service?ms=")


def test_nio2_serves_the_contract(target: Target, runtime: Runtime) -> None:
    """`CONNECTOR=nio2`: the same answers on the same thread model, from threads of the other connector."""
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
    """`BUFFERS=lean`: the same answers, also where a head or a body is larger than the buffers."""
    with runtime.serving(target, {"BUFFERS": "lean"}) as server, Wire(server.port) as wire:
        wire.send(request("/", headers=("Cookie: " + "c" * 6 * 1024,)))
        expect_hello(wire.read())
        expect(wire.get("/bytes?n=70000"), BINARY, pattern(70_000))


def test_one_carrier_serves_the_contract(target: Target, runtime: Runtime) -> None:
    """`SCHEDULER=one`: one carrier for all virtual threads, and still their delays overlap."""
    with runtime.serving(target, {"SCHEDULER": "one"}) as server:
        assert overtakes(server.port, CALLS)


@pytest.mark.process_only
def test_a_host_that_gives_random_bytes_late_changes_nothing(
    folder_target: Target, runtime: Runtime, tmp_path: Path
) -> None:
    """Tomcat warns when its generator of session IDs took over 100 ms to come up, as on a busy host."""
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
    """Random bytes to who opens the file, after longer than Tomcat takes for usual."""
    with fifo.open("wb") as stream:
        time.sleep(0.3)
        stream.write(os.urandom(4_096))


def test_bad_condition(folder_target: Target, runtime: Runtime) -> None:
    for name, known in CONDITIONS.items():
        for value in ("x", ""):
            with runtime.start(folder_target, {name: value}) as server:
                code = server.wait()
                line = f'{name} must be one of {known}, got "{value}"\n'
                assert (code, server.stderr, server.stdout) == (2, line, "")
