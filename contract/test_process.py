"""Tests of the process: its environment, its one line of output, its signals and its exit."""

import signal
import time

import pytest
from kit.delays import begin, connections
from kit.rules import about, expect_bad_setting, pattern
from kit.server import Runtime
from kit.shared import Life, SmallPool
from kit.targets import Target
from kit.wire import Wire, in_transit, request, tries

BAD = {
    "PORT": ("abc", "0", "65536", ""),
    "MAX_THREADS": ("0", "x"),
    "BACKLOG": ("65536",),
    "HOST": ("no-such-host.invalid",),
    "VARIANT": ("x",),
}
"""Variables with values that every server rejects."""

TAILS = (64, 128, 256)
"""Sizes in bytes of the rest of a body that the kernel cannot buffer, small enough for any server's buffer."""


@pytest.mark.smoke
@pytest.mark.parametrize("variable", BAD)
def test_bad_environment(folder_target: Target, runtime: Runtime, variable: str) -> None:
    """Check each value; in a container, which can only break how a variable arrives, one value per variable."""
    for value in BAD[variable][: 1 if runtime.name == "container" else None]:
        with about(f'{variable}="{value}"'), runtime.start(folder_target, {variable: value}) as server:
            expect_bad_setting(server, variable)


@pytest.mark.smoke
def test_taken_port(starting_target: Target, runtime: Runtime) -> None:
    """Check that the server exits with the framework's error, naming the port, and never prints that it listens."""
    with runtime.start_on_taken_port(starting_target) as server:
        code = server.wait()
        words = (server.stdout + server.stderr).lower()
        assert code != 0, f"exit code 0: {words}"
        for needed in (str(server.port), "in use"):
            assert needed in words, f"no clear error: {words}"
        assert "listening on http" not in words, words


@pytest.mark.process_only
def test_first_variant_is_the_default_and_host_is_obeyed(bare: Life, folder_target: Target) -> None:
    """Check processes only: a service names its variant, and a container's other addresses are unreachable."""
    first = f"{folder_target.server}:{folder_target.variants[0]}"
    assert bare.stdout == f"listening on http://0.0.0.0:{bare.port} ({first})\n"
    assert bare.reached_elsewhere, "not reached at another address, in spite of HOST=0.0.0.0"


@pytest.mark.process_only
def test_this_host_alone_is_the_default(life: Life) -> None:
    assert not life.reached_elsewhere, "reached at another address than 127.0.0.1"


@pytest.mark.smoke
def test_says_one_line_whatever_is_asked(life: Life) -> None:
    assert (life.stdout, life.stderr) == (life.ready_line, "")


@pytest.mark.smoke
def test_sigterm_drains(life: Life, target: Target) -> None:
    """Check that a sleeper and a slow reader get complete responses while new connections are refused.

    A server that accepts connections while it drains waits only for its handlers, so its slow reader may be cut off.
    """
    drained(life, target)


@pytest.mark.smoke
def test_sigint_drains(bare: Life, folder_target: Target) -> None:
    """Check that SIGINT does the same as SIGTERM, with one variant of each server."""
    drained(bare, folder_target)


def drained(life: Life, target: Target) -> None:
    assert life.dropped is None, f"a request in flight was dropped: {life.dropped}"
    assert life.refused_while_draining is not target.accepts_while_draining, "new connections were still accepted"
    assert life.code is not None, "the server did not exit"


@pytest.mark.process_only
def test_sigterm_gives_slow_readers_their_whole_answers(starting_target: Target, runtime: Runtime) -> None:
    """Check that the rest of each body, still in the server's buffer, is sent even after the handler has returned."""
    if starting_target.accepts_while_draining:
        return
    with runtime.serving(starting_target) as server:
        unread = bytes_that_nobody_reads(server.port)
        sizes = [unread + tail for tail in TAILS]
        with connections(server.port, len(sizes)) as wires:
            begin(server.port, wires, *(request(f"/bytes?n={size}") for size in sizes))
            server.signal(signal.SIGTERM)
            for _ in tries("new connections are still accepted"):
                if server.turns_away():
                    break
            time.sleep(1)  # a server that waits only for its handlers exits meanwhile
            for size, wire in zip(sizes, wires, strict=True):
                with about(f"{size} bytes, of which the kernel holds about {unread}"):
                    assert wire.read().body == pattern(size), "wrong body"
        server.wait()


def bytes_that_nobody_reads(port: int) -> int:
    """Return how much of a body the kernel holds for a client that reads nothing."""
    with Wire(port) as wire:
        wire.send(request("/bytes?n=16777216"))
        held = [0]
        for _ in tries("the kernel's buffers do not fill", pause=0.1):
            held.append(in_transit({port}, {wire.port}))
            if held[-1] and held[-5:] == held[-1:] * 5:
                break
        return held[-1]


@pytest.mark.smoke
@pytest.mark.process_only
def test_idle_connections_are_not_waited_for(life: Life) -> None:
    """Check that the server does not idle after its last response until the drain time is over.

    Go waits five seconds for connections that have sent no request.
    """
    # With little time left to drain, two samples would already be too much.
    assert life.idle_s <= max(1.0, 0.75 * life.may_idle_s), (
        f"the server did nothing for {life.idle_s:.1f} of the {life.may_idle_s:.1f} s that were left to drain"
    )


@pytest.mark.first_variant
@pytest.mark.process_only
def test_nothing_is_left_in_the_temporary_folder(small_pool: SmallPool, life: Life) -> None:
    assert life.code is not None
    assert not list(small_pool.folder.iterdir())
