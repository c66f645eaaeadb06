"""vegeta, for loads that wrk cannot make: a constant arrival rate, and every request with its own time.

Known from its sources (version 12, lib/attack.go and lib/pacer.go): request i is due (i + 1) / rate after the start; a
vegeta that falls behind sends the next one at once, and one that is still behind when the duration is over leaves out
what is missing. A result's time stamp is that of sending, before a connection is opened; its sequence number is i.
Needs no library.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zoo import ROOT
from zoo.host import run_lock
from zoo.load.children import BusyThreads, Children, hard_nofile, program, run_briefly
from zoo.load.spec import LoadError
from zoo.model.hits import DESCRIPTORS, PORTS, Hits

BUILT = ROOT / ".tools" / "bin" / "vegeta"
RESERVED_FILES = 64  # descriptors of one process that are no connections, and connections that are just being closed
OVERRUN_S = 30.0
ENCODE_S = 300.0
MISSING = "is not there. Build it: `make tools` (needs Go), or put a vegeta of version 12 on the PATH"

KINDS = (
    ("too many open files", DESCRIPTORS),
    ("address already in use", PORTS),
    ("cannot assign requested address", PORTS),
    ("Client.Timeout", "timeout"),
    ("deadline exceeded", "timeout"),
    ("i/o timeout", "timeout"),
    ("connection refused", "refused"),
    ("connection reset", "reset"),
    ("broken pipe", "reset"),
    ("EOF", "closed"),
    ("server closed", "closed"),
)


@dataclass(frozen=True)
class Attack:
    """With a rate the open model: so many requests a second, whatever the server does. Without one the closed model:
    `connections` users, each of whom sends again when the answer is there."""

    url: str
    duration_s: float
    timeout_s: float
    rate: int | None = None
    connections: int | None = None  # open model: at most so many requests under way; None: no such bound
    keep_alive: bool = True

    @property
    def under_way(self) -> int:
        """The most requests that can be under way at once."""
        if self.connections is not None:
            return self.connections
        if self.rate is None:
            raise LoadError("spec_invalid", "a load needs a rate or a number of connections")
        return max(1, math.ceil(self.rate * min(self.duration_s, self.timeout_s)))


@dataclass(frozen=True)
class Attacked:
    """What one load gave."""

    hits: list[Hits]  # one a process
    cpu_s: float  # of all processes
    version: str
    commands: list[list[str]]


class Attacker(Protocol):
    """Runs a load where the server can be reached."""

    def run(self, attack: Attack, on_tick: Callable[[float], None] | None = None) -> Attacked:
        """Blocks until the last answer or timeout; `LoadError` when vegeta fails. No process outlives the call."""
        ...

    def pids(self) -> list[int]: ...


class LocalVegeta:
    """In this process's own namespaces. More connections than one process may open make more processes."""

    def __init__(
        self,
        binary: str | None = None,
        nofile: int | None = None,
        overrun_s: float = OVERRUN_S,
        processors: Sequence[int] | None = None,
        host: str | None = None,
    ) -> None:
        """`host` is sent as the Host header in place of the URL's."""
        self._host = host
        self._processors = processors
        self._binary = binary or (str(BUILT) if BUILT.exists() else "vegeta")
        self._nofile = hard_nofile() if nofile is None else nofile
        self._overrun_s = overrun_s
        self._children: Children | None = None

    def version(self) -> str:
        printed = run_briefly([program(self._binary, MISSING), "-version"])
        found = re.search(r"Version:[ \t]*v?(\d+\.\d+\.\d+)", printed.stdout)
        return found[1] if found else "unknown"

    def pids(self) -> list[int]:
        return self._children.pids() if self._children else []

    def run(self, attack: Attack, on_tick: Callable[[float], None] | None = None) -> Attacked:
        count = processes(attack, self._nofile - RESERVED_FILES)
        limit_s = attack.duration_s + attack.timeout_s + self._overrun_s
        try:
            with (
                run_lock.scratch_folder("vegeta") as name,
                Children(self._nofile, BusyThreads(), self._processors) as children,
            ):
                self._children = children
                folder = Path(name)
                (folder / "targets").write_text(f"GET {attack.url}\n", encoding="utf-8")
                commands = [self._command(attack, count, folder, i) for i in range(count)]
                for i, command in enumerate(commands):
                    children.start(command, {}, folder / f"{i}.out")
                children.follow(attack.duration_s, limit_s, on_tick)
                found = [read_hits(self._rows(folder / f"{i}.gob")) for i in range(count)]
                return Attacked(aligned(found), children.cpu_s, self.version(), commands)
        finally:
            self._children = None

    def _command(self, attack: Attack, count: int, folder: Path, number: int) -> list[str]:
        workers = math.ceil(attack.under_way / count)
        return [
            *(
                program(self._binary, MISSING),
                "attack",
                f"-targets={folder / 'targets'}",
                f"-output={folder / f'{number}.gob'}",
            ),
            f"-rate={attack.rate}/{count}s" if attack.rate else "-rate=0",
            *(f"-duration={attack.duration_s:g}s", f"-timeout={attack.timeout_s:g}s"),
            *([] if attack.rate else [f"-workers={workers}"]),  # all users at once, not one after the other
            *(f"-max-workers={workers}", f"-connections={workers}"),
            f"-keepalive={'true' if attack.keep_alive else 'false'}",
            *("-http2=false", "-redirects=-1", "-max-body=0"),
            *([f"-header=Host: {self._host}"] if self._host else []),
        ]

    def _rows(self, gob: Path) -> Iterator[list[str]]:
        if not gob.stat().st_size:
            return
        table = gob.with_suffix(".csv")
        encode = [program(self._binary, MISSING), "encode", "-to=csv", f"-output={table}", str(gob)]
        done = run_briefly(encode, ENCODE_S)
        if done.returncode:
            raise LoadError("generator_failed", "vegeta cannot read what it wrote", done.stderr[-2000:])
        with table.open(encoding="utf-8", newline="") as stream:
            yield from csv.reader(stream)


