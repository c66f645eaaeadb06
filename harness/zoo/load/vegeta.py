"""vegeta, for loads that wrk cannot make: a constant arrival rate, and every request with its own time.

Known from its sources (version 12, lib/attack.go and lib/pacer.go): request i is due (i + 1) / rate after the start; a
vegeta that falls behind sends the next one at once, and one that is still behind when the duration is over leaves out
what is missing. A result's time stamp is that of sending, before a connection is opened; its sequence number is i.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.load.execute import TOOLS, Executor, Job, LocalExecutor, Tick
from zoo.load.spec import LoadError
from zoo.model.samples import DESCRIPTORS, PORTS, Hits

BUILT = TOOLS / "vegeta"
RESERVED_FILES = 64  # descriptors of one process that are no connections, and connections that are just being closed
OVERRUN_S = 30.0
TARGETS = "targets"
INSTALL = "is not there. Build it: `make tools` (needs Go), or put a vegeta of version 12 on the PATH"

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

    hits: list[Hits]  # one for each process
    cpu_s: float  # of all processes
    version: str


class Vegeta:
    """Runs vegeta where the server can be reached. More connections than one process may open make more processes.

    `host` is sent as the Host header in place of the URL's.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        host: str | None = None,
        overrun_s: float = OVERRUN_S,
        binary: str = "vegeta",
        nofile: int | None = None,
    ) -> None:
        self._executor = executor or LocalExecutor()
        self._host = host
        self._overrun_s = overrun_s
        self._binary = binary
        self._nofile = nofile

    def version(self) -> str:
        found = re.search(
            r"Version:[ \t]*v?(\d+\.\d+\.\d+)", self._executor.printed([self._binary, "-version"], INSTALL)
        )
        return found[1] if found else "unknown"

    def pids(self) -> list[int]:
        return self._executor.pids()

    def run(self, attack: Attack, on_tick: Tick | None = None) -> Attacked:
        """Block until the last answer or timeout; `LoadError` when vegeta fails."""
        nofile = self._executor.nofile() if self._nofile is None else self._nofile
        count = processes(attack, nofile - RESERVED_FILES)
        tables = [f"{number}.csv" for number in range(count)]
        job = Job(
            commands=[[self._binary, *command(attack, count, number, self._host)] for number in range(count)],
            window_s=attack.duration_s,
            limit_s=attack.duration_s + attack.timeout_s + self._overrun_s,
            install=INSTALL,
            files={TARGETS: f"GET {attack.url}\n"},
            results=tables,
            convert={
                f"{number}.gob": [self._binary, "encode", "-to=csv", f"-output={table}", f"{number}.gob"]
                for number, table in enumerate(tables)
            },
        )
        done = self._executor.execute(job, on_tick)
        found = [read_hits(csv.reader(done.open(table))) for table in tables]
        return Attacked(aligned(found), done.cpu_s, self.version())


def command(attack: Attack, count: int = 1, number: int = 0, host: str | None = None) -> list[str]:
    """Return the options of one of so many processes."""
    workers = math.ceil(attack.under_way / count)
    return [
        *("attack", f"-targets={TARGETS}", f"-output={number}.gob"),
        f"-rate={attack.rate}/{count}s" if attack.rate else "-rate=0",
        *(f"-duration={attack.duration_s:g}s", f"-timeout={attack.timeout_s:g}s"),
        *([] if attack.rate else [f"-workers={workers}"]),  # all users at once, not one after the other
        *(f"-max-workers={workers}", f"-connections={workers}"),
        f"-keepalive={'true' if attack.keep_alive else 'false'}",
        *("-http2=false", "-redirects=-1", "-max-body=0"),
        *([f"-header=Host: {host}"] if host else []),
    ]


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
