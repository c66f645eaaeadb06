"""`/sleep?lock=1`: Java servers sleep inside a monitor; every other server ignores the parameter."""

import subprocess
from pathlib import Path

import pytest
from kit.rules import LOCK, SLEEP, expect_hello, expect_refusal
from kit.server import Server
from kit.targets import Target, java_home
from kit.wire import Wire, fetch, request
from test_delays import sleep_all

BAD = ("lock=", "lock", "lock=2", "lock=-1", "lock=true", "lock=0&lock=1", "lock=%zz")
ASLEEP = "java.lang.Thread.sleep("
MONITOR = "(a zoo.Monitor)"


@pytest.mark.parametrize("query", ["lock=0", "lock=1", "lock=01", "lock=%31", "Lock=x"])
def test_good_values(port: int, query: str) -> None:
    expect_hello(fetch(port, f"/sleep?ms=1&{query}"))


@pytest.mark.parametrize("query", BAD)
def test_bad_values_are_refused_by_java_and_ignored_by_others(port: int, target: Target, query: str) -> None:
    response = fetch(port, f"/sleep?ms=1&{query}")
    if target.jvm:
        expect_refusal(response, LOCK)
    else:
        expect_hello(response)


def test_ms_is_judged_first(port: int) -> None:
    expect_refusal(fetch(port, "/sleep?lock=x&ms=x"), SLEEP)


def test_no_sleep_is_early(port: int) -> None:
    sleep_all(port, [0, 10, 50, 200], more="&lock=1")


@pytest.mark.process_only("the host's jcmd looks into processes of this host")
def test_a_monitor_is_held_exactly_where_asked_for(server: Server, target: Target) -> None:
    """Seen in a thread dump, which shows platform threads only; virtual ones run the same code."""
    if not (target.jvm and target.bounded):
        expect_hello(fetch(server.port, "/sleep?ms=1&lock=1"))
        return
    for lock, held in (("0", False), ("1", True)):
        with Wire(server.port) as wire:
            wire.send(request(f"/sleep?ms=4000&lock={lock}"))
            assert wire.silent_for(0.3)
            dump = threads(server.own_pid)
            expect_hello(wire.read())
        sleepers = [stack for stack in dump.split("\n\n") if ASLEEP in stack and "zoo." in stack]
        assert sleepers, f"no handler sleeps: {dump[:2000]}"
        assert any(MONITOR in stack for stack in sleepers) is held


def threads(pid: int) -> str:
    command = [str(java_home() / "bin" / "jcmd"), str(pid), "Thread.print"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
    finally:
        Path(f"/tmp/.java_pid{pid}").unlink(missing_ok=True)  # the JVM's socket, which it leaves when it is killed
