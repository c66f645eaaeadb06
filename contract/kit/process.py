"""Servers in plain processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kit.paths import CONTRACT
from kit.ports import free_port
from kit.server import LOW_NOFILE, Environment, Runtime, Server, ServerFailed
from kit.targets import Target
from zoo.host import run_lock
from zoo.host.environment import base_environment
from zoo.host.run_lock import run_mark

LAUNCH = (sys.executable, "-I", "-S", str(CONTRACT / "kit" / "launch.py"))


class ProcessServer(Server):
    """Server in a process; `PORT` and `VARIANT` are set unless `env` overrides them."""

    host = "127.0.0.1"

    def __init__(
        self,
        target: Target,
        port: int,
        env: Environment | None = None,
        low_nofile: bool = False,
        within: Sequence[str] = (),
    ) -> None:
        """Start the process; `within` is a command prefix that starts it in another environment."""
        missing = [str(made) for made in target.makes if not made.exists()]
        if missing:
            raise ServerFailed(f"{target.server} is not built, missing: {', '.join(missing)}")
        super().__init__(target, port)
        # whatever a killed server leaves behind is removed with this folder
        self._tmp = run_lock.scratch_folder("contract")
        own = {**target.env, "VARIANT": target.variant, "PORT": str(port)}
        passed_on = {name: os.environ[name] for name in target.passed_on if name in os.environ}
        full = {**base_environment(self._tmp.name), **run_mark(), **passed_on, **own, **(env or {})}
        program, *words = target.argv()
        if Path(program).name == "java":  # Java ignores TMPDIR
            words[:0] = [f"-Djava.io.tmpdir={full['TMPDIR']}", f"-Duser.home={full['HOME']}"]
        self._child = subprocess.Popen(
            [*LAUNCH, str(LOW_NOFILE) if low_nofile else "-", *within, program, *words],
            cwd=target.folder,
            env={name: value for name, value in full.items() if value is not None},
            stdin=subprocess.DEVNULL,
            stdout=self.output.stdout_file,
            stderr=self.output.stderr_file,
            start_new_session=True,
        )

    @property
    def own_pid(self) -> int:
        return self._child.pid

    @property
    def host_pid(self) -> int:
        return self.own_pid

    def exit_code(self) -> int | None:
        return self._child.poll()

    def signal(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def proc(self, file: str) -> str:
        return Path(f"/proc/{self._child.pid}/{file}").read_text(encoding="utf-8")

    def turns_away(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=0.2).close()
        except ConnectionRefusedError:
            return True
        except (ConnectionResetError, TimeoutError):
            return False
        return False

    def close(self) -> None:
        """Kill the server and whatever it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self._tmp.cleanup()
        self.output.close()

    def _end(self, patience: float) -> int | None:
        try:
            return self._child.wait(patience)
        except subprocess.TimeoutExpired:
            return None


class ProcessRuntime(Runtime):
    """Runtime that starts the command of an entry's manifest."""

    name = "process"

    def prepare(self, targets: list[Target]) -> None:
        """Do nothing, because each start reports what is missing."""

    @contextmanager
    def start(
        self, target: Target, env: Environment | None = None, low_nofile: bool = False
    ) -> Iterator[ProcessServer]:
        with free_port() as port, ProcessServer(target, port, env, low_nofile) as server:
            yield server

    @contextmanager
    def start_on_taken_port(self, target: Target) -> Iterator[ProcessServer]:
        with free_port() as port, socket.socket() as holder:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", port))
            holder.listen()
            with ProcessServer(target, port) as server:
                yield server

    def temporary(self, folder: Path) -> dict[str, str]:
        return {"TMPDIR": str(folder)}

    def finish(self) -> list[str]:
        """Return nothing, because processes die with the suite (see `launch.py`)."""
        return []
