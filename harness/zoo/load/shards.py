"""wrk's processes where the server can be reached: on this host, or wherever the agent runs. Needs no library."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zoo import ROOT
from zoo.host import run_lock
from zoo.load.children import BusyThreads, Children, hard_nofile, program, run_briefly, tail
from zoo.load.spec import LoadError, LoadSpec

SCRIPT = ROOT / "wrk-scripts" / "report.lua"
OVERRUN_S = 60.0  # wrk stops within 0.1 s, but not before its threads have opened all their connections
MISSING = "is not there. Install it: `apt-get install wrk` (Debian, Ubuntu), or build https://github.com/wg/wrk"


@dataclass(frozen=True)
class Shard:
    """One wrk process's part of the load."""

    connections: int
    threads: int  # divides the connections: wrk opens only threads * (connections // threads)


@dataclass(frozen=True)
class Place:
    """A host's part of a load; `shards` by their places in it, `began_s` after the first host."""

    host: str
    shards: list[int]
    cpu_s: float
    busiest_thread: float
    began_s: float
    round_trip_us: float
    bandwidth_mb_s: float


@dataclass(frozen=True)
class Ran:
    """What the processes of one load left, in the order of the shards."""

    reports: list[str]  # the script's JSON; empty where there is none
    outputs: list[str]  # the last lines printed
    commands: list[list[str]]
    cpu_s: float  # user and system time
    busiest_thread: float  # share of a core
    began_s: float  # by the clock where they ran, which never goes back
    places: list[Place] = field(default_factory=list)  # where there are hosts beside this one


class Shards(Protocol):
    """Runs wrk's processes side by side."""

    @property
    def places(self) -> int:
        """Hosts, each of which has a process at least."""
        ...

    def version(self) -> str: ...
    def nofile(self) -> int:
        """The hard limit of descriptors of one process."""
        ...

    def run(
        self, spec: LoadSpec, shards: list[Shard], nofile: int, on_tick: Callable[[float], None] | None = None
    ) -> Ran:
        """Blocks until all have ended; `LoadError` when one fails. None outlives the call."""
        ...

    def pids(self) -> list[int]: ...


class LocalShards:
    """In this process's own namespaces."""

    places = 1

    def __init__(
        self,
        binary: str = "wrk",
        script: Path = SCRIPT,
        overrun_s: float = OVERRUN_S,
        options: tuple[str, ...] = (),
        processors: Sequence[int] | None = None,
    ) -> None:
        self._processors = processors
        self._binary = binary
        self._options = options
        self._script = script
        self._overrun_s = overrun_s
        self._version: str | None = None
        self._children: Children | None = None

    def version(self) -> str:
        if self._version is None:
            # -v alone also prints the usage and ends with code 1
            printed = run_briefly([program(self._binary, MISSING), "-v"])
            if not printed.stdout.strip():
                raise LoadError("generator_failed", f"`{self._binary} -v` prints nothing", printed.stderr[:500])
            self._version = parse_version(printed.stdout)
        return self._version

    def nofile(self) -> int:
        return hard_nofile()

    def run(
        self, spec: LoadSpec, shards: list[Shard], nofile: int, on_tick: Callable[[float], None] | None = None
    ) -> Ran:
        commands = [self._command(spec, shard) for shard in shards]
        busy = BusyThreads()
        duration_s = math.ceil(spec.duration_s)
        began_s = time.monotonic()
        try:
            with (
                run_lock.scratch_folder("wrk") as name,
                Children(nofile, busy, self._processors) as children,
            ):
                self._children = children
                folder = Path(name)
                for i, command in enumerate(commands):
                    environment = {
                        "ZOO_WRK_JSON": str(folder / f"{i}.json"),
                        "ZOO_WRK_ADDRESSES": ",".join(_turned(spec.addresses, sum(s.threads for s in shards[:i]))),
                        **({"ZOO_WRK_CENSUS": "1"} if spec.census else {}),
                    }
                    children.start(command, environment, folder / f"{i}.out")
                children.follow(duration_s, duration_s + self._overrun_s, on_tick)
                return Ran(
                    reports=[_text(folder / f"{i}.json") for i in range(len(shards))],
                    outputs=[tail(folder / f"{i}.out") for i in range(len(shards))],
                    commands=commands,
                    cpu_s=children.cpu_s,
                    busiest_thread=busy.busiest(),
                    began_s=began_s,
                )
        finally:
            self._children = None

    def pids(self) -> list[int]:
        return self._children.pids() if self._children else []

    def _command(self, spec: LoadSpec, shard: Shard) -> list[str]:
        return [
            program(self._binary, MISSING),
            f"-t{shard.threads}",
            f"-c{shard.connections}",
            f"-d{math.ceil(spec.duration_s)}s",
            f"--timeout={spec.timeout_whole_s}s",
            f"-s{self._script}",
            *self._options,
            spec.url,
        ]


def parse_version(printed: str) -> str:
    """Return wrk's release; the commit of a build without one, or `unknown` where wrk prints neither."""
    found = re.search(r"wrk \D*(\d+\.\d+(?:\.\d+)?)", printed) or re.search(r"wrk ([^\s\[]+) \[", printed)
    return found[1] if found else "unknown"


def _turned(addresses: tuple[str, ...], by: int) -> tuple[str, ...]:
    """So that the threads of all shards take turns, not those of each for itself."""
    start = by % max(1, len(addresses))
    return addresses[start:] + addresses[:start]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
