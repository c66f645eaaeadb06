"""Tests of `/sleep?lock=1`: Java servers sleep inside a monitor; every other server ignores the parameter."""

import re
import subprocess
from pathlib import Path

from kit.delays import begin, connections, sleep_all, stretched
from kit.server import Server
from kit.targets import Target, java_home
from kit.wire import request, tries

ASLEEP = "java.lang.Thread.sleep("
MONITOR = re.compile(r"- locked <\w+> \(a java\.lang\.Object\)")


def test_no_sleep_is_early(port: int) -> None:
    sleep_all(port, stretched(0, 50, 300), more="&lock=1")


def test_a_monitor_is_held_exactly_where_asked_for(server: Server, target: Target) -> None:
    """Check in a thread dump, which shows platform threads only; virtual threads run the same code.

    Any other requests that sleep at this point were sent without a lock, so they hold no monitor.
    """
    if not (target.jvm and target.bounded):
        return
    with connections(server.port, 1) as wires:
        begin(server.port, wires, request("/sleep?ms=10000&lock=0"))
        for _ in tries("no handler sleeps"):
            if stacks := sleepers(server.own_pid):
                break
        assert not any(map(MONITOR.search, stacks)), stacks
    with connections(server.port, 1) as wires:
        begin(server.port, wires, request("/sleep?ms=10000&lock=1"))
        for _ in tries("no handler sleeps inside a monitor"):
            if any(map(MONITOR.search, sleepers(server.own_pid))):
                break


def sleepers(pid: int) -> list[str]:
    """Return the stacks of the handlers that sleep."""
    command = [str(java_home() / "bin" / "jcmd"), str(pid), "Thread.print"]
    try:
        dump = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    finally:
        Path(f"/tmp/.java_pid{pid}").unlink(missing_ok=True)  # a killed JVM leaves its socket behind
    return [stack for stack in dump.split("\n\n") if ASLEEP in stack and "zoo." in stack]
