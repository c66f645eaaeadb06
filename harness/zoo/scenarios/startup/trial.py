"""Measurement of start-up: the time from fork to the first good response, and the memory at rest."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.bench.trial import TrialCell
from zoo.core.condition import IN_IMAGES
from zoo.core.errors import RuntimeFailure, start_failure
from zoo.core.flag import Flag
from zoo.core.host_facts import Jdk
from zoo.core.record import Trial
from zoo.core.trial_results import StartupResult
from zoo.host import run_lock
from zoo.host.processors import cpu_affinity
from zoo.runtime.base import Launch
from zoo.runtime.condition_checks import fault
from zoo.runtime.environment import process_variables
from zoo.runtime.process import port_for, processors, spawn, start_command
from zoo.sample import jcmd
from zoo.sample.instruments import require_process
from zoo.sample.noise import NoiseProbe
from zoo.sample.proc import snapshot
from zoo.sample.requests import InfoError, fetch_info
from zoo.scenarios.startup.spec import REST_S, RESTS, STARTS, Start
from zoo.stats.flags import machine_flags

POLL_S = 0.001
ANSWER_S = 60.0
GRACE_S = 15.0
ARCHIVING_S = 180.0  # a JVM writes its archive when it exits; for an AOT cache it starts another JVM
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
TRAINING = ("/", "/sleep?ms=1", "/bytes?n=100000", "/cpu?rounds=1000", "/info")
"""Paths requested while an archive is recorded, so that it contains the classes of every path."""


@dataclass(frozen=True)
class StartResult:
    """One start. The memory fields are None if the memory was not read."""

    first_answer_s: float
    rss_kb: int | None
    anon_kb: int | None


def measure_cell(cell: TrialCell) -> Trial:
    way, starts = Start(cell.block.case.name), cell.program.repeats
    cell.show_phase(f"{starts} starts")
    probe = NoiseProbe()
    if cell.runtime.name in IN_IMAGES:
        result = _measure_containers(cell, way, starts)
    else:
        with run_lock.scratch_folder("archives") as archives:
            result = measure(cell.launch(), cell.runtime.jdk, way, Path(archives), starts)
    # The CPU time of servers that have exited is unknown, so the CPU time of other processes is unknown too.
    noise = probe.stop(None)
    raised = machine_flags(noise)
    return Trial(result=result, noise=noise, flags=[flag for flag in Flag if raised.get(flag)])


def _measure_containers(cell: TrialCell, way: Start, starts: int) -> StartupResult:
    """Measure from the command that starts the container to the log line that says its server is listening."""
    if way is not Start.DEFAULT:
        raise RuntimeFailure("no_archive", "archives are recorded for processes only, not for containers")
    return _make_result(way, [_start_container(cell, rest=number < RESTS) for number in range(starts)], None)


def _start_container(cell: TrialCell, *, rest: bool) -> StartResult:
    hosted = cell.runtime.start(cell.launch())
    try:
        if hosted.ready_s is None:
            raise RuntimeFailure("not_timed", "the start time would include the swarm's scheduler")
        if not rest:
            return StartResult(hosted.ready_s, None, None)
        cell.bench.clock.rest(REST_S)
        seen = require_process(hosted.instruments.snapshot(hosted.pid, deep=True))
        return StartResult(hosted.ready_s, seen.rss_kb, seen.anon_kb)
    except ProcessLookupError:
        raise RuntimeFailure("crashed", "ended while at rest", hosted.log_tail()) from None
    finally:
        hosted.stop()


def measure(
    launch: Launch, jdk: Jdk | None, way: Start, archives: Path, starts: int = STARTS, rests: int = RESTS
) -> StartupResult:
    """Start the server `starts` times. Read its memory in the first `rests` starts, after 5 s at rest.

    Raise `RuntimeFailure` if the server does not start or its JVM creates no archive.
    """
    archive = record_archive(launch, jdk, way, archives)
    using = replace(launch, jvm_flags=(*launch.jvm_flags, *(way.using(archive) if archive else ())))
    made = [start_once(using, jdk, REST_S if number < rests else None) for number in range(starts)]
    return _make_result(way, made, archive.stat().st_size // 1024 if archive else None)


def _make_result(way: Start, starts: Sequence[StartResult], archive_kb: int | None) -> StartupResult:
    return StartupResult(
        way=way,
        first_answer_s=[start.first_answer_s for start in starts],
        rss_kb=[start.rss_kb for start in starts if start.rss_kb is not None],
        anon_kb=[start.anon_kb for start in starts if start.anon_kb is not None],
        rest_s=REST_S,
        archive_kb=archive_kb,
    )


def record_archive(
    launch: Launch, jdk: Jdk | None, way: Start, archives: Path, paths: Sequence[str] = TRAINING
) -> Path | None:
    """Create the archive in a training run that requests these paths. Return None for a default start."""
    if way is Start.DEFAULT:
        return None
    archives.mkdir(parents=True, exist_ok=True)
    archive = (archives / f"{launch.entry.id.replace(':', '-')}.{way}").resolve()
    archive.unlink(missing_ok=True)
    flags = (*launch.jvm_flags, *way.recording(archive))
    with _run_server(replace(launch, jvm_flags=flags), jdk, ARCHIVING_S) as server:
        server.first_answer()
        for path in paths:
            server.request(path)
    if not archive.exists():
        raise RuntimeFailure("no_archive", f"the JVM created no {way} archive when it exited", _tail(launch.log))
    return archive


def start_once(launch: Launch, jdk: Jdk | None, rest_s: float | None = None) -> StartResult:
    """Start the server, wait for its first good response, let it rest, read its memory and stop it."""
    with _run_server(launch, jdk, GRACE_S) as server:
        first_s = server.first_answer()
        if rest_s is None:
            return StartResult(first_s, None, None)
        time.sleep(rest_s)
        try:
            seen = snapshot(server.child.pid, deep=True)
        except ProcessLookupError:
            raise RuntimeFailure("crashed", "ended while at rest", _tail(launch.log)) from None
        _check_effect(launch, server)
        return StartResult(first_s, seen.rss_kb, seen.anon_kb)


def _check_effect(launch: Launch, server: _Server) -> None:
    """Raise `RuntimeFailure` if a flag or setting is not in effect. Call this only after reading the memory at rest."""
    if not (launch.jvm_flags or launch.env):
        return
    try:
        info = fetch_info(f"http://127.0.0.1:{server.port}")
    except InfoError as error:
        raise RuntimeFailure("contract", str(error), _tail(launch.log)) from None
    wrong = fault(launch, info, jcmd.command_line, jcmd.run_jcmd)
    if wrong:
        raise RuntimeFailure("no_effect", wrong, _tail(launch.log))


@dataclass
class _Server:
    child: subprocess.Popen[bytes]
    started: float
    port: int
    log: Path

    def first_answer(self) -> float:
        """Return the seconds from the fork to the first bytes of the first response.

        Until the port is open, this tries to connect every millisecond, which takes a few hundredths of a core. After
        that, one request waits, because the kernel accepts the connection before the server does. A server that is not
        ready may close the connection (Open Liberty sometimes does); that does not count as a response.
        """
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S) as connection:
                    connection.sendall(REQUEST)
                    answer = connection.recv(65_536)
                    took = time.monotonic() - self.started
            except (ConnectionRefusedError, ConnectionResetError):
                answer = b""
            except OSError as error:
                raise RuntimeFailure("not_started", f"the first request failed: {error}", _tail(self.log)) from None
            if not answer:
                self._check_starting()
                time.sleep(POLL_S)
                continue
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeFailure("contract", f"the first response was {answer[:60]!r}", _tail(self.log))
            return took

    def request(self, path: str) -> None:
        """Send one request of a training run, and read its response until the server closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_S) as connection:
            connection.sendall(REQUEST.replace(b"GET /", f"GET {path}".encode(), 1))
            while connection.recv(65_536):
                pass

    def _check_starting(self) -> None:
        code = self.child.poll()
        if code is not None:
            raise start_failure(code, _tail(self.log))
        if time.monotonic() - self.started > ANSWER_S:
            raise RuntimeFailure("not_started", f"did not respond within {ANSWER_S:.0f} s", _tail(self.log))


@contextmanager
def _run_server(launch: Launch, jdk: Jdk | None, grace_s: float) -> Iterator[_Server]:
    """Run the entry's process in its own process group. End it with SIGTERM, or SIGKILL after the grace period."""
    with run_lock.scratch_folder("start") as tmp:
        argv = start_command(launch, jdk, tmp)
        port = port_for(launch.entry)
        env = process_variables(launch.entry, launch.env, str(port), tmp)
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        with launch.log.open("wb") as log, cpu_affinity(processors(launch)):
            started = time.monotonic()
            child = spawn(argv, launch.entry.server.folder, env, log)
        try:
            yield _Server(child, started, port, launch.log)
            child.terminate()
            child.wait(grace_s)
        except subprocess.TimeoutExpired:
            raise RuntimeFailure("hung", f"still running {grace_s:.0f} s after SIGTERM", _tail(launch.log)) from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
