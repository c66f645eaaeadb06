"""What the guest's first process is for the rest of its life: the agent, on the second serial line."""

from __future__ import annotations

import os
import subprocess
import tty
from collections.abc import Callable, Mapping
from pathlib import Path

from zoo.runtime.agent.serve import Agent, serve
from zoo.runtime.vm.init import PATHS
from zoo.sample.instruments import Instruments

READY = "zoo guest: ready"
LINE = "/dev/ttyS1"
OVERRUN_S = 300.0
"""An emulated processor opens a few hundred connections a second, and wrk ends no sooner than it has opened all."""

HZ = 2.0
"""The sampler is Python on the same slow processors."""


class GuestAgent(Agent):
    """An agent that also starts and ends the server. What the server prints goes to the console, as ours does."""

    def __init__(self) -> None:
        super().__init__(Instruments(HZ))
        self._server: subprocess.Popen[bytes] | None = None
        own: Mapping[str, Callable[..., object]] = {"start": self.start, "exit_code": self.exit_code, "stop": self.stop}
        self.operations = {**self.operations, **own}

    def start(self, command: list[str], folder: str, env: dict[str, str]) -> int:
        """Gives its pid."""
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
        """Its exit code; None when it had to be killed."""
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


def main() -> None:
    """Never returns: the guest is ended from outside."""
    line = os.open(LINE, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    with os.fdopen(line, encoding="utf-8") as requests, os.fdopen(os.dup(line), "w", encoding="utf-8") as answers:
        print(READY, flush=True)
        serve(GuestAgent(), requests, answers)


if __name__ == "__main__":
    main()
