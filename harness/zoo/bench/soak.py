"""A soak: long loads of several servers at once, and readings between the loads that show whether a server grows."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from zoo.core.condition import Condition
from zoo.core.errors import RuntimeFailure
from zoo.core.manifest import Entry
from zoo.core.run import SoakSample
from zoo.load.spec import LoadError, LoadSpec
from zoo.runtime.base import HostedServer, Launch, Runtime
from zoo.sample import jcmd
from zoo.sample.proc import snapshot


@dataclass(frozen=True)
class Step:
    """A load of some seconds on new connections."""

    path: str
    connections: int


STEPS = (Step("/", 100), Step("/sleep?ms=20", 200), Step("/bytes?n=65536", 20), Step("/cpu?rounds=100", 20))
STEP_S = 5.0
PHASES = 12
"""Number of loads, each followed by a reading: one to warm up and eleven to compare."""

LEAST_MINUTES = PHASES * len(STEPS) * STEP_S / 60
REST_S = 2.0
"""Time for a server to close the connections that its clients have closed, in seconds."""

TIMEOUT_S = 30.0
"""Request timeout in seconds. So many servers share the cores that a response may take seconds."""

OnReading = Callable[[int, Mapping[str, SoakSample], Mapping[str, str]], None]
"""A callback after each reading, with its number (from 1), the marks by entry, and the reasons of ended servers."""


def seconds(minutes: float) -> float:
    """Return about how many seconds a soak takes, including rests and readings."""
    return 60 * minutes + PHASES * (REST_S + 3)


@contextmanager
def running_servers(
    runtime: Runtime, entries: list[Entry], condition: Condition, logs: Path
) -> Iterator[dict[str, HostedServer]]:
    """Start all entries, yield the servers by entry, and stop them at the end.

    Raise `RuntimeFailure` if one does not start.
    """
    with ExitStack() as stack:
        servers: dict[str, HostedServer] = {}
        for entry in entries:
            log = logs / f"{entry.id.replace(':', '-')}.log"
            launch = Launch(entry, log, entry.settings_of(condition.env), tuple(condition.jvm_flags))
            servers[entry.id] = runtime.start(launch)
            stack.callback(servers[entry.id].stop)
            servers[entry.id].probe()
        yield servers


def soak(servers: Mapping[str, HostedServer], minutes: float, on_reading: OnReading) -> None:
    """Load all servers at once for this long in total. A server that ends is reported, and the others continue."""
    started = time.monotonic()
    failures: dict[str, str] = {}
    for phase in range(1, PHASES + 1):
        left = {name: server for name, server in servers.items() if name not in failures}
        counted = _run_phase(left, 60 * minutes / PHASES, failures)
        time.sleep(REST_S)
        marks = {}
        for name, (requests, errors) in counted.items():
            try:
                marks[name] = _read_mark(left[name], time.monotonic() - started, requests, errors)
            except ProcessLookupError:
                failures[name] = left[name].exit_failure("at rest").message
        on_reading(phase, marks, failures)


def _run_phase(
    servers: Mapping[str, HostedServer], seconds: float, failures: dict[str, str]
) -> dict[str, tuple[int, int]]:
    """Load all servers at once, return the requests and errors of each, and add a failure's reason to `failures`."""
    over = Event()
    until = time.monotonic() + seconds
    counted = {}
    with ThreadPoolExecutor(max(1, len(servers))) as pool:
        try:
            loads = {name: pool.submit(_load, server, until, over) for name, server in servers.items()}
            for name, load in loads.items():
                try:
                    counted[name] = load.result()
                except (LoadError, RuntimeFailure) as error:
                    failures[name] = str(error)
        finally:
            over.set()  # stops the loads that still run after an interrupt
    return counted


def _load(server: HostedServer, until: float, over: Event) -> tuple[int, int]:
    """Repeat the steps in order until `until`, each at least once, and return their requests and errors."""
    requests = errors = 0
    for done, step in enumerate(itertools.cycle(STEPS)):
        if over.is_set() or (done >= len(STEPS) and time.monotonic() >= until):
            break
        spec = LoadSpec(server.url + step.path, step.connections, STEP_S, TIMEOUT_S, threads=1)
        outcome = server.generator.run(spec)
        if not server.is_alive():
            raise server.exit_failure("under load")
        requests, errors = requests + outcome.requests, errors + outcome.errors.total
    return requests, errors


def _read_mark(server: HostedServer, at_s: float, requests: int, errors: int) -> SoakSample:
    """Read a server at rest, after a full collection if it is a JVM. Raise ProcessLookupError if it has ended."""
    collected = jcmd.run_jcmd(server.pid, "GC.run") is not None
    info = server.instruments.info(server.url)
    seen = snapshot(server.pid)
    return SoakSample(
        at_s=round(at_s, 1),
        requests=requests,
        errors=errors,
        rss_kb=seen.rss_kb,
        threads=seen.threads,
        descriptors=len(list(Path(f"/proc/{server.pid}/fd").iterdir())),
        heap_kb=info.heap_used // 1024 if collected and info and info.heap_used is not None else None,
    )
