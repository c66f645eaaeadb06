"""Servers in a small virtual host with a kernel and limits of its own; generator and instruments are there too.

Each start of a server boots a fresh guest, so one that panics or runs out of memory takes nothing along. The log of a
start is the guest's console: what the server prints, and what the kernel has to say.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.catalog.manifest import Entry, Server
from zoo.host import facts, scratch
from zoo.load.ab import Ab
from zoo.load.base import Generator
from zoo.load.spec import LoadError
from zoo.load.vegeta import Vegeta
from zoo.load.wrk import Wrk
from zoo.model.errors import RuntimeFailure
from zoo.model.host import HostFacts, JdkFacts
from zoo.model.jdk import Jdk
from zoo.runtime.agent.client import INT, INT_OR_NONE, AgentClient, AgentExecutor, AgentInstruments
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import Evidence, fault
from zoo.runtime.environment import of_contract
from zoo.runtime.process import command
from zoo.runtime.vm import guest, image, kernel, qemu
from zoo.runtime.vm.qemu import GuestMachine
from zoo.runtime.vm.settings import FOLDER, VmError
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Info

PANIC = "Kernel panic"
TICK_S = 0.05
GUEST = ".guest"
"""How the files of a guest end that is being booted."""


@dataclass(frozen=True)
class Patience:
    """Seconds that each step may take; an emulated processor is some twenty times slower than the one it runs on."""

    boot: float = 600.0
    ready: float = 900.0
    answer: float = 120.0
    alive: float = 30.0
    times: float = 10.0  # as long as elsewhere, for a server's own answers


class Files(Protocol):
    """What a guest boots."""

    @property
    def kernel(self) -> kernel.GuestKernel: ...
    @property
    def folder(self) -> Path: ...
    def parts(self, server: Server | None) -> Sequence[Path]:
        """Archives that follow one another; made here when they are not there."""
        ...


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
        """Until the console shows it; `RuntimeFailure` when the guest ends, there is a fault, or it takes too long."""
        started = time.monotonic()
        while line not in self._text():
            wrong = fault() if self.running() else "the guest ended"
            if wrong is None and time.monotonic() - started > timeout_s:
                wrong = f'no "{line}" within {timeout_s:.0f} s'
            if wrong is not None:
                raise RuntimeFailure("not_started", wrong, self.tail())
            time.sleep(TICK_S)

    def tail(self, lines: int = 20) -> str:
        """The console's last lines; of a panic also its first, as a trace may be longer."""
        told = self._text().splitlines()
        panic = [line for line in told[:-lines] if PANIC in line]
        return "\n".join([*panic[:1], *told[-lines:]])

    def end(self) -> None:
        """At once; nothing in it is worth keeping."""
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
        self._pid = 0
        self._ready_s = 0.0
        self.instruments: Instruments = AgentInstruments(host.agent, slow)
        executor = AgentExecutor(host.agent)
        self.generator: Generator = Wrk(executor, overrun_s=guest.OVERRUN_S)
        self.attacker = Vegeta(executor)
        self.benchmarker = Ab(executor)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._launch.entry.server.manifest.port}"

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def ready_s(self) -> float:
        return self._ready_s

    def start(self, words: Sequence[str], timeout_s: float) -> None:
        """Return when the server listens; `RuntimeFailure` when it does not."""
        entry, started = self._launch.entry, time.monotonic()
        env = of_contract(entry, self._launch.env, "127.0.0.1", str(entry.server.manifest.port))
        folder = image.folder_of(entry.server)
        self._pid = self._host.agent.call(INT, "start", command=words, folder=folder, env=env)
        self._host.wait_for(f"listening on {self.url} ({entry.id})", timeout_s, self._fault)
        self._ready_s = time.monotonic() - started

    def probe(self) -> Info:
        info = self.instruments.probe(self.url, self._launch.entry)
        if wrong := fault(self._launch, Evidence(info)):
            raise RuntimeFailure("no_effect", wrong, self.log_tail())
        return info

    def alive(self) -> bool:
        """Of a guest that does not answer nothing else is known than that it runs."""
        try:
            return self._host.running() and self._exit_code() is None
        except LoadError:
            return self._host.running()

    def ended(self, when: str) -> RuntimeFailure:
        return RuntimeFailure("crashed", f"the server ended {when}", self.log_tail())

    def log_tail(self, lines: int = 20) -> str:
        return self._host.tail(lines)

    def thread_dump(self, to: Path) -> bool:
        """A dump of tens of thousands of threads is too much for a serial line."""
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
    """Starts entries in guests of this machine; `broken` has the servers whose files could not be put together."""

    files: Files
    machine: GuestMachine
    jdk: Jdk | None = None
    patience: Patience = Patience()
    broken: dict[str, str] = field(default_factory=dict)
    name: str = "vm"
    _parts: dict[str | None, Sequence[Path]] = field(default_factory=dict)

    def build(self, servers: Sequence[Server]) -> None:
        """A server that lacks something fails its cells, not the run; what changes later is not in its guests."""
        self._parts[None] = self.files.parts(None)
        for server in servers:
            try:
                self._parts[server.name] = self.files.parts(server)
            except (image.ImageError, OSError) as error:
                self.broken[server.name] = str(error)

    def start(self, launch: Launch, ready_timeout_s: float | None = None) -> HostedGuest:
        entry = launch.entry
        if entry.server.name in self.broken:
            raise RuntimeFailure("no_image", "its files could not be put together", self.broken[entry.server.name])
        words = command(entry, Path(image.JAVA), launch.jvm_flags)
        host = self.boot(entry.server, launch.log)
        hosted = HostedGuest(host, launch, self.patience.times if self.machine.accelerator == qemu.TCG else 1.0)
        try:
            hosted.start(words, self.patience.ready if ready_timeout_s is None else ready_timeout_s)
        except LoadError as error:
            host.end()
            raise RuntimeFailure("not_started", error.message, error.output) from error
        except BaseException:
            host.end()
            raise
        return hosted

    def boot(self, server: Server | None, console: Path) -> Guest:
        """A guest whose agent is ready. Its files are gone again by then: they are in its memory."""
        console.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.files.folder, suffix=GUEST) as files:
            for part in self._parts[server.name if server else None]:
                with part.open("rb") as archive:
                    shutil.copyfileobj(archive, files)
            files.flush()
            with console.open("ab") as log:
                child = subprocess.Popen(
                    self.machine.command(self.files.kernel.image, Path(files.name), console),
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
        """The guest, with what it cannot know: the tools and the JDK it was made of, and what runs it."""
        with scratch.folder("guest") as folder:
            host = self.boot(None, Path(folder) / "console.log")
            try:
                seen = AgentInstruments(host.agent).facts()
            finally:
                host.end()
        here = facts.gather(self.jdk)
        kind = "hardware virtualisation (KVM)" if self.machine.accelerator == qemu.KVM else "emulated (TCG)"
        return seen.model_copy(
            update={
                "virtualization": f"QEMU {qemu.version(self.machine.binary) or 'of unknown version'}, {kind}",
                "distribution": f"the zoo's own guest, made of {here.distribution or here.system}",
                "tools": here.tools,
                "jdk": JdkFacts.of(self.jdk) if self.jdk else None,
            }
        )


@contextmanager
def hosting(
    root: Path, accelerated_by: str, memory: str, jdk: Jdk | None, entries: Sequence[Entry]
) -> Iterator[tuple[VmRuntime, HostFacts]]:
    """The runtime with the files of these entries ready, and what is known of its guests."""
    folder = root / FOLDER
    for left in folder.glob(f"*{GUEST}"):  # of a run that was killed while a guest booted
        left.unlink(missing_ok=True)
    try:
        files = image.Images(root, folder, kernel.kernel(folder / "kernel"), jdk)
        runtime = VmRuntime(files, GuestMachine(accelerated_by, memory, qemu.cores()), jdk)
        runtime.build(list({e.server.name: e.server for e in entries}.values()))
        seen = runtime.facts()
    except (image.ImageError, kernel.KernelError) as error:
        raise VmError(str(error)) from None
    except RuntimeFailure as failure:
        raise VmError(f"the guest does not boot: {failure.message}\n{failure.log_tail}") from failure
    yield runtime, seen
