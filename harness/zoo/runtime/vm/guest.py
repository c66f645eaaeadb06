"""The guest's first process: raises the kernel's limits, then runs the agent on the second serial line."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import tty
from collections.abc import Callable, Mapping
from pathlib import Path

from zoo.core.host_facts import Limits
from zoo.host import network
from zoo.host.environment import PATHS
from zoo.host.facts import parse_range
from zoo.runtime.agent.serve import Agent, serve
from zoo.sample.instruments import Instruments

READY = "zoo guest: ready"
LINE = "/dev/ttyS1"
OVERRUN_S = 300.0
"""Seconds that wrk may take longer than its load.

An emulated processor opens only a few hundred connections per second, and wrk does not end before it has opened all.
"""

HZ = 2.0
"""Samples per second; few, because the sampler is Python on the same slow processors."""

NOFILE = 1_048_576
SETTINGS = {
    **network.NAMESPACE_SETTINGS,
    "fs/nr_open": str(NOFILE),
    "fs/file-max": str(4 * NOFILE),
    "kernel/pid_max": "4194304",
    "kernel/threads-max": "400000",
    "vm/max_map_count": "1048576",
    # wrk allocates 8 bytes per microsecond of its timeout, and uses few of them
    "vm/overcommit_memory": "1",
    # 2 means always: while more than half of a backlog is full, the kernel drops a handshake after 7 s. A server
    # here may need a minute to accept all connections. SYN cookies take no space in the backlog
    "net/ipv4/tcp_syncookies": "2",
}


class GuestAgent(Agent):
    """An agent that also starts and stops the server. The server's output goes to the console, like the agent's."""

    def __init__(self) -> None:
        super().__init__(Instruments(HZ))
        self._server: subprocess.Popen[bytes] | None = None
        own: Mapping[str, Callable[..., object]] = {"start": self.start, "exit_code": self.exit_code, "stop": self.stop}
        self.operations = {**self.operations, **own}

    def start(self, command: list[str], folder: str, env: dict[str, str]) -> int:
        """Start the server and return its pid."""
        server = subprocess.Popen(
            command, cwd=folder, env={"PATH": PATHS, **env}, stdin=subprocess.DEVNULL, start_new_session=True
        )
        self._server = server
        # when memory runs out, the kernel should kill the server, not the agent or the generator
        Path(f"/proc/{server.pid}/oom_score_adj").write_text("500", encoding="ascii")
        return server.pid

    def exit_code(self) -> int | None:
        """Return the server's exit code; None while it runs."""
        return None if self._server is None else self._server.poll()

    def stop(self, grace_s: float) -> int | None:
        """Stop the server and return its exit code; None if it had to be killed."""
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
    """Return the limits that `prepare` sets, for a plan made before a guest runs."""
    low, high = parse_range(SETTINGS["net/ipv4/ip_local_port_range"]) or (None, None)
    return Limits(nofile_hard=NOFILE, port_low=low, port_high=high, file_max=4 * NOFILE)


def prepare() -> None:
    """Bring loopback up, and raise the limits so that none of them restricts a run."""
    if failed := network.prepare_namespace(settings=SETTINGS):
        print("zoo guest: could not set", *failed, flush=True)
    socket.sethostname("guest")
    resource.setrlimit(resource.RLIMIT_NOFILE, (1_024, NOFILE))
    resource.setrlimit(resource.RLIMIT_NPROC, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def main() -> None:
    """Prepare the guest and serve the agent forever; the guest is killed from outside."""
    prepare()
    line = os.open(LINE, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    with os.fdopen(line, encoding="utf-8") as requests, os.fdopen(os.dup(line), "w", encoding="utf-8") as answers:
        print(READY, flush=True)
        serve(GuestAgent(), requests, answers)


if __name__ == "__main__":
    main()
