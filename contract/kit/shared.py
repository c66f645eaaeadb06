"""Fixtures that the tests of one entry share: servers, and the complete run of a process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGINT, SIGTERM, Signals
from typing import Any, ClassVar

from kit.delays import begin, connections, sleep_all
from kit.idleness import Idleness
from kit.rules import DRAIN, GOOD_TARGETS, HELLO, expect_hello, info, pattern
from kit.server import Environment, Runtime, Server, ServerFailed
from kit.targets import Target
from kit.wire import Closed, Response, Wire, fetch, request

BIG = 16_777_216
LONGER = 25_000
"""Milliseconds of a sleep that is longer than the default by enough for a machine that stalls."""

LATE = 40.0
"""Extra seconds that a response may take on a busy machine while other tests send floods."""


@dataclass
class LongSleep:
    """Request for `/sleep` without a parameter, sent first and checked last, so that its ten seconds cost no time."""

    took: float = 0.0
    response: Response | None = None
    before_the_longer: bool = False
    done: threading.Event = field(default_factory=threading.Event)

    def start(self, port: int) -> None:
        threading.Thread(target=self._ask, args=(port,), daemon=True).start()

    def _ask(self, port: int) -> None:
        asked = time.monotonic()
        try:
            with Wire(port) as longer, Wire(port, slower=LATE) as wire:
                longer.send(request(f"/sleep?ms={LONGER}"))
                wire.send(request("/sleep"))
                self.response = wire.read()
                self.before_the_longer = longer.silent
        except (AssertionError, OSError):
            return
        finally:
            self.took = time.monotonic() - asked
            self.done.set()


@contextmanager
def shared_server(runtime: Runtime, target: Target) -> Iterator[tuple[Server, LongSleep]]:
    """Start the server that most tests of an entry share, with a low soft descriptor limit.

    A self-tuning pool gets the default size of the other pools; otherwise its size would be unpredictable.
    """
    env = {"MAX_THREADS": "200"} if target.self_tuning else {}
    with runtime.serving(target, env, low_nofile=True) as started:
        sleep = LongSleep()
        sleep.start(started.port)
        yield started, sleep


@dataclass(frozen=True)
class SmallPool:
    """Server with few threads, and its first `/info`; only one test at a time sends requests to it."""

    server: Server
    env: Environment
    folder: Path
    """Temporary folder of the process."""
    first_info: dict[str, Any]
    threads: ClassVar = 4
    backlog: ClassVar = 1000

    @property
    def port(self) -> int:
        return self.server.port


@contextmanager
def few_threads(runtime: Runtime, target: Target, folder: Path) -> Iterator[SmallPool]:
    sizes = {"MAX_THREADS": str(SmallPool.threads), "BACKLOG": str(SmallPool.backlog)}
    env = {**sizes, **runtime.temporary(folder)}
    with runtime.serving(target, env) as started:
        yield SmallPool(started, env, folder, info(started.port))


@dataclass
class Life:
    """Output and exit of a process that has ended."""

    port: int
    ready_line: str
    reached_elsewhere: bool
    """True if the server was reached at an address other than 127.0.0.1."""
    limits: dict[str, Any] = field(default_factory=dict)
    refused_while_draining: bool = False
    dropped: str | None = None
    code: int | None = None
    stdout: str = ""
    stderr: str = ""
    idle_s: float = 0.0
    """Seconds without work between the last response and the exit, for a process."""
    may_idle_s: float = 0.0
    """Seconds from the last response to the end of the drain time, in which a server may wait for idle connections."""


def life_of_small_pool(runtime: Runtime, target: Target, pool: SmallPool) -> Life:
    """End the small pool's server with SIGTERM; the tests of the result are the last that concern this process."""
    return live([nullcontext(pool.server), runtime.serving(target, pool.env)], SIGTERM)


def bare_life(runtime: Runtime, target: Target) -> Life:
    """Run a server with a minimal environment and HOST, and end it with SIGINT."""
    starts = [runtime.serving(target, {"HOST": "0.0.0.0", "VARIANT": None}) for _ in range(2)]
    return live(starts, SIGINT)


def live(starts: Iterable[AbstractContextManager[Server]], number: Signals) -> Life:
    """Send good, rejected and broken requests, disconnect some clients, idle others, and signal the server while busy.

    If a busy machine finished that work too soon, repeat this with the next start and a longer delay.
    """
    for start, delay in zip(starts, (1000, 4000), strict=True):
        with start as server:
            life = Life(server.port, server.ready_line, reached(server.port, "127.0.0.2"))
            exercise(server.port)
            life.limits = info(server.port)["limits"]
            with connections(server.port, 10) as idle:
                for wire in idle[:5]:
                    expect_hello(wire.get("/"))
                end(server, number, delay, life)
        if life.refused_while_draining or life.dropped:
            break
    return life


def reached(port: int, host: str) -> bool:
    try:
        Wire(port, host).close()
    except ConnectionRefusedError:
        return False
    return True


def exercise(port: int) -> None:
    """Send requests of every kind, including more sleepers than there are threads."""
    for path in (*GOOD_TARGETS, "/nope", "/sleep?ms=x"):
        for method in ("GET", "HEAD", "POST"):
            fetch(port, path, method)
    sleep_all(port, [20] * 60)
    with Wire(port) as wire:
        wire.try_send(b"GARBAGE\r\n\r\n")
        wire.answer_or_close()
    with Wire(port) as wire:
        wire.send(request(f"/bytes?n={BIG}"))
        wire.socket.recv(1)


def end(server: Server, number: Signals, delay: int, life: Life) -> None:
    """Signal the server while it serves a sleeper and a slow reader, and record how all three end."""
    with Wire(server.port) as sleeper, Wire(server.port) as slow:
        asked = time.monotonic()
        begin(server.port, [sleeper, slow], request(f"/sleep?ms={delay}"), request(f"/bytes?n={BIG}"))
        server.signal(number)
        drained = time.monotonic() + DRAIN
        while not server.turns_away() and sleeper.silent:
            time.sleep(0.01)
        life.refused_while_draining = sleeper.silent
        try:
            # Such a server waits only for its handlers, and may cut off what they have already written.
            with suppress(Closed, ConnectionError) if server.target.accepts_while_draining else nullcontext():
                assert slow.read().body == pattern(BIG), "wrong body"
            assert sleeper.read().body == HELLO, "wrong body"
            assert time.monotonic() - asked >= delay / 1000, "answered early"
        except (AssertionError, OSError) as error:
            life.dropped = str(error)
        life.may_idle_s = drained - time.monotonic()
        idleness = Idleness(server.host_pid) if server.host_pid else None
        if idleness:
            idleness.start()
        try:
            life.code = server.wait()
        except ServerFailed as error:
            life.dropped = life.dropped or str(error)
        life.idle_s = idleness.seconds if idleness else 0.0
        life.stdout, life.stderr = server.stdout, server.stderr
