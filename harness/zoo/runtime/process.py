"""Servers as plain child processes of the harness."""

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

from zoo.catalog.build import products_hash, project_of
from zoo.catalog.manifest import Entry
from zoo.host import run_lock
from zoo.host.facts import read_limits
from zoo.host.interrupts import defer_signals
from zoo.host.network import free_port
from zoo.host.processors import ALLOWED, cpu_affinity
from zoo.host.run_lock import run_mark
from zoo.load.execute import LocalExecutor
from zoo.model.errors import RuntimeFailure
from zoo.model.host import Jdk
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import noexec
from zoo.runtime.environment import of_process
from zoo.runtime.hosted import HostedChild
from zoo.sample import jcmd
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Info


def command(entry: Entry, java: Path | None, jvm_flags: tuple[str, ...] = ()) -> list[str]:
    """The start command of an entry with its placeholders filled in, to be run in the server's folder."""
    manifest = entry.server.manifest
    words: list[str] = []
    for word in manifest.run.command:
        if word == "{jvm_flags}":
            words += [*manifest.jvm.get("base", []), *jvm_flags]
        elif word == "{java}":
            if java is None:
                raise RuntimeFailure("no_jdk", f"{entry.id} needs a JDK, and none was given")
            words.append(str(java))
        else:
            words.append(word)
    return words


def start_command(launch: Launch, jdk: Jdk | None, tmp: str | None = None) -> list[str]:
    """The words that start it as a process, at the release that its settings name; a JVM ignores TMPDIR and HOME."""
    own = () if tmp is None else (f"-Djava.io.tmpdir={tmp}", f"-Duser.home={tmp}")
    flags = (*own, *launch.jvm_flags)
    return command(launch.entry.at(launch.env), jdk.java if jdk else None, flags)


def processors(launch: Launch) -> list[int]:
    """Those the server may use: its own or all, and of them the first when it may have but some."""
    own = launch.cores.server if launch.cores else sorted(ALLOWED)
    return own if launch.cpus is None else own[: int(launch.cpus)]


def spawn(argv: Sequence[str], folder: Path, env: Mapping[str, str], log: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own; `RuntimeFailure` when its command cannot be run.

    The command is found on the harness's PATH. The server gets `env` and the mark of this run.
    """
    program, *words = argv
    try:
        return subprocess.Popen(
            [shutil.which(program) or program, *words],
            cwd=folder,
            env={**env, **run_mark()},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise RuntimeFailure("not_started", f"{argv[0]}: {error.strerror}") from error


def command_line_here(info: Info) -> list[str] | None:
    """The words that a server's JVM on this host was started with."""
    return jcmd.command_line(info.pid)


def jcmd_here(info: Info, words: Sequence[str]) -> str | None:
    """What a server's JVM on this host answers to jcmd."""
    return jcmd.said(info.pid, *words)


class HostedProcess(HostedChild):
    """One server process, its log in a file of the run."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        launch: Launch,
        port: int,
        jdk: Jdk | None,
        tmp: tempfile.TemporaryDirectory[str],
    ) -> None:
        super().__init__(child, launch)
        self._tmp = tmp
        self._port = port
        self._jdk = jdk
        self.instruments = Instruments()
        self._load_by(LocalExecutor(launch.cores.generator if launch.cores else sorted(ALLOWED)))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        return self._child.pid

    def _command_line(self, info: Info) -> list[str] | None:
        return command_line_here(info)

    def _jcmd(self, info: Info, words: Sequence[str]) -> str | None:
        return jcmd_here(info, words)

    def _advice(self) -> str:
        return noexec(self._tmp.name)

    def thread_dump(self, to: Path) -> bool:
        if self._jdk is None:
            return False
        command = [str(self._jdk.home / "bin" / "jcmd"), str(self.pid), "Thread.dump_to_file", "-format=json", str(to)]
        try:
            return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

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
        """End it at once, with whatever it started and left in its temporary folder."""
        _kill(self._child)
        self._tmp.cleanup()


def _kill(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


class ProcessRuntime:
    """Starts servers in sessions of their own, so that a Ctrl-C reaches them only through the harness."""

    name = "process"

    def __init__(self, jdk: Jdk | None) -> None:
        self.jdk = jdk
        self._children: list[subprocess.Popen[bytes]] = []
        self._products: dict[str, str] = {}

    def close(self) -> None:
        """End what an interrupt left without an owner: between its start and who would have ended it."""
        for child in self._children:
            _kill(child)

    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> HostedProcess:
        self._check_product(launch)
        tmp = run_lock.scratch_folder("server")
        argv = start_command(launch, self.jdk, tmp.name)
        port = port_for(launch.entry)
        env = of_process(launch.entry, launch.env, str(port), tmp.name)
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        with launch.log.open("wb") as log, cpu_affinity(processors(launch)), defer_signals():
            child = spawn(argv, launch.entry.server.folder, env, log)
            self._children.append(child)
        hosted = HostedProcess(child, launch, port, self.jdk, tmp)
        try:
            hosted.wait_ready(started, ready_timeout_s)
        except BaseException:
            hosted.kill()
            raise
        return hosted

    def _check_product(self, launch: Launch) -> None:
        """`RuntimeFailure` when another program would be started than at first: the run's sources are not its own."""
        server = launch.entry.at(launch.env).server
        project = project_of(server, self.jdk)
        found = products_hash(project) if project else ""
        if self._products.setdefault(server.label, found) != found:
            raise RuntimeFailure("rebuilt", f"{server.label} was built again since this run began; start a new run")


def port_for(entry: Entry) -> int:
    """The server's own, else another: it may be taken by another program, or by a connection of the last cell."""
    preferred = entry.server.manifest.port
    limits = read_limits()
    port = free_port(preferred, limits.port_low)
    if port is None:
        raise RuntimeFailure("no_port", f"no free port from {preferred} to {limits.port_low}")
    return port
