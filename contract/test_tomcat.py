"""What java-tomcat offers besides the contract: the single-threaded backing service, and the NIO2 connector."""

import time

import pytest
from kit.rules import TEXT, Parameter, expect, expect_hello, expect_not_allowed, expect_refusal, info
from kit.server import Runtime
from kit.targets import Target
from kit.wire import Wire, fetch
from test_delays import sleep_all

SERVICE = Parameter("/service", "ms", 60_000, required=False)
CALLS = 20


def test_service_answers_like_sleep(port: int) -> None:
    for _ in range(5):
        sleep_all(port, [0, 50], "/service")
    assert fetch(port, "/service?ms=0", "HEAD").header("Content-Length") == "13"
    expect_not_allowed(fetch(port, "/service", "POST"))


@pytest.mark.parametrize("query", ["ms=", "ms=-1", "ms=60001", "ms=1&ms=2", "ms=%zz", "ms=x"])
def test_service_refuses_bad_parameters(port: int, query: str) -> None:
    expect_refusal(fetch(port, f"/service?{query}"), SERVICE)


def test_service_has_a_default_delay(port: int) -> None:
    with Wire(port) as wire:
        wire.send(b"GET /service HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.silent_for(0.5)


def test_service_overlaps_delays_though_it_has_one_thread(port: int) -> None:
    """The delays are timers on that thread; were it to sleep, 20 calls would take six seconds."""
    sleep_all(port, [1] * CALLS, "/service")
    totals = []
    for _ in range(3):
        began = time.monotonic()
        sleep_all(port, [300] * CALLS, "/service")
        totals.append(time.monotonic() - began)
        if totals[-1] < 0.6:
            return
    raise AssertionError(f"{CALLS} calls of 300 ms took {totals} s")


def test_nio2_serves_the_contract(target: Target, runtime: Runtime) -> None:
    """`CONNECTOR=nio2`: the same answers on the same thread model, from threads of the other connector."""
    with runtime.serving(target, {"CONNECTOR": "nio2"}) as server:
        expect_hello(fetch(server.port, "/"))
        sleep_all(server.port, [0, 50, 300])
        expect(fetch(server.port, "/cpu?rounds=0"), 200, TEXT, b"0" * 64)
        told = info(server.port)
        assert (told["server"], told["variant"]) == (target.server, target.variant)
        assert "nio2" in told["thread"] or told["virtual"], f"handled by {told['thread']!r}"
        if target.model != "virtual-thread":
            assert told["virtual"] is False


def test_bad_connector(target: Target, runtime: Runtime) -> None:
    for value in ("x", ""):
        with runtime.start(target, {"CONNECTOR": value}) as server:
            code = server.wait()
            line = f'CONNECTOR must be one of nio, nio2, got "{value}"\n'
            assert (code, server.stderr, server.stdout) == (2, line, "")
