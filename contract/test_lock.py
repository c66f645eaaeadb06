"""`/sleep?lock=1`: Java servers sleep inside a monitor; every other server ignores the parameter."""

import re
import subprocess
from pathlib import Path

from kit.delays import begin, connections, sleep_all
from kit.server import Server
from kit.targets import Target, java_home
from kit.wire import request, tries

ASLEEP = "java.lang.Thread.sleep("
MONITOR = re.compile(r"\(an? [\w.]*Monitor\)")


def test_no_sleep_is_early(port: int) -> None:
    sleep_all(port, [0, 50, 300], more="&lock=1")


def test_a_monitor_is_held_exactly_where_asked_for(server: Server, target: Target) -> None:
    """Seen in a thread dump, which shows platform threads only; virtual ones run the same code.

    Whatever else sleeps by now was asked for without a lock, and holds no monitor either.
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
    """The stacks of handlers that sleep."""
    command = [str(java_home() / "bin" / "jcmd"), str(pid), "Thread.print"]
    try:
        dump = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    finally:
        Path(f"/tmp/.java_pid{pid}").unlink(missing_ok=True)  # the JVM's socket, which it leaves when it is killed
    return [stack for stack in dump.split("\n\n") if ASLEEP in stack and "zoo." in stack]
