"""Servers in a small virtual host with its own kernel and limits, together with generator and instruments.

Each start of a server boots a fresh guest, so a panic or a lack of memory affects only one cell. The log of a start is
the guest's console: the output of the server and the messages of the kernel.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zoo.core.errors import RuntimeFailure
from zoo.core.host_facts import HostFacts, Jdk, JdkFacts
from zoo.host import facts, run_lock
from zoo.host.files import read_text
from zoo.load.spec import LoadError
from zoo.runtime.agent.client import INT, INT_OR_NONE, AgentClient, AgentExecutor, AgentInstruments
from zoo.runtime.base import Launch
from zoo.runtime.environment import contract_variables
from zoo.runtime.process import command
from zoo.runtime.server import LaunchedServer
from zoo.runtime.vm import guest, machine
from zoo.runtime.vm.machine import FOLDER, GuestKernel, GuestMachine, VmError

PANIC = "Kernel panic"
TICK_S = 0.05
GUEST = ".guest"
"""The suffix of the files that a guest boots; they are removed once it is ready."""


@dataclass(frozen=True)
class Patience:
    """Time limits of each step, in seconds; an emulated processor is about twenty times slower than its host's."""

    boot: float = 600.0
    ready: float = 900.0
    answer: float = 120.0
    alive: float = 30.0
    times: float = 10.0  # factor for the time limits of the server's responses


class Guest:
    """A running guest: QEMU's process, its console's log, and the agent in it."""

    def __init__(self, child: subprocess.Popen[bytes], console: Path, patience: Patience) -> None:
        self._child = child
        self._console = console
        self.patience = patience
        self.agent = AgentClient(child, patience.answer, self.tail)

    def is_running(self) -> bool:
        return self._child.poll() is None

    def wait_for(self, line: str, timeout_s: float, fault: Callable[[], str | None]) -> None:
        """Wait until the console shows the line; raise `RuntimeFailure` if the guest ends, on a fault or a timeout."""
        started = time.monotonic()
        while line not in self._text():
            wrong = fault() if self.is_running() else "the guest ended"
            if wrong is None and time.monotonic() - started > timeout_s:
                wrong = f'no "{line}" within {timeout_s:.0f} s'
            if wrong is not None:
                raise RuntimeFailure("not_started", wrong, self.tail())
            time.sleep(TICK_S)

    def tail(self, lines: int = 20) -> str:
        """Return the console's last lines, preceded by the first line of a panic, whose trace may be longer."""
        printed = self._text().splitlines()
        panic = [line for line in printed[:-lines] if PANIC in line]
        return "\n".join([*panic[:1], *printed[-lines:]])

    def end(self) -> None:
        """Kill the guest; nothing in it is worth keeping."""
        self._child.kill()
        self._child.wait()
        self.agent.close()

    def _text(self) -> str:
        return read_text(self._console)


class HostedGuest(LaunchedServer):
    """A server in its guest."""

    def __init__(self, host: Guest, launch: Launch, slow: float) -> None:
        super().__init__(launch)
        self._host = host
        self.url, self.pid = f"http://127.0.0.1:{launch.entry.server.manifest.port}", 0
        self.instruments = AgentInstruments(host.agent, slow)
        self.load_by(AgentExecutor(host.agent), guest.OVERRUN_S)

    def start(self, words: Sequence[str], timeout_s: float) -> None:
        """Start the server and return once it listens; raise `RuntimeFailure` if it does not."""
        entry, started = self._launch.entry, time.monotonic()
        env = contract_variables(entry, self._launch.env, "127.0.0.1", str(entry.server.manifest.port))
        folder = str(entry.server.folder.resolve())
        self.pid = self._host.agent.call(INT, "start", command=words, folder=folder, env=env)
        self._host.wait_for(f"listening on {self.url} ({entry.id})", timeout_s, self._fault)
        self.ready_s = time.monotonic() - started

    def is_alive(self) -> bool:
        """Check whether the server runs; if the agent does not respond, check whether the guest runs."""
        try:
            return self._host.is_running() and self._exit_code() is None
        except LoadError:
            return self._host.is_running()

    def log_tail(self, lines: int = 20) -> str:
        return self._host.tail(lines)

    def stop(self, grace_s: float = 15.0) -> int | None:
        try:
            return self._host.agent.call(INT_OR_NONE, "stop", grace_s + self._host.patience.alive, grace_s=grace_s)
        except LoadError:
            return None
        finally:
            self._host.end()

    def _exit_code(self) -> int | None:
        return self._host.agent.call(INT_OR_NONE, "exit_code", self._host.patience.alive)

    def _fault(self) -> str | None:
        code = self._exit_code()
        return None if code is None else f"ended with exit code {code} before it listened"


