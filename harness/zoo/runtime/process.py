"""Servers as child processes of the harness."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from zoo.core.errors import RuntimeFailure
from zoo.core.host_facts import Jdk
from zoo.core.interrupts import defer_signals
from zoo.core.manifest import Entry
from zoo.host import run_lock
from zoo.host.build import products_hash, project_of
from zoo.host.facts import read_limits
from zoo.host.network import free_port
from zoo.host.processors import ALLOWED, cpu_affinity
from zoo.host.run_lock import run_mark
from zoo.load.execute import LocalExecutor
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import noexec_advice
from zoo.runtime.environment import process_variables
from zoo.runtime.server import HostedChild
from zoo.sample import jcmd
from zoo.sample.instruments import Instruments


def command(entry: Entry, java: Path | None, jvm_flags: tuple[str, ...] = ()) -> list[str]:
    """Return the start command of an entry with its placeholders filled in; it must run in the server's folder."""
    manifest = entry.server.manifest
    words: list[str] = []
    for word in manifest.run.command:
        if word == "{jvm_flags}":
            words += [*manifest.base_flags, *jvm_flags]
        elif word == "{java}":
            if java is None:
                raise RuntimeFailure("no_jdk", f"{entry.id} needs a JDK, and none was found: set JAVA_HOME")
            words.append(str(java))
        else:
            words.append(word)
    return words


def start_command(launch: Launch, jdk: Jdk | None, tmp: str | None = None) -> list[str]:
    """Return the command that starts an entry as a process, at the release that its settings name.

    Flags set the JVM's temporary and home folders, because it ignores TMPDIR and HOME.
    """
    own = () if tmp is None else (f"-Djava.io.tmpdir={tmp}", f"-Duser.home={tmp}")
    flags = (*own, *launch.jvm_flags)
    return command(launch.entry.with_release(launch.env), jdk.java if jdk else None, flags)


def processors(launch: Launch) -> list[int]:
    """Return the processors that the server may use: its own or all, and only the first `cpus` if that is set."""
    own = launch.cores.server if launch.cores else sorted(ALLOWED)
    return own if launch.cpus is None else own[: int(launch.cpus)]


def spawn(
    argv: Sequence[str], folder: Path, env: Mapping[str, str], log: IO[bytes], stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start a server in its own process group; raise `RuntimeFailure` if its command cannot be run.

    The command is looked up on the harness's PATH. The server gets `env` and the mark of this run. It stays in the
    session of the harness and the generator: Linux may divide the processors between sessions (autogroup), which
    costs context switches and doubles some latencies where server and generator share cores.
    """
    program, *words = argv
    try:
        return subprocess.Popen(
            [shutil.which(program) or program, *words],
            cwd=folder,
            env={**env, **run_mark()},
            stdin=stdin,
            stdout=log,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
    except OSError as error:
        raise RuntimeFailure("not_started", f"{argv[0]}: {error.strerror}") from error


class HostedProcess(HostedChild):
    """A server process whose log is a file of the run."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        launch: Launch,
        port: int,
        tmp: tempfile.TemporaryDirectory[str],
    ) -> None:
        super().__init__(child, launch)
        self._tmp = tmp
        self.url, self.pid = f"http://127.0.0.1:{port}", child.pid
        self.instruments = Instruments()
        self.load_by(LocalExecutor(launch.cores.generator if launch.cores else sorted(ALLOWED)))

    def _command_line(self, pid: int) -> list[str] | None:
        return jcmd.command_line(pid)

    def _jcmd(self, pid: int, *words: str) -> str | None:
        return jcmd.run_jcmd(pid, *words)

    def _advice(self) -> str:
        return noexec_advice(self._tmp.name)

    def thread_dump(self, to: Path) -> bool:
        return self._jcmd(self.pid, "Thread.dump_to_file", "-format=json", str(to)) is not None

    def stop(self, grace_s: float = 15.0) -> int | None:
        if self._child.poll() is None:
            self._child.terminate()
            try:
                self._child.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill()
                return None
            except BaseException:
                self.kill()
                raise
        self._tmp.cleanup()
        return self._child.returncode

    def kill(self) -> None:
        """Kill the server and the processes it started, and remove its temporary folder."""
        kill_group(self._child)
        self._tmp.cleanup()


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill a child and the processes that it started in its process group."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


class ProcessRuntime:
    """A runtime that starts each server in its own process group, so that Ctrl-C reaches only the harness."""

    name = "process"

    def __init__(self, jdk: Jdk | None) -> None:
        self.jdk = jdk
        self._children: list[subprocess.Popen[bytes]] = []
        self._products: dict[str, str] = {}

    def close(self) -> None:
        """Kill servers that an interrupt left running between their start and the code that would have stopped them."""
        for child in self._children:
            kill_group(child)

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> HostedProcess:
        self._check_product(launch)
        tmp = run_lock.scratch_folder("server")
        argv = start_command(launch, self.jdk, tmp.name)
        port = port_for(launch.entry)
        env = process_variables(launch.entry, launch.env, str(port), tmp.name)
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        with launch.log.open("wb") as log, cpu_affinity(processors(launch)), defer_signals():
            child = spawn(argv, launch.entry.server.folder, env, log)
            self._children.append(child)
        hosted = HostedProcess(child, launch, port, tmp)
        try:
            hosted.wait_ready(started, ready_timeout_s)
        except BaseException:
            hosted.kill()
            raise
        return hosted

    def _check_product(self, launch: Launch) -> None:
        """Raise `RuntimeFailure` if the server's program has changed since its first start in this run.

        The run's source hash would no longer match the program.
        """
        server = launch.entry.with_release(launch.env).server
        project = project_of(server, self.jdk)
        found = products_hash(project) if project else ""
        if self._products.setdefault(server.label, found) != found:
            raise RuntimeFailure("rebuilt", f"{server.label} was rebuilt after this run began: start a new run")


def port_for(entry: Entry) -> int:
    """Return the server's own port, or another if it is in use.

    Another program may use it, or a connection of the previous cell.
    """
    preferred = entry.server.manifest.port
    limits = read_limits()
    port = free_port(preferred, limits.port_low)
    if port is None:
        raise RuntimeFailure(
            "no_port", f"no port from {preferred} to {limits.port_low} is free: stop the programs that use them"
        )
    return port
