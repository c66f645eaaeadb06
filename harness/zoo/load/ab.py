"""ApacheBench: a fixed number of requests over kept-alive HTTP/1.0 connections, as the first article used it.

ab writes percentiles to a file (`-e`, in microseconds; `-g` rounds to milliseconds). Its counts stand nowhere but in
its printed summary, as `Label: value` lines: each is read by its label, and a summary without one of them is an error.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from zoo.host import run_lock
from zoo.load.children import BusyThreads, Children, hard_nofile, program, run_briefly
from zoo.load.spec import LoadError

MISSING = "is not there. Install it: `make tools`, or `apt-get install apache2-utils` (Debian, Ubuntu)"
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
    command: list[str]

    @property
    def flawless(self) -> bool:
        """True when every request asked for was answered well."""
        bad = self.failed + self.write_errors + self.non_2xx
        return self.complete == self.requests and bad == 0


class Benchmarker(Protocol):
    """Runs ab where the server can be reached."""

    def run(self, spec: AbSpec, on_tick: Callable[[float], None] | None = None) -> AbOutcome: ...
    def pids(self) -> list[int]: ...


class LocalAb:
    """In this process's own namespaces."""

    def __init__(
        self,
        binary: str = "ab",
        limit_s: float = LIMIT_S,
        processors: Sequence[int] | None = None,
        host: str | None = None,
    ) -> None:
        """`host` is sent as the Host header in place of the URL's."""
        self._host = host
        self._processors = processors
        self._binary = binary
        self._limit_s = limit_s
        self._children: Children | None = None

    def version(self) -> str:
        printed = run_briefly([program(self._binary, MISSING), "-V"])
        found = re.search(r"Version (\S+)(?: <\$Revision: (\d+) \$>)?", printed.stdout)
        return ".r".join(part for part in found.groups() if part) if found else "unknown"

    def pids(self) -> list[int]:
        return self._children.pids() if self._children else []

    def run(self, spec: AbSpec, on_tick: Callable[[float], None] | None = None) -> AbOutcome:
        try:
            with (
                run_lock.scratch_folder("ab") as name,
                Children(hard_nofile(), BusyThreads(), self._processors) as children,
            ):
                self._children = children
                table, printed = Path(name) / "percentiles.csv", Path(name) / "printed"
                command = self._command(spec, table)
                children.start(command, {}, printed)
                children.follow(self._limit_s, self._limit_s, on_tick)
                return read_outcome(
                    printed.read_text(encoding="utf-8", errors="replace"),
                    table.read_text(encoding="utf-8") if table.exists() else "",
                    spec=spec,
                    cpu_s=children.cpu_s,
                    version=self.version(),
                    command=command,
                )
        finally:
            self._children = None

    def _command(self, spec: AbSpec, table: Path) -> list[str]:
        return [
            *(
                program(self._binary, MISSING),
                "-q",
                "-r",
            ),  # -r: a broken connection is counted, where ab would otherwise give up
            *(["-k"] if spec.keep_alive else []),
            *([f"-HHost: {self._host}"] if self._host else []),
            *(f"-n{spec.requests}", f"-c{spec.connections}", f"-s{spec.timeout_s}", f"-e{table}", spec.url),
        ]


def read_outcome(
    printed: str, percentiles: str, *, spec: AbSpec, cpu_s: float, version: str, command: list[str]
) -> AbOutcome:
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
            command=command,
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
