"""The ApacheBench generator: a fixed number of requests over HTTP/1.0 connections with keep-alive.

The first article used it like this. ab writes percentiles to a file (`-e`, in microseconds; `-g` rounds to
milliseconds). Its counts appear only in its printed summary, as `Label: value` lines. Each count is read by its label,
and a summary that lacks one of them is an error.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass

from zoo.core.trial_results import AbResult
from zoo.load.execute import Executor, Job, LocalExecutor, Tick
from zoo.load.spec import LoadError

PERCENTILES = "percentiles.csv"
INSTALL = "is not installed. Install it: `make tools`, or `apt-get install apache2-utils` (Debian, Ubuntu)"
LIMIT_S = 600.0
KINDS = re.compile(r"\(Connect: \d+, Receive: \d+, Length: \d+, Exceptions: \d+\)")


@dataclass(frozen=True)
class AbSpec:
    url: str  # with a path, because ab needs at least "/"
    requests: int
    connections: int
    keep_alive: bool = True
    timeout_s: int = 30  # maximum wait for a response


class Ab:
    """A generator that runs ab where the server can be reached. `host` is sent as Host header instead of the URL's."""

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

    def run(self, spec: AbSpec, on_tick: Tick | None = None) -> AbResult:
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
    """Return ab's options and the URL. With `-r`, ab counts a broken connection instead of giving up."""
    return [
        *("-q", "-r", *(["-k"] if spec.keep_alive else []), *([f"-HHost: {host}"] if host else [])),
        *(f"-n{spec.requests}", f"-c{spec.connections}", f"-s{spec.timeout_s}", f"-e{PERCENTILES}", spec.url),
    ]


def read_outcome(printed: str, percentiles: str, *, spec: AbSpec, cpu_s: float, version: str) -> AbResult:
    """Read the result from ab's summary and its CSV; raise `LoadError` if one of them is not as expected. Pure."""
    try:
        failed = int(_read_label(printed, "Failed requests"))
        if failed and not KINDS.search(printed):
            raise ValueError(f"ab reports {failed} failed requests without saying how they failed")
        complete = int(_read_label(printed, "Complete requests"))
        # printed only if there are any, and not included in the failed requests
        write_errors, non_2xx = (
            int(_read_label(printed, label, "0")) for label in ("Write errors", "Non-2xx responses")
        )
        return AbResult(
            requests=spec.requests,
            complete=complete,
            failed=failed,
            write_errors=write_errors,
            non_2xx=non_2xx,
            flawless=complete == spec.requests and not failed + write_errors + non_2xx,
            kept_alive=int(_read_label(printed, "Keep-Alive requests", None if spec.keep_alive else "0")),
            runtime_s=float(_read_label(printed, "Time taken for tests")),
            requests_per_s=float(_read_label(printed, "Requests per second")),
            percentiles_us=_percentiles(percentiles),
            cpu_s=cpu_s,
            version=version,
        )
    except ValueError as error:
        raise LoadError("result_invalid", f"cannot use ab's results: {error}", printed[-2000:]) from error


def _read_label(printed: str, label: str, otherwise: str | None = None) -> str:
    """Return the number after `label:`, or `otherwise` if there is none; raise ValueError if both are missing."""
    found = re.search(rf"^{re.escape(label)}: +([0-9.]+)", printed, re.MULTILINE)
    if found:
        return found[1]
    if otherwise is None:
        raise ValueError(f"ab printed no line `{label}:`")
    return otherwise


def _percentiles(table: str) -> list[int]:
    rows = list(csv.reader(table.splitlines()))[1:]
    if [row[0] for row in rows] != [str(percent) for percent in range(101)]:
        raise ValueError("ab's percentiles do not run from 0 to 100")
    return [round(float(row[1]) * 1000) for row in rows]