@dataclass
class VmRuntime:
    """A runtime that starts entries in guests on this machine; `folder` has the files of a guest while it boots."""

    folder: Path
    kernel: GuestKernel
    machine: GuestMachine
    jdk: Jdk | None = None
    patience: Patience = Patience()
    name: str = "vm"

    def start(self, launch: Launch, ready_timeout_s: float | None = None) -> HostedGuest:
        words = command(launch.entry, self.jdk.java if self.jdk else None, launch.jvm_flags)
        host = self.boot(launch.log)
        hosted = HostedGuest(host, launch, self.patience.times if self.machine.accelerator == machine.TCG else 1.0)
        try:
            hosted.start(words, self.patience.ready if ready_timeout_s is None else ready_timeout_s)
        except LoadError as error:
            host.end()
            raise RuntimeFailure("not_started", error.message, error.output) from error
        except BaseException:
            host.end()
            raise
        return hosted

    def boot(self, console: Path) -> Guest:
        """Boot a guest and return it once its agent is ready; its boot files are then in its memory, and removed."""
        console.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=GUEST) as files:
            machine.write_boot_files(self.kernel, Path(files.name))
            with console.open("ab") as log:
                child = subprocess.Popen(
                    self.machine.command(self.kernel.image, Path(files.name), console),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,  # so that Ctrl-C does not reach it: the harness ends it
                )
            host = Guest(child, console, self.patience)
            try:
                host.wait_for(guest.READY, self.patience.boot, lambda: None)
            except BaseException:
                host.end()
                raise
        return host

    def facts(self) -> HostFacts:
        """Return the guest's facts, the tools and the JDK that it shares with this host, and its hypervisor."""
        with run_lock.scratch_folder("guest") as folder:
            host = self.boot(Path(folder) / "console.log")
            try:
                seen = AgentInstruments(host.agent).facts()
            finally:
                host.end()
        here = facts.gather(self.jdk)
        kind = "hardware virtualisation (KVM)" if self.machine.accelerator == machine.KVM else "emulated (TCG)"
        return seen.model_copy(
            update={
                "virtualization": f"QEMU {machine.qemu_version(self.machine.binary) or 'of unknown version'}, {kind}",
                "distribution": f"a guest made of the files of {here.distribution or here.system}",
                "container": False,  # the guest would detect one if this host's files are those of a container
                "tools": here.tools,
                "jdk": JdkFacts.of(self.jdk) if self.jdk else None,
            }
        )


def prepare(root: Path, accelerated_by: str, memory: str, jdk: Jdk | None) -> tuple[VmRuntime, HostFacts]:
    """Return the runtime and the facts of its guests; raise `VmError` if no guest boots."""
    folder = root / FOLDER
    for left in folder.glob(f"*{GUEST}"):  # left by a run that was killed while a guest booted
        left.unlink(missing_ok=True)
    kernel = machine.find_kernel(folder)
    runtime = VmRuntime(folder, kernel, GuestMachine(accelerated_by, memory, machine.cores()), jdk)
    try:
        seen = runtime.facts()
    except RuntimeFailure as failure:
        given = f"{memory} of memory (set VM_MEMORY= to change it)"
        message = f"the guest does not boot with {given}: {failure.message}\n{failure.log_tail}"
        raise VmError(message.rstrip()) from failure
    return runtime, seen
