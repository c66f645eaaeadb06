"""An agent that no engine here can attach to: it calls back, and a relay beside the manager passes on what both say.

The relay listens on the manager's address, at a port of its own, and takes one caller. Both show the run's own
certificate: nobody else can ask an agent for anything, or answer for one.
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
"""The file of a service's secrets that holds certificate and key."""

CERTIFY = (
    *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=zoo"),
    *("-not_before", "20200101000000Z", "-not_after", "20991231235959Z", "-keyout", "-", "-out", "-"),
)
"""Prints them. It has no dates to speak of: it ends with its run, and clocks of hosts may differ."""

LOST = "keepalive,keepidle=4,keepintvl=2,keepcnt=4"
"""A peer whose host is gone says nothing: after 12 s it counts as lost."""

RELAY = (
    'read -r pem && echo "$pem" | base64 -d > /tmp/pem && exec socat -d -d -t5 '
    f'"OPENSSL-LISTEN:0,bind=$0,cert=/tmp/pem,cafile=/tmp/pem,verify=1,{LOST}" STDIO'
)
"""For `sh -c`, with the address as its first argument; the first line that it reads is what `CERTIFY` printed."""

START_S = 60.0
"""How long a relay may take to listen, and then its agent to call."""


def call_back(address: str, port: int) -> tuple[str, ...]:
    """The command of an agent that a relay waits for there."""
    file = f"/run/secrets/{SECRET}"
    peer = f"OPENSSL:{address}:{port},cert={file},cafile={file},verify=1,commonname=zoo,{LOST}"
    return ("socat", "-t5", peer, "EXEC:python3 -m zoo.runtime.agent.serve")


class Relay:
    """A relay's process: which port it got, and whether its agent has called; what goes wrong is told in `errors`."""

    def __init__(self, child: subprocess.Popen[bytes], pem: str, errors: int | IO[bytes]) -> None:
        assert child.stdin is not None
        self.child = child
        self._log = None if isinstance(errors, int) else Path(errors.name)
        self._port: Future[int] = Future()
        self._called = threading.Event()
        child.stdin.write(base64.b64encode(pem.encode()) + b"\n")
        child.stdin.flush()
        threading.Thread(target=self._read, name="relay", daemon=True).start()

    def port(self) -> int:
        """`EngineError` with its last line when it ends before it listens."""
        try:
            return self._port.result(START_S)
        except FutureTimeout:
            raise EngineError(f"a relay for agents did not listen within {START_S:.0f} s") from None

    def wait(self, fault: Callable[[], str | None]) -> None:
        """Until the agent has called; `EngineError` when it does not, or when `fault` says that it never will."""
        deadline = time.monotonic() + START_S
        while not self._called.wait(0.2):
            told = fault() or (None if self.child.poll() is None else "its relay has ended")
            if told or time.monotonic() > deadline:
                raise EngineError(told or f"it did not call back within {START_S:.0f} s")

    def _read(self) -> None:
        assert self.child.stderr is not None
        last = "it said nothing"
        for line in self.child.stderr:
            last = line.decode(errors="replace").strip()
            found = re.search(r" listening on AF=\d+ \S*:(\d+)$", last)
            if found and not self._port.done():
                self._port.set_result(int(found[1]))
            elif "starting data transfer loop" in last:
                self._called.set()
            elif self._log and not re.search(r" [NI] ", last):
                with self._log.open("ab") as log:
                    log.write(line)
        if not self._port.done():
            self._port.set_exception(EngineError(f"a relay for agents did not listen: {last}"))


class DialledAgent(AgentClient):
    """Ends what runs it when it is closed."""

    def __init__(self, relay: Relay, remove: Callable[[], None]) -> None:
        super().__init__(relay.child)
        self.relay = relay
        self._remove = remove

    def close(self) -> None:
        super().close()
        self._remove()
