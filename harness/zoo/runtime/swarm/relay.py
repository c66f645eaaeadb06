"""An agent on another node, which no engine here can attach to: it connects to a relay next to the manager.

The relay listens on its own port of the manager's address, accepts one connection, and forwards the data in both
directions. Both sides present the run's own certificate, so nobody else can use an agent or pose as one.
"""

from __future__ import annotations

import base64
import re
import subprocess
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import IO

from zoo.host.engine import EngineError
from zoo.runtime.agent.client import AgentClient

SECRET = "zoo-certificate"
"""The file name of the service secret with the certificate and its key."""

CERTIFY = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=zoo"),
    *("-not_before", "20200101000000Z", "-not_after", "20991231235959Z", "-keyout", "-", "-out", "-"),
)
"""The command that prints a certificate and its key.

Its dates are far apart, because the clocks of hosts may differ and the certificate is discarded after the run.
"""

KEEPALIVE = "keepalive,keepidle=4,keepintvl=2,keepcnt=4"
"""Keep-alive options of socat: a peer whose host disappears silently counts as lost after 12 s."""

RELAY = (
    'read -r pem && echo "$pem" | base64 -d > /tmp/pem && exec socat -d -d -t5 '
    f'"OPENSSL-LISTEN:0,bind=$0,cert=/tmp/pem,cafile=/tmp/pem,verify=1,{KEEPALIVE}" STDIO'
)
"""The script of a relay, for `sh -c` with the address as its first argument.

The first line that it reads is the base64-encoded output of `CERTIFY`.
"""

START_S = 60.0
"""Seconds that a relay may take to listen, and that its agent may then take to connect."""


def agent_command(address: str, port: int) -> tuple[str, ...]:
    """Return the command of an agent that connects to the relay at this address and port."""
    file = f"/run/secrets/{SECRET}"
    peer = f"OPENSSL:{address}:{port},cert={file},cafile={file},verify=1,commonname=zoo,{KEEPALIVE}"
    return ("socat", "-t5", peer, "EXEC:python3 -m zoo.runtime.agent.serve")


class Relay:
    """A relay's process: its port, and whether its agent has connected. Its warnings and errors go to `errors`."""

    def __init__(self, child: subprocess.Popen[bytes], pem: str, errors: int | IO[bytes]) -> None:
        assert child.stdin is not None
        self.child = child
        self._log = None if isinstance(errors, int) else Path(errors.name)
        self._port: Future[int] = Future()
        self._connected = threading.Event()
        child.stdin.write(base64.b64encode(pem.encode()) + b"\n")
        child.stdin.flush()
        threading.Thread(target=self._read, name="relay", daemon=True).start()

    def port(self) -> int:
        """Return the port that the relay listens on; `EngineError` has its last line if it ends before it listens."""
        try:
            return self._port.result(START_S)
        except FutureTimeout:
            raise EngineError(f"a relay for agents did not listen within {START_S:.0f} s") from None

    def wait(self, fault: Callable[[], str | None]) -> None:
        """Wait until the agent has connected.

        Raise `EngineError` if it takes too long, or if `fault` returns why it never will.
        """
        deadline = time.monotonic() + START_S
        while not self._connected.wait(0.2):
            reason = fault() or (None if self.child.poll() is None else "its relay has ended")
            if reason or time.monotonic() > deadline:
                raise EngineError(reason or f"it did not call back within {START_S:.0f} s")

    def _read(self) -> None:
        assert self.child.stderr is not None
        last = "it printed nothing"
        for line in self.child.stderr:
            last = line.decode(errors="replace").strip()
            found = re.search(r" listening on AF=\d+ \S*:(\d+)$", last)
            if found and not self._port.done():
                self._port.set_result(int(found[1]))
            elif "starting data transfer loop" in last:
                self._connected.set()
            elif self._log and not re.search(r" [NI] ", last):
                with self._log.open("ab") as log:
                    log.write(line)
        if not self._port.done():
            self._port.set_exception(EngineError(f"a relay for agents did not listen: {last}"))


class DialledAgent(AgentClient):
    """An agent that connected to a relay; closing it also removes its service."""

    def __init__(self, relay: Relay, remove: Callable[[], None]) -> None:
        super().__init__(relay.child)
        self.relay = relay
        self._remove = remove

    def close(self) -> None:
        super().close()
        self._remove()
