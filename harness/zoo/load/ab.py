"""ApacheBench: a fixed number of requests over kept-alive HTTP/1.0 connections, as the first article used it.

ab writes percentiles to a file (`-e`, in microseconds; `-g` rounds to milliseconds). Its counts stand nowhere but in
its printed summary, as `Label: value` lines: each is read by its label, and a summary without one of them is an error.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from zoo.load.execute import Executor, Job, LocalExecutor, Tick
from zoo.load.spec import LoadError

PERCENTILES = "percentiles.csv"
INSTALL = "is not there. Install it: `make tools`, or `apt-get install apache2-utils` (Debian, Ubuntu)"
LIMIT_S = 600.0
KINDS = re.compile(r"\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\)")


@dataclass(frozen=True)
class AbSpec:
    url: str  # with a path: ab wants at least "/"
    requests: int
    connections: int
    keep_alive: bool = True
    timeout_s: int = 30  # without an answer


@dataclass(frozen=True)
class AbOutcome:
    """`failed` is the sum of ab's four kinds; bad statuses and failed writes are counted beside it, not in it."""

    requests: int  # asked for
    complete: int
    failed: int
    failed_connect: int
    failed_receive: int
    failed_length: int  # bodies not as long as the first one
    failed_exceptions: int
    write_errors: int
    non_2xx: int
    kept_alive: int  # requests on a connection that was used before or after
    bytes: int
    runtime_s: float
    requests_per_s: float
    percentiles_us: list[int]  # 0 to 100: the fastest, the percentiles, the slowest request
    connections: int
    cpu_s: float
    version: str

    @property
    def flawless(self) -> bool:
        """True when every request asked for was answered well."""
        bad = self.failed + self.write_errors + self.non_2xx
        return self.complete == self.requests and bad == 0


class Ab:
    """Runs ab where the server can be reached. `host` is sent as the Host header in place of the URL's."""

    def __init__(
        self, executor: Executor | None = None, host: str | None = None, limit_s: float = LIMIT_S, binary: str = "ab"
    ) -> None:
        self._executor = executor or LocalExecutor()
        self._host = host
        self._limit_s = limit_s
        self._binary = binary

    def version(self) -> str:
        printed = self._executor.printed([self._binary, "-V"], INSTALL)
        found = re.search(r"Version (\S+)(?: <\$Revision: (\d+) \$>)?", printed)
        return ".r".join(part for part in found.groups() if part) if found else "unknown"

    def pids(self) -> list[int]:
        return self._executor.pids()

    def run(self, spec: AbSpec, on_tick: Tick | None = None) -> AbOutcome:
        job = Job(
            commands=[[self._binary, *command(spec, self._host)]],
            window_s=self._limit_s,
            limit_s=self._limit_s,
            install=INSTALL,
            results=[PERCENTILES],
        )
        done = self._executor.execute(job, on_tick)
        table = done.open(PERCENTILES).read()
        return read_outcome(done.output, table, spec=spec, cpu_s=done.cpu_s, version=self.version())


def command(spec: AbSpec, host: str | None = None) -> list[str]:
    """Return ab's options and the URL. With `-r` it counts a broken connection instead of giving up."""
    return [
        *("-q", "-r", *(["-k"] if spec.keep_alive else []), *([f"-HHost: {host}"] if host else [])),
        *(f"-n{spec.requests}", f"-c{spec.connections}", f"-s{spec.timeout_s}", f"-e{PERCENTILES}", spec.url),
    ]


def read_outcome(printed: str, percentiles: str, *, spec: AbSpec, cpu_s: float, version: str) -> AbOutcome:
    """From ab's summary and its CSV; `LoadError` when one of them is not as expected. Pure."""
    try:
        failed = int(_labelled(printed, "Failed requests"))
        kinds = KINDS.search(printed)
        connect, receive, length, exceptions = (int(count) for count in kinds.groups()) if kinds else (0, 0, 0, 0)
        if failed and not kinds:
            raise ValueError(f"{failed} failed requests without their kinds")
        return AbOutcome(
            requests=spec.requests,
            complete=int(_labelled(printed, "Complete requests")),
            failed=failed,
            failed_connect=connect,
            failed_receive=receive,
            failed_length=length,
            failed_exceptions=exceptions,
            write_errors=int(_labelled(printed, "Write errors", "0")),  # printed only when there are some
            non_2xx=int(_labelled(printed, "Non-2xx responses", "0")),
            kept_alive=int(_labelled(printed, "Keep-Alive requests", None if spec.keep_alive else "0")),
            bytes=int(_labelled(printed, "Total transferred")),
            runtime_s=float(_labelled(printed, "Time taken for tests")),
            requests_per_s=float(_labelled(printed, "Requests per second")),
            percentiles_us=_percentiles(percentiles),
            connections=spec.connections,
            cpu_s=cpu_s,
            version=version,
        )
    except ValueError as error:
        raise LoadError("result_invalid", f"ab's results are not usable: {error}", printed[-2000:]) from error


def _labelled(printed: str, label: str, otherwise: str | None = None) -> str:
    """The number after `label:`."""
    found = re.search(rf"^{re.escape(label)}: +([0-9.]+)", printed, re.MULTILINE)
    if found:
        return found[1]
    if otherwise is None:
        raise ValueError(f"no line `{label}:`")
    return otherwise


def _percentiles(table: str) -> list[int]:
    rows = list(csv.reader(table.splitlines()))[1:]
    if [row[0] for row in rows] != [str(percent) for percent in range(101)]:
        raise ValueError("the percentiles are not those from 0 to 100")
    return [round(float(row[1]) * 1000) for row in rows]
