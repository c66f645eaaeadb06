"""The interface of every runtime: start an entry, provide its load generators and instruments, and stop it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.core.errors import RuntimeFailure
from zoo.core.host_facts import Cores, Jdk
from zoo.core.manifest import Entry
from zoo.core.trial_results import AbResult
from zoo.load.ab import Ab, AbSpec
from zoo.load.base import Generator, Tool
from zoo.load.execute import Executor
from zoo.load.slow_readers import Probes, ReadersSpec, SlowReaders
from zoo.load.vegeta import Attack, AttackResult, Vegeta
from zoo.load.wrk import OVERRUN_S, Wrk
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Info


@dataclass(frozen=True)
class Launch:
    """One start of an entry: the path of its log, and everything that differs from the defaults.

    `cpus` is the number of processors that the server may use. `cores` says which processors belong to the server
    and which to the generator; None if both share all of them.
    """

    entry: Entry
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: tuple[str, ...] = ()
    cpus: float | None = None
    cores: Cores | None = None


@dataclass(frozen=True)
class GeneratorProcessors:
    """Processors that only the generator uses; `elsewhere` is true if they belong to another host."""

    processors: int
    elsewhere: bool = False


class HostedServer(ABC):
    """A started server.

    `url` is the address that the generator sends to, and `home` is the path of the plain response. `pid` is the
    server's process as the instruments see it, or 0 if they cannot see it. `ready_s` is the time in seconds from the
    start to the line that says the server listens; None if something else started the server. `apart` is None if the
    server and the generator share their processors. `attacker` makes loads that wrk cannot make.
    """

    url: str
    home = "/"
    pid: int
    ready_s: float | None = None
    generator_processors: GeneratorProcessors | None = None
    instruments: Instruments
    generator: Generator
    attacker: Tool[Attack, AttackResult]
    benchmarker: Tool[AbSpec, AbResult]
    slow_readers: Tool[ReadersSpec, Probes]

    def load_by(self, executor: Executor, overrun_s: float = OVERRUN_S) -> None:
        """Run the generators through this executor; wrk may take `overrun_s` longer than its load."""
        self.generator = Wrk(executor, overrun_s=overrun_s)
        self.attacker, self.benchmarker, self.slow_readers = Vegeta(executor), Ab(executor), SlowReaders(executor)

    @abstractmethod
    def probe(self) -> Info | None:
        """Return the server's `/info`, or None if it has none.

        Raise `RuntimeFailure` of kind `contract` if a response violates the contract.
        """

    @abstractmethod
    def is_alive(self) -> bool: ...

    @abstractmethod
    def stop(self, grace_s: float = 15.0) -> int | None:
        """Stop the server and return its exit code; None if it had to be killed."""

    def exit_failure(self, when: str) -> RuntimeFailure:
        """Return the failure that explains why the server is no longer alive."""
        return RuntimeFailure("crashed", f"the server ended {when}", self.log_tail())

    def log_tail(self, lines: int = 20) -> str:
        return ""

    def thread_dump(self, to: Path) -> bool:
        """Make the JVM write all its threads to a file, including virtual ones; return False if that fails."""
        return False


class Runtime(Protocol):
    """A way to start entries. `jdk` runs the Java entries; it is None if the runtime brings its own."""

    name: str

    @property
    def jdk(self) -> Jdk | None: ...
    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> HostedServer:
        """Start an entry and return once it listens; raise `RuntimeFailure` if it does not."""
        ...
