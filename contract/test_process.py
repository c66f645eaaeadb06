"""The process: its environment, its one line, its signals and its exit codes."""

import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from kit.ports import free_port
from kit.process import ProcessServer
from kit.rules import GOOD_TARGETS, expect_hello, pattern
from kit.server import START_PATIENCE, Runtime, Server
from kit.targets import Target
from kit.wire import Closed, Wire, fetch, request

NO_HOST = "no-such-host.invalid"


@dataclass(frozen=True)
class Bad:
    """A value that a variable must not have, and the promised line."""

    variable: str
    value: str
    says: str


def integers(variable: str, maximum: int, *values: str) -> list[Bad]:
    return [Bad(variable, v, f'{variable} must be an integer from 1 to {maximum}, got "{v}"') for v in values]


def hosts(*values: str) -> list[Bad]:
    return [Bad("HOST", v, f'HOST cannot be resolved: "{v}"') for v in values]


BAD = [
    *integers("PORT", 65535, "abc", "0", "65536", "", "-1", "80.5", "99999999999999999999"),
    *integers("MAX_THREADS", 100000, "abc", "0", "100001", ""),
    *integers("BACKLOG", 65535, "abc", "0", "65536", ""),
    *hosts("", NO_HOST),
    *[Bad("VARIANT", v, f'VARIANT must be one of {{variants}}, got "{v}"') for v in ("x", "", "0")],
]


@pytest.mark.parametrize("variable", ["PORT", "MAX_THREADS", "BACKLOG", "HOST", "VARIANT"])
def test_bad_environment(target: Target, runtime: Runtime, variable: str) -> None:
    """Exit code 2 and exactly one line that names the variable and what it may be; nothing on stdout."""
    wrong = []
    for bad in (bad for bad in BAD if bad.variable == variable):
        with runtime.start(target, {variable: bad.value}) as server:
            code = server.wait()
            line = bad.says.format(variants=", ".join(target.variants)) + "\n"
            got = (code, server.stderr, server.stdout)
            if got != (2, line, ""):
                wrong.append(f'{variable}="{bad.value}": expected (2, {line!r}, ""), got {got}')
    assert not wrong, "\n".join(wrong)


def test_taken_port(target: Target, runtime: Runtime) -> None:
    with runtime.start_on_taken_port(target) as server:
        code = server.wait(START_PATIENCE)
        line = f"cannot listen on {server.host}:{server.port}: address already in use\n"
        assert (code, server.stderr, server.stdout) == (1, line, "")


def test_the_one_line_and_quiet_service(target: Target, runtime: Runtime) -> None:
    """Whatever is asked, stdout holds the ready line alone and stderr nothing, also after the end."""
    with runtime.serving(target) as server:
        assert server.stdout == server.ready_line
        for path in (*GOOD_TARGETS, "/nope", "/sleep?ms=x"):
            for method in ("GET", "HEAD", "POST"):
                fetch(server.port, path, method)
        with Wire(server.port) as wire:
            wire.try_send(b"GARBAGE\r\n\r\n")
            wire.answer_or_close()
        with Wire(server.port) as wire:
            wire.send(request("/bytes?n=16777216"))
        idle = [Wire(server.port) for _ in range(20)]
        for wire in idle[:10]:
            expect_hello(wire.get("/"))
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        code = server.wait(patience=15)
        took = time.monotonic() - began
        for wire in idle:
            wire.close()
        assert (code, server.stdout, server.stderr) == (0, server.ready_line, "")
        assert took < 3, f"idle connections delayed the end by {took:.1f} s"


@pytest.mark.process_only("a service names its variant, and other addresses of a container are out of reach")
def test_first_variant_is_the_default_and_host_is_obeyed(folder_target: Target) -> None:
    first = f"{folder_target.server}:{folder_target.variants[0]}"
    host = {"HOST": "127.0.0.2"}
    with free_port() as port, ProcessServer(folder_target, port, host, without=("VARIANT",)) as server:
        server.wait_ready()
        assert server.stdout == f"listening on http://127.0.0.2:{port} ({first})\n"
        with Wire(port, "127.0.0.2") as wire:
            expect_hello(wire.get("/"))
        with pytest.raises(ConnectionRefusedError):
            Wire(port)


@pytest.mark.process_only("the folders of a container go with it")
def test_nothing_is_left_in_the_temporary_folder(target: Target, tmp_path: Path) -> None:
    folder = {"TMPDIR": str(tmp_path), "JDK_JAVA_OPTIONS": f"-Djava.io.tmpdir={tmp_path}"}
    with free_port() as port, ProcessServer(target, port, folder) as server:
        server.wait_ready()
        with Wire(port) as wire:
            expect_hello(wire.get("/"))
        server.signal(signal.SIGTERM)
        assert server.wait(patience=15) == 0
    assert list(tmp_path.iterdir()) == []


def test_sigterm_drains(target: Target, runtime: Runtime) -> None:
    drains(runtime, target, signal.SIGTERM)


def test_sigint_drains(folder_target: Target, runtime: Runtime) -> None:
    """As SIGTERM does; tried with one variant of each server."""
    drains(runtime, folder_target, signal.SIGINT)


def drains(runtime: Runtime, target: Target, number: signal.Signals) -> None:
    """A sleeper and a slow reader get their whole answers, new connections are refused meanwhile; then 0, silently."""
    with (
        runtime.serving(target) as server,
        Wire(server.port) as idle,
        Wire(server.port) as sleeper,
        Wire(server.port) as slow,
    ):
        for wire in (idle, sleeper, slow):
            expect_hello(wire.get("/"))
        asked = time.monotonic()
        sleeper.send(request("/sleep?ms=1500"))
        slow.send(request("/bytes?n=16777216"))
        time.sleep(0.3)
        server.signal(number)
        refused_after = seconds_until_refused(server)
        assert refused_after < 1, f"new connections were still accepted {refused_after:.2f} s after {number.name}"
        try:
            assert slow.read().body == pattern(16_777_216)
            expect_hello(sleeper.read())
        except (Closed, ConnectionResetError) as error:
            raise AssertionError(f"a request in flight was dropped: {error}") from error
        assert time.monotonic() - asked >= 1.5
        code = server.wait(patience=5)
        assert code == 0, f"exit code {code} after {number.name}"
        assert (server.stdout, server.stderr) == (server.ready_line, "")


def seconds_until_refused(server: Server) -> float:
    began = time.monotonic()
    while (waited := time.monotonic() - began) < 5 and not server.turns_away():
        time.sleep(0.01)
    return waited


def test_ready_line_form(server: Server) -> None:
    assert re.fullmatch(rf"listening on http://{re.escape(server.host)}:\d+ \([a-z0-9-]+:[a-z0-9]+\)\n", server.stdout)
    assert server.stdout == server.ready_line
