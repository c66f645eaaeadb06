"""What every runtime offers: start an entry, say how to load and watch it, stop it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo.catalog.manifest import Entry
from zoo.load.ab import AbOutcome, AbSpec
from zoo.load.base import Generator, Tool
from zoo.load.vegeta import Attack, Attacked
from zoo.model.errors import RuntimeFailure
from zoo.model.host import Cores, Jdk
from zoo.sample.instruments import Instruments
from zoo.sample.requests import Info


@dataclass(frozen=True)
class Launch:
    """One start of an entry: where its log goes, and what differs from the defaults.

    `cpus`: so many processors; `cores`: of these, where it has its own.
    """

    entry: Entry
    log: Path
    env: Mapping[str, str] = field(default_factory=dict)
    jvm_flags: tuple[str, ...] = ()
    cpus: float | None = None
    cores: Cores | None = None


@dataclass(frozen=True)
class Apart:
    """Processors that the generator has and the server has not; `elsewhere`: they are another host's."""

    processors: int
    elsewhere: bool = False


class Hosted(Protocol):
    """A started server."""

    @property
    def url(self) -> str:
        """Where the generator sends to."""
        ...

    @property
    def home(self) -> str:
        """The path of its plain answer."""
        ...

    @property
    def pid(self) -> int:
        """As the instruments know it; 0 where they do not."""
        ...

    @property
    def ready_s(self) -> float | None:
        """Seconds from start to the line that says it listens; None where something else started it."""
        ...

    @property
    def apart(self) -> Apart | None:
        """None where server and generator share their processors."""
        ...

    @property
    def instruments(self) -> Instruments: ...
    @property
    def generator(self) -> Generator: ...
    @property
    def attacker(self) -> Tool[Attack, Attacked]:
        """For loads that wrk cannot make."""
        ...

    @property
    def benchmarker(self) -> Tool[AbSpec, AbOutcome]: ...
    def probe(self) -> Info | None:
        """What it says of itself, if it does; `RuntimeFailure` of kind `contract` when it answers not as promised."""
        ...

    def alive(self) -> bool: ...
    def ended(self, when: str) -> RuntimeFailure:
        """What it means that it is not alive any more."""
        ...

    def log_tail(self, lines: int = 20) -> str: ...
    def thread_dump(self, to: Path) -> bool:
        """Have a JVM write all its threads, virtual ones too; false where that does not work."""
        ...

    def stop(self, grace_s: float = 15.0) -> int | None:
        """End it and give its exit code; None when it had to be killed."""
        ...


class Runtime(Protocol):
    """Starts entries; `jdk` is that of Java entries, None where the runtime brings its own."""

    name: str

    @property
    def jdk(self) -> Jdk | None: ...
    def start(self, launch: Launch, ready_timeout_s: float = 60.0) -> Hosted:
        """Returns when it listens; `RuntimeFailure` when it does not."""
        ...