@dataclass(frozen=True)
class Timed:
    """The hits of one process, and when its first request was sent, in nanoseconds of the clock on the wall."""

    first_ns: int
    hits: Hits


def processes(attack: Attack, capacity: int) -> int:
    """How many vegeta processes the load needs when one may open `capacity` connections."""
    if min(attack.under_way, capacity, attack.duration_s, attack.timeout_s) <= 0 or attack.rate == 0:
        raise LoadError("spec_invalid", f"connections, rate and times must be above zero: {attack}")
    return math.ceil(attack.under_way / capacity)


def read_hits(rows: Iterable[list[str]]) -> Timed | None:
    """From vegeta's CSV: time stamp in ns, status, latency in ns, bytes out and in, error, body, name, sequence number.

    None without any request. A gap in the sequence is no data: a result was lost.
    """
    try:
        found = sorted((int(row[8]), int(row[0]), int(row[2]), failure(int(row[1]), row[5])) for row in rows)
    except (IndexError, ValueError) as error:
        raise LoadError("result_invalid", f"vegeta's CSV is not as expected: {error!r}") from error
    if [number for number, *_ in found] != list(range(len(found))):
        raise LoadError("result_invalid", "vegeta's results have a gap or a double in their sequence numbers")
    if not found:
        return None
    first_ns = min(sent for _, sent, _, _ in found)
    failed: dict[str, list[int]] = {}
    for number, _, _, kind in found:
        if kind:
            failed.setdefault(kind, []).append(number)
    sent = [(at - first_ns) // 1000 for _, at, _, _ in found]
    return Timed(first_ns, Hits(sent, [took // 1000 for _, _, took, _ in found], failed))


def aligned(found: list[Timed | None]) -> list[Hits]:
    """All processes on one clock, from the first request of any; processes without a request are left out."""
    timed = [one for one in found if one is not None]
    start_ns = min((one.first_ns for one in timed), default=0)
    shifts = [(one.first_ns - start_ns) // 1000 for one in timed]
    return [
        Hits([at + shift for at in one.hits.sent_us], one.hits.took_us, one.hits.failed)
        for one, shift in zip(timed, shifts, strict=True)
    ]


def failure(status: int, error: str) -> str:
    """The kind of a failed request; empty for a good one. The contract's only good status is 200."""
    if status:
        return "" if status == 200 and not error else f"status {status}"
    return next((kind for words, kind in KINDS if words in error), "other")
