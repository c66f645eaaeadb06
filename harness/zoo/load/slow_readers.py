"""The generator of slow readers: clients that read nothing of a large response, and small requests next to them.

No load generator refuses to read, so `reader_program` does it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from zoo.load.execute import Executor, Job, LocalExecutor, Tick
from zoo.load.spec import LoadError

PROGRAM = Path(__file__).with_name("reader_program.py")
INSTALL = "is not installed. Install it: `apt-get install python3` (Debian, Ubuntu)"
MOST_S = 60.0
"""Time in which all readers must have connected."""


@dataclass(frozen=True)
class ReadersSpec:
    """The number of readers, the paths of the large and the small response, and times in seconds."""

    url: str
    large: str
    small: str
    readers: int
    duration_s: float
    patience_s: float


@dataclass(frozen=True)
class Probes:
    """The microseconds until each small response began; None if it did not begin in time."""

    took_us: list[int | None]
    cpu_s: float


class SlowReaders:
    """A generator that runs where the server can be reached. `host` is sent as Host header instead of the URL's."""

    def __init__(self, executor: Executor | None = None, host: str | None = None) -> None:
        self._executor = executor or LocalExecutor()
        self._host = host

    def pids(self) -> list[int]:
        return self._executor.pids()

    def run(self, spec: ReadersSpec, on_tick: Tick | None = None) -> Probes:
        at = urlsplit(spec.url)
        numbers = (spec.readers, spec.duration_s, spec.patience_s)
        words = [f"{at.hostname}:{at.port or 80}", self._host or at.netloc, spec.large, spec.small]
        limit_s = spec.duration_s + spec.patience_s + MOST_S
        job = Job(
            commands=[["python3", PROGRAM.name, *words, *map(str, numbers)]],
            window_s=limit_s,
            limit_s=limit_s,
            install=INSTALL,
            files={PROGRAM.name: PROGRAM.read_text(encoding="utf-8")},
        )
        done = self._executor.execute(job, on_tick)
        try:
            return Probes(json.loads(done.output), done.cpu_s)
        except ValueError as error:
            raise LoadError(
                "result_invalid", f"cannot use the results of slow readers: {error}", done.output
            ) from error
