"""Loads servers for a long time, all at once, and looks at each between the loads: does it grow?"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from zoo.catalog.manifest import Entry
from zoo.load.spec import LoadError, LoadSpec
from zoo.model.condition import Condition
from zoo.model.errors import RuntimeFailure
from zoo.model.run import Mark
from zoo.runtime.base import Hosted, Launch, Runtime
from zoo.sample import jcmd
from zoo.sample.proc import snapshot


@dataclass(frozen=True)
class Step:
    """A load of some seconds whose connections are opened anew."""

    path: str
    connections: int


STEPS = (Step("/", 100), Step("/sleep?ms=20", 200), Step("/bytes?n=65536", 20), Step("/cpu?rounds=100", 20))
STEP_S = 5.0
PHASES = 12
"""Loads, each with a look after it: one that warms up, and eleven to compare."""

LEAST_MINUTES = PHASES * len(STEPS) * STEP_S / 60
REST_S = 2.0
"""For a server to close what its clients have closed."""

TIMEOUT_S = 30.0
"""Of a request: so many servers share the cores that an answer may take seconds."""

OnLook = Callable[[int, Mapping[str, Mark], Mapping[str, str]], None]
"""Called after each look, with its number from 1, what was seen by entry, and who has ended and why."""


def seconds(minutes: float) -> float:
    """About how long it takes in all: rests and looks beside the load."""
    return 60 * minutes + PHASES * (REST_S + 3)


@contextmanager
def started(runtime: Runtime, entries: list[Entry], condition: Condition, logs: Path) -> Iterator[dict[str, Hosted]]:
    """All of them running, by entry; ended with the context. `RuntimeFailure` when one does not start."""
    with ExitStack() as stack:
        servers: dict[str, Hosted] = {}
        for entry in entries:
            log = logs / f"{entry.id.replace(':', '-')}.log"
            launch = Launch(entry, log, entry.settings_of(condition.env), tuple(condition.jvm_flags))
            servers[entry.id] = runtime.start(launch)
            stack.callback(servers[entry.id].stop)
            servers[entry.id].probe()
        yield servers


def soak(servers: Mapping[str, Hosted], minutes: float, told: OnLook) -> None:
    """Load all of them at once for so long in all. One that ends is told of, and the others go on."""
    begun = time.monotonic()
    ended: dict[str, str] = {}
    for phase in range(1, PHASES + 1):
        left = {name: server for name, server in servers.items() if name not in ended}
        counted = _phase(left, 60 * minutes / PHASES, ended)
        time.sleep(REST_S)
        marks = {}
        for name, (requests, errors) in counted.items():
            try:
                marks[name] = _mark(left[name], time.monotonic() - begun, requests, errors)
            except ProcessLookupError:
                ended[name] = left[name].ended("at rest").message
        told(phase, marks, ended)


def _phase(servers: Mapping[str, Hosted], seconds: float, ended: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Requests and errors of each server, loaded all at once; of one that fails, `ended` then says why."""
    over = Event()
    until = time.monotonic() + seconds
    counted = {}
    with ThreadPoolExecutor(max(1, len(servers))) as pool:
        try:
            loads = {name: pool.submit(_loaded, server, until, over) for name, server in servers.items()}
            for name, load in loads.items():
                try:
                    counted[name] = load.result()
                except (LoadError, RuntimeFailure) as error:
                    ended[name] = str(error)
        finally:
            over.set()  # for those that an interrupt leaves behind
    return counted


def _loaded(server: Hosted, until: float, over: Event) -> tuple[int, int]:
    """Requests and errors of the steps, in turn until then, and all of them once."""
    requests = errors = 0
    for done, step in enumerate(itertools.cycle(STEPS)):
        if over.is_set() or (done >= len(STEPS) and time.monotonic() >= until):
            break
        spec = LoadSpec(server.url + step.path, step.connections, STEP_S, TIMEOUT_S, threads=1)
        outcome = server.generator.run(spec)
        if not server.alive():
            raise server.ended("under load")
        requests, errors = requests + outcome.requests, errors + outcome.errors.total
    return requests, errors


def _mark(server: Hosted, at_s: float, requests: int, errors: int) -> Mark:
    """A JVM is told to collect first. ProcessLookupError when the server has ended."""
    collected = jcmd.said(server.pid, "GC.run") is not None
    info = server.instruments.info(server.url)
    seen = snapshot(server.pid)
    return Mark(
        at_s=round(at_s, 1),
        requests=requests,
        errors=errors,
        rss_kb=seen.rss_kb,
        threads=seen.threads,
        descriptors=len(list(Path(f"/proc/{server.pid}/fd").iterdir())),
        heap_kb=info.heap_used // 1024 if collected and info and info.heap_used is not None else None,
    )
