"""The guest's first process: lifts the limits of its kernel, then is the agent on the second serial line."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import tty
from collections.abc import Callable, Mapping
from pathlib import Path

from zoo.host import network
from zoo.host.environment import PATHS
from zoo.host.facts import parse_range
from zoo.model.host import Limits
from zoo.runtime.agent.serve import Agent, serve
from zoo.sample.instruments import Instruments

READY = "zoo guest: ready"
LINE = "/dev/ttyS1"
OVERRUN_S = 300.0
"""An emulated processor opens a few hundred connections a second, and wrk ends no sooner than it has opened all."""

HZ = 2.0
"""The sampler is Python on the same slow processors."""

NOFILE = 1_048_576
SETTINGS = {
    **network.NAMESPACE_SETTINGS,
    "fs/nr_open": str(NOFILE),
    "fs/file-max": str(4 * NOFILE),
    "kernel/pid_max": "4194304",
    "kernel/threads-max": "400000",
    "vm/max_map_count": "1048576",
    # wrk asks for 8 bytes a microsecond of its timeout, and uses few of them
    "vm/overcommit_memory": "1",
    # always, as they take no place: while more than half of a backlog is taken, a handshake is given up after 7 s,
    # and here a server may need a minute to accept all
    "net/ipv4/tcp_syncookies": "2",
}


class GuestAgent(Agent):
    """An agent that also starts and ends the server. What the server prints goes to the console, as ours does."""

    def __init__(self) -> None:
        super().__init__(Instruments(HZ))
        self._server: subprocess.Popen[bytes] | None = None
        own: Mapping[str, Callable[..., object]] = {"start": self.start, "exit_code": self.exit_code, "stop": self.stop}
        self.operations = {**self.operations, **own}

    def start(self, command: list[str], folder: str, env: dict[str, str]) -> int:
        """Return its pid."""
        server = subprocess.Popen(
            command, cwd=folder, env={"PATH": PATHS, **env}, stdin=subprocess.DEVNULL, start_new_session=True
        )
        self._server = server
        # when memory runs out, the server is to go, and not what watches or loads it
        Path(f"/proc/{server.pid}/oom_score_adj").write_text("500", encoding="ascii")
        return server.pid

    def exit_code(self) -> int | None:
        """None while it runs."""
        return None if self._server is None else self._server.poll()

    def stop(self, grace_s: float) -> int | None:
        """Return its exit code; None when it had to be killed."""
        server = self._server
        if server is None or server.poll() is not None:
            return None if server is None else server.returncode
        server.terminate()
        try:
            return server.wait(grace_s)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
            return None


def limits() -> Limits:
    """Return the limits that `prepare` sets, for a plan that is made before a guest runs."""
    low, high = parse_range(SETTINGS["net/ipv4/ip_local_port_range"]) or (None, None)
    return Limits(nofile_hard=NOFILE, port_low=low, port_high=high, file_max=4 * NOFILE)


def prepare() -> None:
    """Bring loopback up, and set limits that are in nobody's way."""
    if refused := network.prepare_namespace(settings=SETTINGS):
        print("zoo guest: could not set", *refused, flush=True)
    socket.sethostname("guest")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, NOFILE))
    resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def main() -> None:
    """Never returns: the guest is ended from outside."""
    prepare()
    line = os.open(LINE, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    with os.fdopen(line, encoding="utf-8") as requests, os.fdopen(os.dup(line), "w", encoding="utf-8") as answers:
        print(READY, flush=True)
        serve(GuestAgent(), requests, answers)


if __name__ == "__main__":
    main()
