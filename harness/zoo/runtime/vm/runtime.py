"""Starts servers in a small virtual host with its own kernel and limits; generator and instruments are there too.

Each start of a server boots a fresh guest, so a panic or a lack of memory affects one cell. The log of a start is the
guest's console: what the server prints and what the kernel reports.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zoo.host import facts, run_lock
from zoo.load.ab import Ab
from zoo.load.base import Generator
from zoo.load.spec import LoadError
from zoo.load.vegeta import Vegeta
from zoo.load.wrk import Wrk
from zoo.model.errors import RuntimeFailure
from zoo.model.host import HostFacts, Jdk, JdkFacts
from zoo.runtime.agent.client import INT, INT_OR_NONE, AgentClient, AgentExecutor, AgentInstruments
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import Evidence, fault
from zoo.runtime.environment import of_contract
from zoo.runtime.process import command
from zoo.runtime.vm import guest, machine
from zoo.runtime.vm.machine import FOLDER, GuestKernel, GuestMachine, VmError
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Info

PANIC = "Kernel panic"
TICK_S = 0.05
GUEST = ".guest"
"""The suffix of the files that a guest boots; they are removed once it is ready."""


@dataclass(frozen=True)
class Patience:
    """Seconds that each step may take; an emulated processor is some twenty times slower than the one it runs on."""

    boot: float = 600.0
    ready: float = 900.0
    answer: float = 120.0
    alive: float = 30.0
    times: float = 10.0  # as long as elsewhere, for a server's own answers


class Guest:
    """A running guest: QEMU's process, its console's log, and the agent in it."""

    def __init__(self, child: subprocess.Popen[bytes], console: Path, patience: Patience) -> None:
        self._child = child
        self._console = console
        self.patience = patience
        self.agent = AgentClient(child, patience.answer, self.tail)

    def running(self) -> bool:
        return self._child.poll() is None

    def wait_for(self, line: str, timeout_s: float, fault: Callable[[], str | None]) -> None:
        """Wait until the console shows the line; `RuntimeFailure` for a guest that ends, a fault, or a timeout."""
        started = time.monotonic()
        while line not in self._text():
            wrong = fault() if self.running() else "the guest ended"
            if wrong is None and time.monotonic() - started > timeout_s:
                wrong = f'no "{line}" within {timeout_s:.0f} s'
            if wrong is not None:
                raise RuntimeFailure("not_started", wrong, self.tail())
            time.sleep(TICK_S)

    def tail(self, lines: int = 20) -> str:
        """Return the console's last lines, and the first line of a panic, whose trace may be longer."""
        printed = self._text().splitlines()
        panic = [line for line in printed[:-lines] if PANIC in line]
        return "\n".join([*panic[:1], *printed[-lines:]])

    def end(self) -> None:
        """Kill it; nothing in it is worth keeping."""
        self._child.kill()
        self._child.wait()
        self.agent.close()

    def _text(self) -> str:
        try:
            return self._console.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""


class HostedGuest:
    """A server in its guest."""

    home = "/"
    apart = None

    def __init__(self, host: Guest, launch: Launch, slow: float) -> None:
        self._host = host
        self._launch = launch
        self.url = f"http://127.0.0.1:{launch.entry.server.manifest.port}"
        self.pid = 0
        self.ready_s = 0.0
        self.instruments: Instruments = AgentInstruments(host.agent, slow)
        executor = AgentExecutor(host.agent)
        self.generator: Generator = Wrk(executor, overrun_s=guest.OVERRUN_S)
        self.attacker = Vegeta(executor)
        self.benchmarker = Ab(executor)

    def start(self, words: Sequence[str], timeout_s: float) -> None:
        """Return when the server listens; `RuntimeFailure` when it does not."""
        entry, started = self._launch.entry, time.monotonic()
        env = of_contract(entry, self._launch.env, "127.0.0.1", str(entry.server.manifest.port))
        folder = str(entry.server.folder.resolve())
        self.pid = self._host.agent.call(INT, "start", command=words, folder=folder, env=env)
        self._host.wait_for(f"listening on {self.url} ({entry.id})", timeout_s, self._fault)
        self.ready_s = time.monotonic() - started

    def probe(self) -> Info:
        info = self.instruments.probe(self.url, self._launch.entry)
        if wrong := fault(self._launch, Evidence(info)):
            raise RuntimeFailure("no_effect", wrong, self.log_tail())
        return info

    def alive(self) -> bool:
        """Return whether the server runs, or at least its guest where that does not answer."""
        try:
            return self._host.running() and self._exit_code() is None
        except LoadError:
            return self._host.running()

    def ended(self, when: str) -> RuntimeFailure:
        return RuntimeFailure("crashed", f"the server ended {when}", self.log_tail())

    def log_tail(self, lines: int = 20) -> str:
        return self._host.tail(lines)

    def thread_dump(self, to: Path) -> bool:
        """Dump nothing: tens of thousands of threads are too much for a serial line."""
        return False

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
    """Starts entries in guests of this machine; `folder` has the files of a guest while it boots."""

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
        """Return a guest whose agent is ready. Its first files are removed by then: they are in its memory."""
        console.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=GUEST) as files:
            machine.write_boot_files(self.kernel, Path(files.name))
            with console.open("ab") as log:
                child = subprocess.Popen(
                    self.machine.command(self.kernel.image, Path(files.name), console),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,  # out of Ctrl-C's reach: the harness ends it
                )
            host = Guest(child, console, self.patience)
            try:
                host.wait_for(guest.READY, self.patience.boot, lambda: None)
            except BaseException:
                host.end()
                raise
        return host

    def facts(self) -> HostFacts:
        """Return the guest's facts, the tools and the JDK it shares with this host, and what runs it."""
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
                "distribution": f"the zoo's own guest, made of {here.distribution or here.system}",
                "container": False,  # the files of this host may be those of a container
                "tools": here.tools,
                "jdk": JdkFacts.of(self.jdk) if self.jdk else None,
            }
        )


@contextmanager
def hosting(root: Path, accelerated_by: str, memory: str, jdk: Jdk | None) -> Iterator[tuple[VmRuntime, HostFacts]]:
    """Yield the runtime, and the facts of its guests."""
    folder = root / FOLDER
    for left in folder.glob(f"*{GUEST}"):  # of a run that was killed while a guest booted
        left.unlink(missing_ok=True)
    kernel = machine.find_kernel(folder)
    runtime = VmRuntime(folder, kernel, GuestMachine(accelerated_by, memory, machine.cores()), jdk)
    try:
        seen = runtime.facts()
    except RuntimeFailure as failure:
        given = f"{memory} of memory (VM_MEMORY= sets it)"
        message = f"the guest does not boot with {given}: {failure.message}\n{failure.log_tail}"
        raise VmError(message.rstrip()) from failure
    yield runtime, seen
