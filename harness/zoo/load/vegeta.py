"""The vegeta generator, for loads that wrk cannot make: a constant arrival rate, and a record of each request's time.

According to its sources (version 12, lib/attack.go and lib/pacer.go), request i is due (i + 1) / rate after the start.
If vegeta falls behind, it sends the next request immediately. If it is still behind at the end of the duration, it
omits the missing requests. A result's timestamp is the time of sending, before a connection is opened. Its sequence
number is i.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.core.samples import DESCRIPTORS, PORTS, Hits
from zoo.load.execute import TOOLS, Executor, Job, LocalExecutor, Tick
from zoo.load.spec import LoadError

BUILT = TOOLS / "vegeta"
RESERVED_FILES = 64  # a process's descriptors other than connections, and connections that are being closed
OVERRUN_S = 30.0
TARGETS = "targets"
INSTALL = "is not installed. Build it: `make tools` (needs Go), or put vegeta 12 on the PATH"

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
    """A load by vegeta.

    With a rate it follows the open model: this many requests per second, whatever the server does. Without one it
    follows the closed model: `connections` users, each of whom sends the next request after the response.
    """

    url: str
    duration_s: float
    timeout_s: float
    rate: int | None = None
    connections: int | None = None  # in the open model, the maximum number of requests in flight; None: no maximum
    keep_alive: bool = True

    @property
    def max_in_flight(self) -> int:
        """Return the maximum number of requests in flight."""
        if self.connections is not None:
            return self.connections
        if self.rate is None:
            raise LoadError("spec_invalid", "a load needs a rate or a number of connections")
        return max(1, math.ceil(self.rate * min(self.duration_s, self.timeout_s)))


@dataclass(frozen=True)
class AttackResult:
    """The result of one load."""

    hits: list[Hits]  # one per process
    cpu_s: float  # sum over all processes
    version: str
    convert_cpu_s: float = 0.0  # spent on the results after the load

    @property
    def total_cpu_s(self) -> float:
        """Return the CPU time of the load and of converting its results, in seconds."""
        return self.cpu_s + self.convert_cpu_s


class Vegeta:
    """A generator that runs vegeta where the server can be reached.

    It uses several processes if one may not open enough connections. `host` is sent as Host header instead of the
    URL's.
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

    def run(self, attack: Attack, on_tick: Tick | None = None) -> AttackResult:
        """Block until the last response or timeout; raise `LoadError` if vegeta fails."""
        nofile = self._executor.nofile() if self._nofile is None else self._nofile
        count = count_processes(attack, nofile - RESERVED_FILES)
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
        return AttackResult(align_hits(found), done.cpu_s, self.version(), done.convert_cpu_s)


def command(attack: Attack, count: int = 1, number: int = 0, host: str | None = None) -> list[str]:
    """Return the options of process `number` of `count`."""
    workers = math.ceil(attack.max_in_flight / count)
    return [
        *("attack", f"-targets={TARGETS}", f"-output={number}.gob"),
        f"-rate={attack.rate}/{count}s" if attack.rate else "-rate=0",
        *(f"-duration={attack.duration_s:g}s", f"-timeout={attack.timeout_s:g}s"),
        *([] if attack.rate else [f"-workers={workers}"]),  # starts all users at once, not one after the other
        *(f"-max-workers={workers}", f"-connections={workers}"),
        f"-keepalive={'true' if attack.keep_alive else 'false'}",
        *("-http2=false", "-redirects=-1", "-max-body=0"),
        *([f"-header=Host: {host}"] if host else []),
    ]


@dataclass(frozen=True)
class ProcessHits:
    """The hits of one process, and the time at which it sent its first request, in nanoseconds of the time of day."""

    first_ns: int
    hits: Hits


def count_processes(attack: Attack, capacity: int) -> int:
    """Return how many vegeta processes the load needs if each may open `capacity` connections."""
    if min(attack.max_in_flight, capacity, attack.duration_s, attack.timeout_s) <= 0 or attack.rate == 0:
        raise LoadError("spec_invalid", f"connections, rate and times must be above zero, got {attack}")
    return math.ceil(attack.max_in_flight / capacity)


def read_hits(rows: Iterable[list[str]]) -> ProcessHits | None:
    """Read the hits of one process from vegeta's CSV; None if there was no request.

    Its columns are timestamp in ns, status, latency in ns, bytes out and in, error, body, name, and sequence number.
    Raise `LoadError` for a gap in the sequence numbers, because a result was lost.
    """
    try:
        found = sorted((int(row[8]), int(row[0]), int(row[2]), classify_failure(int(row[1]), row[5])) for row in rows)
    except (IndexError, ValueError) as error:
        raise LoadError("result_invalid", f"cannot read vegeta's CSV: {error!r}") from error
    if [number for number, *_ in found] != list(range(len(found))):
        raise LoadError("result_invalid", "vegeta's results have missing or repeated sequence numbers")
    if not found:
        return None
    first_ns = min(sent for _, sent, _, _ in found)
    failed: dict[str, list[int]] = {}
    for number, _, _, kind in found:
        if kind:
            failed.setdefault(kind, []).append(number)
    sent = [(at - first_ns) // 1000 for _, at, _, _ in found]
    return ProcessHits(first_ns, Hits(sent, [took // 1000 for _, _, took, _ in found], failed))


def align_hits(found: list[ProcessHits | None]) -> list[Hits]:
    """Return the hits of all processes, timed from the very first request; processes without requests are left out."""
    timed = [one for one in found if one is not None]
    start_ns = min((one.first_ns for one in timed), default=0)
    shifts = [(one.first_ns - start_ns) // 1000 for one in timed]
    return [
        Hits([at + shift for at in one.hits.sent_us], one.hits.took_us, one.hits.failed)
        for one, shift in zip(timed, shifts, strict=True)
    ]


def classify_failure(status: int, error: str) -> str:
    """Return the kind of a failed request; empty for a good one. The contract's only good status is 200."""
    if status:
        return "" if status == 200 and not error else f"status {status}"
    return next((kind for words, kind in KINDS if words in error), "other")
