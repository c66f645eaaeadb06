"""The process: its environment, its one line, its signals and its exit codes."""

import signal
import time
from pathlib import Path

import pytest
from kit.delays import begin, connections
from kit.rules import DRAIN, about, pattern
from kit.server import Runtime
from kit.shared import Life, SmallPool
from kit.targets import Target
from kit.wire import Wire, request, tries

INTEGER = '{variable} must be an integer from 1 to {maximum}, got "{value}"'
BAD = {
    "PORT": (INTEGER, 65_535, ("abc", "0", "65536", "")),
    "MAX_THREADS": (INTEGER, 100_000, ("0", "100001")),
    "BACKLOG": (INTEGER, 65_535, ("65536",)),
    "HOST": ('HOST cannot be resolved: "{value}"', None, ("no-such-host.invalid", "")),
    "VARIANT": ('VARIANT must be one of {variants}, got "{value}"', None, ("x",)),
}
"""Variables, the promised line with the maximum in it, and values that they must not have."""

TAILS = (64, 128, 256)
"""Bytes of a body that the kernel does not hold for a slow reader: few enough for any buffer of a server."""


@pytest.mark.smoke
@pytest.mark.parametrize("variable", BAD)
def test_bad_environment(folder_target: Target, runtime: Runtime, variable: str) -> None:
    """Exit code 2 and exactly one line that names the variable and what it may be; nothing on stdout."""
    form, maximum, values = BAD[variable]
    variants = ", ".join(folder_target.variants)
    for value in values:
        with runtime.start(folder_target, {variable: value}) as server:
            got = (server.wait(), server.stderr, server.stdout)
        line = form.format(variable=variable, value=value, maximum=maximum, variants=variants)
        assert got == (2, f"{line}\n", ""), f'{variable}="{value}": {got}'


@pytest.mark.smoke
def test_taken_port(starting_target: Target, runtime: Runtime) -> None:
    with runtime.start_on_taken_port(starting_target) as server:
        code = server.wait()
        line = f"cannot listen on {server.host}:{server.port}: address already in use\n"
        assert (code, server.stderr, server.stdout) == (1, line, "")


@pytest.mark.process_only
def test_first_variant_is_the_default_and_host_is_obeyed(bare: Life, folder_target: Target) -> None:
    """A service names its variant, and other addresses of a container are out of reach."""
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
def test_sigterm_drains(life: Life) -> None:
    """New connections are refused while a sleeper and a slow reader get their whole answers; then the code is 0."""
    drained(life)


@pytest.mark.smoke
def test_sigint_drains(bare: Life) -> None:
    """As SIGTERM does; tried with one variant of each server."""
    drained(bare)


def drained(life: Life) -> None:
    assert life.dropped is None, f"a request in flight was dropped: {life.dropped}"
    assert life.refused_while_draining, "new connections were still accepted"
    assert life.code == 0, f"exit code {life.code}"


@pytest.mark.process_only
def test_sigterm_gives_slow_readers_their_whole_answers(starting_target: Target, runtime: Runtime) -> None:
    """The end of each body waits in a buffer of the server, whose handler may have returned already."""
    with runtime.serving(starting_target) as server:
        unread = bytes_that_nobody_reads(server.port)
        sizes = [unread + tail for tail in TAILS]
        with connections(server.port, len(sizes)) as wires:
            begin(server.port, wires, *(request(f"/bytes?n={size}") for size in sizes))
            server.signal(signal.SIGTERM)
            for _ in tries("new connections are still accepted"):
                if server.turns_away():
                    break
            time.sleep(1)  # a server that waits only for its handlers ends meanwhile
            for size, wire in zip(sizes, wires, strict=True):
                with about(f"{size} bytes, of which the kernel holds about {unread}"):
                    assert wire.read().body == pattern(size), "another body"
        assert server.wait() == 0


def bytes_that_nobody_reads(port: int) -> int:
    """Return how much of a body the kernel holds for a client that reads nothing."""
    with Wire(port) as wire:
        wire.send(request("/bytes?n=16777216"))
        ends = (port, wire.socket.getsockname()[1])
        held = [0]
        for _ in tries("the kernel's buffers do not fill", pause=0.1):
            held.append(queued(*ends))
            if held[-1] and held[-5:] == held[-1:] * 5:
                break
        return held[-1]


def queued(port: int, other: int) -> int:
    """Return the bytes between two local ports, those to be sent and those to be read, as /proc/net/tcp has them."""
    total = 0
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text(encoding="utf-8").splitlines()[1:]:
            _, local, remote, _, queues, *_ = line.split()
            if {int(end.rpartition(":")[2], 16) for end in (local, remote)} == {port, other}:
                total += sum(int(queue, 16) for queue in queues.split(":"))
    return total


@pytest.mark.smoke
def test_idle_connections_are_not_waited_for(life: Life) -> None:
    """What is in flight has the time of draining; a server that waits for idle connections uses all of it."""
    assert life.ending < DRAIN, f"idle connections delayed the end by {life.ending:.1f} s"


@pytest.mark.first_variant
@pytest.mark.process_only
def test_nothing_is_left_in_the_temporary_folder(small_pool: SmallPool, life: Life) -> None:
    assert life.code is not None
    assert not list(small_pool.folder.iterdir())
