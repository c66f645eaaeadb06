"""The process: its environment, its one line, its signals and its exit codes."""

import pytest
from kit.rules import DRAIN
from kit.server import Runtime
from kit.shared import Life, SmallPool
from kit.targets import Target

INTEGER = '{variable} must be an integer from 1 to {maximum}, got "{value}"'
BAD = {
    "PORT": (INTEGER, 65_535, ("abc", "0", "65536", "")),
    "MAX_THREADS": (INTEGER, 100_000, ("0", "100001")),
    "BACKLOG": (INTEGER, 65_535, ("65536",)),
    "HOST": ('HOST cannot be resolved: "{value}"', None, ("no-such-host.invalid", "")),
    "VARIANT": ('VARIANT must be one of {variants}, got "{value}"', None, ("x",)),
}
"""Variables, the promised line with the maximum in it, and values that they must not have."""


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


@pytest.mark.smoke
def test_idle_connections_are_not_waited_for(life: Life) -> None:
    """What is in flight has the time of draining; a server that waits for idle connections uses all of it."""
    assert life.ending < DRAIN, f"idle connections delayed the end by {life.ending:.1f} s"


@pytest.mark.first_variant
@pytest.mark.process_only
def test_nothing_is_left_in_the_temporary_folder(small_pool: SmallPool, life: Life) -> None:
    assert life.code is not None
    assert not list(small_pool.folder.iterdir())
